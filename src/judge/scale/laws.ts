/** The laws of scaling: how much more work is done in the same time when there is more to do it with. */

export interface LawParameter {
  name: string;
  /** For people: what it is. */
  help: string;
  /** No law holds beyond these. */
  most: number;
}

export interface Law {
  name: 'Amdahl' | 'Gustafson' | 'USL';
  /** Which kind of study it describes. */
  kinds: readonly ('strong' | 'weak')[];
  parameters: readonly LawParameter[];
  /** Work done in a given time on n, against one; not above 0 where the parameters make no sense. */
  speedup(n: number, parameters: readonly number[]): number;
  /** How the logarithm of that changes with each parameter. */
  slopes(n: number, parameters: readonly number[]): number[];
}

const serial: LawParameter = { name: 'serial_share', help: 'share of the work that only one can do', most: 1 };

/** The work stays the same: T(n) = T(1) (s + (1 - s) / n). */
export const amdahl: Law = {
  name: 'Amdahl',
  kinds: ['strong'],
  parameters: [serial],
  speedup: (n, [s]) => n / (1 + s! * (n - 1)),
  slopes: (n, [s]) => [-(n - 1) / (1 + s! * (n - 1))],
};

/** The work grows with the size: S(n) = s + (1 - s) n. */
export const gustafson: Law = {
  name: 'Gustafson',
  kinds: ['weak'],
  parameters: [{ ...serial, help: 'share of the time in which only one works' }],
  speedup: (n, [s]) => s! + (1 - s!) * n,
  slopes: (n, [s]) => [(1 - n) / (s! + (1 - s!) * n)],
};

/** The Universal Scalability Law (Gunther): S(n) = n / (1 + a (n - 1) + b n (n - 1)). */
export const usl: Law = {
  name: 'USL',
  kinds: ['strong', 'weak'],
  parameters: [
    { name: 'contention', help: 'waiting for what only one can have', most: 1 },
    { name: 'coherency', help: 'cost of keeping each pair in step', most: 1 },
  ],
  speedup: (n, [a, b]) => n / (1 + a! * (n - 1) + b! * n * (n - 1)),
  slopes(n, [a, b]) {
    const costs = 1 + a! * (n - 1) + b! * n * (n - 1);
    return [-(n - 1) / costs, (-n * (n - 1)) / costs];
  },
};

export const LAWS: readonly Law[] = [amdahl, gustafson, usl];
