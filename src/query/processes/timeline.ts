import { type Intervals, union } from '../../base/intervals.ts';
import { commandOf } from './columns.ts';
import { operationsOf } from './operations.ts';
import { durationOf, type ProcessSet } from './set.ts';

/** One line of a time line: something that went on once or several times. */
export interface TimelineRow {
  name: string;
  /** A place in the set's `jobs`. */
  job: number;
  members: number[];
  runs: Intervals;
  /** Microseconds in which at least one of its processes ran. */
  duration: number;
}

export type TimelineBy = 'process' | 'operation' | 'node';

/** The rows of a time line of these processes, the longest first; of processes without a known end only the start counts. */
export function timelineOf(
  set: ProcessSet,
  members: readonly number[],
  by: TimelineBy,
  tags: readonly string[] = [],
): TimelineRow[] {
  const row = (name: string, group: number[]): TimelineRow => {
    const runs = runsOf(set, group);
    return {
      name,
      job: set.job[group[0]!]!,
      members: group,
      runs,
      duration: runs.reduce((sum, [a, b]) => sum + b - a, 0),
    };
  };
  const longest = (rows: TimelineRow[]): TimelineRow[] => rows.sort((a, b) => b.duration - a.duration);
  if (by === 'process') return longest(members.map((i) => row(commandOf(set, i), [i])));
  if (by === 'operation') {
    const operations = operationsOf(set, { tags, members });
    return longest(operations.filter(({ name }) => name !== '').map((one) => row(one.name, one.members)));
  }
  const groups = Map.groupBy(members, (i) => `${set.job[i]} ${set.node[i]}`);
  return longest([...groups.values()].map((group) => row(set.node[group[0]!]!, group)));
}

function runsOf(set: ProcessSet, group: readonly number[]): Intervals {
  return union(
    group.map((i) => set.start[i]!),
    group.map((i) => endOf(set, i)),
  );
}

/** A process without an end was killed or still runs: only its start is certain. */
function endOf(set: ProcessSet, i: number): number {
  return Number.isNaN(durationOf(set, i)) ? set.start[i]! : set.end[i]!;
}

/** How many processes were alive, at most, in each of `cells` equal parts of [from, to]. */
export function aliveIn(
  set: ProcessSet,
  members: readonly number[],
  from: number,
  to: number,
  cells: number,
): Uint32Array {
  const alive = new Uint32Array(cells);
  const width = Math.max(1, to - from) / cells;
  const changes: { at: number; by: number }[] = [];
  for (const i of members) {
    const end = endOf(set, i);
    if (end < from || set.start[i]! > to) continue;
    changes.push({ at: set.start[i]!, by: 1 }, { at: end, by: -1 });
  }
  // one that ends where another starts was not alive beside it
  changes.sort((a, b) => a.at - b.at || a.by - b.by);
  // an end on the border of two cells belongs to the first
  const cellOf = (at: number, by: number): number => {
    const position = (at - from) / width;
    return Math.min(cells - 1, Math.max(0, by > 0 ? Math.floor(position) : Math.ceil(position) - 1));
  };
  let now = 0;
  let cell = 0;
  for (const { at, by } of changes) {
    const next = cellOf(at, by);
    for (; cell < next; ) alive[++cell] = Math.max(alive[cell]!, now);
    now += by;
    alive[cell] = Math.max(alive[cell]!, now);
    // what lived for less than a moment is still there
    if (by > 0 && now === 0) alive[cell] = Math.max(alive[cell]!, 1);
  }
  return alive;
}
