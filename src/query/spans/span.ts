/** Anything with a start and an end. */
export type SpanKind = 'job' | 'step' | 'phase' | 'operation' | 'process' | 'task';

/** Times are epoch microseconds. */
export interface Span {
  kind: SpanKind;
  name: string;
  /** The one node it ran on. */
  node?: string;
  from: number;
  to: number;
  /** Nobody told of its end: `to` is the end of the job, or now. */
  open?: true;
  parent?: Span;
  tags: Readonly<Record<string, string>>;
}
