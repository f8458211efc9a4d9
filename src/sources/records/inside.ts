/** Processes in namespaces of their own, by who started them from outside: who waits for one knows it by another id. */
export interface InsideChildren {
  add(parent: string, name: string): void;
  /** One has told of its end; with its children it used so many microseconds. */
  end(parent: string, name: string, used: number): void;
  /** `parent` has waited for one that it knows by another id: which is that? It is not asked for again. */
  take(parent: string, status: number, used: number): string | undefined;
}

interface Child {
  name: string;
  /** Undefined: it has not told of its end. */
  used?: number;
}

/** Those that nobody waits for must not fill the memory. */
const MOST = 4096;
const MOST_OF_ONE = 63;

export function insideChildren(): InsideChildren {
  const children = new Map<string, Child[]>();

  return {
    add(parent, name) {
      if (parent === '') return;
      const known = children.get(parent)?.filter((child) => child.name !== name) ?? [];
      children.delete(parent);
      children.set(parent, [...known.slice(-MOST_OF_ONE), { name }]);
      if (children.size <= MOST) return;
      for (const oldest of children.keys()) {
        children.delete(oldest);
        break;
      }
    },
    end(parent, name, used) {
      const child = children.get(parent)?.find((one) => one.name === name);
      if (child !== undefined) child.used = used;
    },
    take(parent, status, used) {
      const all = children.get(parent) ?? [];
      const killed = (status & 0x7f) !== 0;
      // one that was killed has said nothing; of several that have, it is the one that used as much
      const distance = (child: Child): number => {
        if (child.used === undefined) return killed ? 0 : Number.MAX_VALUE;
        return killed ? Number.MAX_VALUE : Math.abs(used - child.used);
      };
      const [found] = all.toSorted((a, b) => distance(a) - distance(b));
      if (found === undefined) return undefined;
      if (all.length === 1) children.delete(parent);
      else
        children.set(
          parent,
          all.filter((child) => child !== found),
        );
      return found.name;
    },
  };
}
