import { insideId, type PidNamespaces } from '../process/pid-namespaces.ts';

/**
 * Lines name a process by its id and the namespace that this holds in, `1@4026532567`; rows have the id that it has where
 * the agent is. A name without a namespace is of the agent's own.
 */
export interface RecordNames {
  /** The name in a field. */
  name(field: string): string;
  /** The parent that a line of `name` gives; empty: none that it can see. */
  parent(field: string, name: string): string;
  /** A process begins, epoch microseconds. */
  begin(name: string, start: number): void;
  /** Its id in rows. `start`: of a process whose beginning was not read. */
  id(name: string, start?: number): string;
  /** Who has this id in rows, if it is of another namespace. */
  named(id: string): string | undefined;
  /** The parent as /proc showed it: of the first process of a namespace the kernel tells it nothing. */
  parentOutside(name: string): string | undefined;
}

/** Those that nobody waited for must not fill the memory. */
const MOST = 16_384;

export const isInside = (name: string): boolean => name.includes('@');

export const spaceOf = (name: string): string => name.slice(name.indexOf('@') + 1 || name.length);

export function recordNames(spaces: PidNamespaces | undefined): RecordNames {
  const own = spaces?.own;
  const ids = new Map<string, { id: string; ppid: number | undefined }>();
  const names = new Map<string, string>();

  function forget(name: string): void {
    const known = ids.get(name);
    if (known !== undefined) names.delete(known.id);
    ids.delete(name);
  }

  function begin(name: string, start: number): void {
    if (!isInside(name)) return;
    const [id, space] = name.split('@') as [string, string];
    const found = spaces?.find(id, space, start / 1000);
    const outside = String(found?.pid ?? insideId(Number(id), Number(space)));
    forget(name);
    ids.set(name, { id: outside, ppid: found?.ppid });
    names.set(outside, name);
    if (ids.size <= MOST) return;
    for (const oldest of ids.keys()) {
      forget(oldest);
      break;
    }
  }

  return {
    name(field) {
      // without a namespace of its own to compare with, the agent can only take all ids as they are
      const at = field.indexOf('@');
      return at >= 0 && (own === undefined || field.slice(at + 1) === own) ? field.slice(0, at) : field;
    },
    parent(field, name) {
      if (field === '' || field === '0') return '';
      if (field.includes('@')) return this.name(field);
      return isInside(name) ? `${field}@${spaceOf(name)}` : field;
    },
    begin,
    id(name, start) {
      if (!isInside(name)) return name;
      if (!ids.has(name)) begin(name, start ?? Number.NaN);
      return ids.get(name)!.id;
    },
    named: (id) => names.get(id),
    parentOutside(name) {
      const ppid = ids.get(name)?.ppid;
      return ppid === undefined || ppid === 0 ? undefined : (names.get(String(ppid)) ?? String(ppid));
    },
  };
}
