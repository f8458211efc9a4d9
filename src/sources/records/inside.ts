interface Child {
  name: string;
  /** Undefined: it has not told of its end. */
  used?: number;
}

/** Those that nobody waits for must not fill the memory. */
const MOST = 4096;
const MOST_OF_ONE = 63;

/** Processes in namespaces of their own, by who started them from outside: who waits for one knows it by another id. */
export class InsideChildren {
  private readonly children = new Map<string, Child[]>();

  add(parent: string, name: string): void {
    const { children } = this;
    if (parent === '') return;
    const others = children.get(parent)?.filter((child) => child.name !== name) ?? [];
    children.delete(parent);
    children.set(parent, [...others.slice(-MOST_OF_ONE), { name }]);
    if (children.size > MOST) children.delete(children.keys().next().value!);
  }

  /** One has told of its end; with its children it used so many microseconds. */
  end(parent: string, name: string, used: number): void {
    const child = this.children.get(parent)?.find((one) => one.name === name);
    if (child !== undefined) child.used = used;
  }

  /** `parent` has waited for one that it knows by another id: which is that? It is not asked for again. */
  take(parent: string, status: number, used: number): string | undefined {
    const all = this.children.get(parent) ?? [];
    const killed = (status & 0x7f) !== 0;
    // one that was killed has said nothing; of several that have, it is the one that used as much
    const distance = (child: Child): number => {
      if (child.used === undefined) return killed ? 0 : Number.MAX_VALUE;
      return killed ? Number.MAX_VALUE : Math.abs(used - child.used);
    };
    const [nearest, ...others] = all.toSorted((a, b) => distance(a) - distance(b));
    if (others.length > 0)
      this.children.set(
        parent,
        all.filter((child) => child !== nearest),
      );
    else this.children.delete(parent);
    return nearest?.name;
  }
}
