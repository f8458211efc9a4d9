import { insideId, type PidNamespaces } from '../process/pid-namespaces.ts';

/** Those that nobody waited for must not fill the memory. */
const MOST = 16_384;

export const isInside = (name: string): boolean => name.includes('@');

export const spaceOf = (name: string): string => name.slice(name.indexOf('@') + 1 || name.length);

/**
 * Lines name a process by its id and the namespace that this holds in, `1@4026532567`; rows have the id that it has where
 * the agent is. A name without a namespace is of the agent's own.
 */
export class RecordNames {
  private readonly spaces: PidNamespaces | undefined;
  private readonly ids = new Map<string, { id: string; ppid: number | undefined }>();
  private readonly names = new Map<string, string>();

  constructor(spaces: PidNamespaces | undefined) {
    this.spaces = spaces;
  }

  /** The name in a field. */
  name(field: string): string {
    const at = field.indexOf('@');
    if (at < 0) return field;
    // without a namespace of its own to compare with, the agent can only take all ids as they are
    const own = this.spaces?.own;
    return own === undefined || field.slice(at + 1) === own ? field.slice(0, at) : field;
  }

  /** The parent that a line of `name` gives; empty: none that it can see. */
  parent(field: string, name: string): string {
    if (field === '' || field === '0') return '';
    if (field.includes('@')) return this.name(field);
    return isInside(name) ? `${field}@${spaceOf(name)}` : field;
  }

  /** A process begins, epoch microseconds. */
  begin(name: string, start: number): void {
    if (!isInside(name)) return;
    const [id, space] = name.split('@') as [string, string];
    const insideProcess = this.spaces?.find(id, space, start / 1000);
    const outside = String(insideProcess?.pid ?? insideId(Number(id), Number(space)));
    this.forget(name);
    this.ids.set(name, { id: outside, ppid: insideProcess?.ppid });
    this.names.set(outside, name);
    if (this.ids.size > MOST) this.forget(this.ids.keys().next().value!);
  }

  private forget(name: string): void {
    const namespaced = this.ids.get(name);
    if (namespaced !== undefined) this.names.delete(namespaced.id);
    this.ids.delete(name);
  }

  /** Its id in rows. `start`: of a process whose beginning was not read. */
  id(name: string, start = Number.NaN): string {
    if (!isInside(name)) return name;
    if (!this.ids.has(name)) this.begin(name, start);
    return this.ids.get(name)!.id;
  }

  /** Who has this id in rows, if it is of another namespace. */
  named(id: string): string | undefined {
    return this.names.get(id);
  }

  /** The parent as /proc showed it: of the first process of a namespace the kernel tells it nothing. */
  parentOutside(name: string): string | undefined {
    const ppid = this.ids.get(name)?.ppid;
    return ppid === undefined || ppid === 0 ? undefined : (this.names.get(String(ppid)) ?? String(ppid));
  }
}
