import type { Host } from './host.ts';
import type { SourceKind } from './source.ts';

/** A source whose reads may hang: it is read in a process of its own, which is started only where there is something to read. */
export interface IsolatedKind extends SourceKind {
  readonly isolated: true;
  /** Quick and certain not to hang: is there anything to read here? */
  present(host: Host): boolean;
  /** Loads the code that reads, which nobody else needs; to be awaited before `open`. */
  load(): Promise<void>;
}

export function isIsolated(kind: SourceKind): kind is IsolatedKind {
  return kind.isolated === true && 'present' in kind;
}
