import { KERNEL_CLOCK, LONGEST_RECORD_DELAY, SAMPLE_CLOCK } from '../../sources/process/same-process.ts';
import type { ProcessColumns, ProcessSet, ProcessTree } from './set.ts';

/** The processes with their tree. */
export function linkProcesses(columns: ProcessColumns): ProcessSet {
  return { ...columns, ...treeOf(columns) };
}

/**
 * Who started whom. A parent has the pid that the child names, on the same node of the same job, and was alive when the
 * child began, perhaps as another program; a process without such a parent is a root. Nothing here recurses: a chain of any length is fine.
 */
export function treeOf(columns: ProcessColumns): ProcessTree {
  const byPid = placesByPid(columns);
  const parent = parentsOf(columns, byPid);
  const { first, children } = childrenOf(parent, columns.start);
  const order = orderOf(parent, first, children);
  const { length } = columns;
  const depth = new Uint32Array(length);
  const descendants = new Uint32Array(length);
  const inclusive = Float64Array.from(columns.cpu_time);
  for (const i of order) if (parent[i]! >= 0) depth[i] = depth[parent[i]!]! + 1;
  for (let k = order.length - 1; k >= 0; k--) {
    const i = order[k]!;
    const above = parent[i]!;
    if (above < 0) continue;
    descendants[above]! += descendants[i]! + 1;
    const spent = inclusive[i]!;
    if (!Number.isNaN(spent)) inclusive[above] = Number.isNaN(inclusive[above]!) ? spent : inclusive[above]! + spent;
  }
  return {
    parent,
    first,
    children,
    depth,
    descendants,
    inclusive_cpu_time: inclusive,
    order,
    process: processesIn(columns, byPid),
  };
}

/** Of each image, the earliest of the same process: job, node, pid and birth are the same. */
function processesIn({ length, node, birth, start }: ProcessColumns, byPid: PlacesByPid): Uint32Array {
  const process = new Uint32Array(length);
  for (let i = 0; i < length; i++) process[i] = i;
  const born = (i: number): number => (Number.isNaN(birth[i]!) ? start[i]! : birth[i]!);
  for (const own of byPid) {
    for (const images of own.values()) {
      if (images.length === 1) continue;
      const first = new Map<string, number>();
      for (const i of images.toSorted((a, b) => start[a]! - start[b]! || a - b)) {
        const key = `${node[i]} ${born(i)}`;
        if (!first.has(key)) first.set(key, i);
        process[i] = first.get(key)!;
      }
    }
  }
  return process;
}

/** The processes of each job by their pids. */
type PlacesByPid = readonly ReadonlyMap<number, readonly number[]>[];

function placesByPid({ length, jobs, job, pid }: ProcessColumns): PlacesByPid {
  const byPid = jobs.map(() => new Map<number, number[]>());
  for (let i = 0; i < length; i++) {
    const own = byPid[job[i]!]!;
    const same = own.get(pid[i]!);
    if (same === undefined) own.set(pid[i]!, [i]);
    else same.push(i);
  }
  return byPid;
}

/** A process may be older than its only record, its child older still, and so on. */
const MOST_ROUNDS = 100;

/**
 * Where only ends were recorded, as by EPMT, a parent that forked and then executed another program has a record of that
 * program alone. If nobody had the pid that a child names, the next record of that pid is its parent's: it was there when the
 * child began.
 */
export function findEarlierBirths(columns: ProcessColumns): void {
  const { length, job, pid, ppid, birth, start } = columns;
  const byPid = placesByPid(columns);
  for (let round = 0, changed = true; changed && round < MOST_ROUNDS; round++) {
    changed = false;
    for (let i = 0; i < length; i++) {
      const candidates = pid[i] === ppid[i] ? [] : (byPid[job[i]!]!.get(ppid[i]!) ?? []);
      const moment = birth[i]!;
      if (candidates.some((c) => aliveAt(columns, c, moment, i) || (birth[c]! <= moment && start[c]! > moment)))
        continue;
      const later = candidates.filter((c) => start[c]! > moment);
      if (later.length === 0) continue;
      const next = later.reduce((a, c) => (start[c]! < start[a]! ? c : a));
      for (const c of candidates) if (c !== next && birth[c] === birth[next]) birth[c] = moment;
      birth[next] = moment;
      changed = true;
    }
  }
}

/** The parent of each, −1: none. */
export function parentsOf(columns: ProcessColumns, byPid = placesByPid(columns)): Int32Array {
  const { length, job, node, pid, ppid, birth } = columns;
  const parent = new Int32Array(length).fill(-1);
  for (let i = 0; i < length; i++) {
    const candidates = pid[i] === ppid[i] ? undefined : byPid[job[i]!]!.get(ppid[i]!);
    if (candidates === undefined) continue;
    let best = -1;
    let next = -1;
    for (const c of candidates) {
      if (node[c] !== node[i]) continue;
      if (aliveAt(columns, c, birth[i]!, i)) {
        // two that may both have been alive: the later one, because the earlier one is certain to have begun before
        if (best < 0 || columns.start[c]! > columns.start[best]!) best = c;
      } else if (
        wasThereBefore(columns, c, i) &&
        columns.start[c]! > birth[i]! &&
        (next < 0 || columns.start[c]! < columns.start[next]!)
      )
        next = c;
    }
    parent[i] = best < 0 ? next : best;
  }
  breakCycles(parent);
  return parent;
}

/** Was process `c` alive when the process `i` began at `moment`? */
function aliveAt(columns: ProcessColumns, c: number, moment: number, i: number): boolean {
  const exact = columns.source[c] !== 'sample' && columns.source[i] !== 'sample';
  const end = columns.end[c]!;
  // one that executed another program lives on; when no record tells of that program, nobody knows until when
  const open = Number.isNaN(end) || columns.ended[c] === 'exec';
  return (
    columns.start[c]! <= moment + (exact ? 0 : SAMPLE_CLOCK) &&
    (open || end >= moment - (exact ? LONGEST_RECORD_DELAY : SAMPLE_CLOCK))
  );
}

/**
 * A parent that forked and then executed another program may have left a record of that program alone, as in EPMT: the
 * kernel's process was there before.
 */
function wasThereBefore(columns: ProcessColumns, c: number, i: number): boolean {
  const exact = columns.source[c] !== 'sample' && columns.source[i] !== 'sample';
  return exact && columns.birth[c]! < columns.start[c]! && columns.birth[c]! <= columns.birth[i]! + KERNEL_CLOCK;
}

/** Clocks that are too coarse can make two processes each other's parents: one of them becomes a root. */
function breakCycles(parent: Int32Array): void {
  const UNSEEN = 0;
  const state = new Uint32Array(parent.length).fill(UNSEEN);
  for (let i = 0; i < parent.length; i++) {
    const walk = i + 1;
    let at = i;
    while (parent[at]! >= 0 && state[at] === UNSEEN) {
      state[at] = walk;
      at = parent[at]!;
    }
    if (parent[at]! >= 0 && state[at] === walk) parent[at] = -1;
    if (state[at] === UNSEEN) state[at] = walk;
  }
}

function childrenOf(parent: Int32Array, start: Float64Array): Pick<ProcessTree, 'first' | 'children'> {
  const { length } = parent;
  const first = new Uint32Array(length + 1);
  for (const above of parent) if (above >= 0) first[above + 1]!++;
  for (let i = 0; i < length; i++) first[i + 1]! += first[i]!;
  const next = first.slice(0, length);
  const children = new Uint32Array(first[length]!);
  for (let i = 0; i < length; i++) {
    const above = parent[i]!;
    if (above >= 0) children[next[above]!++] = i;
  }
  for (let i = 0; i < length; i++) {
    if (first[i + 1]! - first[i]! < 2) continue;
    children.subarray(first[i], first[i + 1]).sort((a, b) => start[a]! - start[b]! || a - b);
  }
  return { first, children };
}

/** Parents before children, level by level. */
function orderOf(parent: Int32Array, first: Uint32Array, children: Uint32Array): Uint32Array {
  const order = new Uint32Array(parent.length);
  let end = 0;
  for (let i = 0; i < parent.length; i++) if (parent[i]! < 0) order[end++] = i;
  for (let k = 0; k < end; k++) {
    const i = order[k]!;
    for (let c = first[i]!; c < first[i + 1]!; c++) order[end++] = children[c]!;
  }
  return order;
}
