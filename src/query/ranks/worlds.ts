import { smallest } from '../../base/extremes.ts';
import type { Step } from '../../recording/folder/job.ts';
import type { ProcessSet } from '../processes/set.ts';
import { stepsOf } from '../spans/steps.ts';
import { isDaemon, isLauncher, launcherBehind } from './launchers.ts';

/** The processes of one rank: those that its launcher started, and what these started. */
export interface RankProcesses {
  rank: number;
  node: string;
  /** The first of them, as a place in the set. */
  root: number;
  /** All of them, in the order of the set. */
  rows: number[];
}

/** Ranks that were started together: what MPI calls its world, or the tasks of a step of Slurm. */
export interface WorldProcesses {
  /** A place in the set's `jobs`. */
  job: number;
  /** The command that started them, such as mpirun; '': not known. */
  launcher: string;
  /** The step of the scheduler that they ran in; '': none. */
  step: string;
  /** How many were started: more than there are when some were not recorded. */
  size: number;
  start: number;
  /** By rank. */
  ranks: RankProcesses[];
}

/** A rank alone is no parallel program. */
const LEAST_RANKS = 2;

const WHOLE = /^\d{1,9}$/;

/** Steps of Slurm in which nobody started ranks. */
const NO_STEPS: readonly string[] = ['', 'batch', 'extern', 'interactive'];

/** The ranks of all jobs of a set, by the world that they belong to, in the order of their start. */
export function worldsOf(set: ProcessSet, knownSteps?: readonly Step[]): WorldProcesses[] {
  const isRank = rankTest(set);
  if (!set.rank.some((_, i) => isRank(i))) return [];
  const steps = stepsOf(set, knownSteps);
  const roots = rootsOf(set, steps, isRank);
  const groups = new Map<string, LocalGroup>();
  for (let i = 0; i < set.length; i++) {
    const root = roots[i]!;
    if (root < 0) continue;
    const key = worldKey(set, steps, root);
    const daemon = key.isNamed ? -1 : daemonOf(set, root);
    const id = JSON.stringify([key.text, set.node[root], daemon]);
    const group = groups.get(id) ?? { ...key, job: set.job[root]!, daemon, step: steps[root]!, ranks: new Map() };
    groups.set(id, group);
    const rank = Number(set.rank[root]);
    const own = group.ranks.get(rank) ?? { rank, node: set.node[root]!, root, rows: [] };
    group.ranks.set(rank, own);
    own.rows.push(i);
    if (set.start[root]! < set.start[own.root]!) own.root = root;
  }
  return joinGroups(set, [...groups.values()])
    .map((world) => finished(set, world))
    .filter(({ size }) => size >= LEAST_RANKS)
    .sort((a, b) => a.job - b.job || a.start - b.start);
}

/** Whether a process belongs to a rank that a launcher started: a batch script has a rank, too, but nobody counts it. */
function rankTest(set: ProcessSet): (i: number) => boolean {
  return (i) => {
    if (!WHOLE.test(set.rank[i]!) || isDaemon(set.exename[i]!)) return false;
    const { ranks, parent } = set;
    if (!Number.isNaN(ranks[i]!)) return ranks[i]! >= LEAST_RANKS;
    // older recordings do not say how many there are
    if (!NO_STEPS.includes(set.step[i]!)) return true;
    const above = parent[i]!;
    return above >= 0 && (isDaemon(set.exename[above]!) || isLauncher(set.exename[above]!));
  };
}

/** Of each process the first one of its rank, −1 of one without: who started it had the same rank, or it was that before. */
function rootsOf(set: ProcessSet, steps: readonly string[], isRank: (i: number) => boolean): Int32Array {
  const roots = new Int32Array(set.length).fill(UNKNOWN);
  const isSame = (a: number, b: number): boolean =>
    b >= 0 &&
    set.rank[a] === set.rank[b] &&
    set.world[a] === set.world[b] &&
    steps[a] === steps[b] &&
    Object.is(set.ranks[a], set.ranks[b]) &&
    isRank(b);
  for (let i = 0; i < set.length; i++) {
    if (!isRank(i)) {
      roots[i] = -1;
      continue;
    }
    const path = new Set<number>();
    let at = i;
    while (roots[at] === UNKNOWN && !path.has(at)) {
      path.add(at);
      const [parent, first] = [set.parent[at]!, set.process[at]!];
      if (isSame(at, parent)) at = parent;
      else if (first !== at && isSame(at, first)) at = first;
      else roots[at] = at;
    }
    const root = roots[at]! >= 0 ? roots[at]! : i;
    for (const each of path) roots[each] = root;
  }
  return roots;
}

const UNKNOWN = -2;

interface WorldKey {
  text: string;
  /** Whether it names one world, wherever its ranks are. */
  isNamed: boolean;
  size: number;
}

function worldKey(set: ProcessSet, steps: readonly string[], root: number): WorldKey {
  const [job, size, world, step] = [set.job[root]!, set.ranks[root]!, set.world[root]!, steps[root]!];
  if (world !== '') return { text: JSON.stringify([job, 'world', world]), isNamed: true, size };
  // a task of a step may start several, one after the other
  const isTask = !NO_STEPS.includes(step) && daemonOf(set, root) < 0;
  return { text: JSON.stringify([job, 'step', step, size]), isNamed: isTask, size };
}

/** What started it, where that is known: two launchers start two worlds. */
function daemonOf(set: ProcessSet, root: number): number {
  const above = set.parent[root]!;
  return above >= 0 && (isDaemon(set.exename[above]!) || isLauncher(set.exename[above]!)) ? set.process[above]! : -1;
}

/** The ranks of one world on one node. */
interface LocalGroup extends WorldKey {
  job: number;
  daemon: number;
  step: string;
  ranks: Map<number, RankProcesses>;
}

/** Nodes of one world have different ranks of it; a rank that comes again belongs to the next. */
function joinGroups(set: ProcessSet, groups: LocalGroup[]): LocalGroup[][] {
  const startOf = ({ ranks }: LocalGroup): number => smallest([...ranks.values()].map(({ root }) => set.start[root]!));
  const starts = new Map(groups.map((group) => [group, startOf(group)]));
  const worlds: LocalGroup[][] = [];
  const open = new Map<string, LocalGroup[][]>();
  for (const group of groups.toSorted((a, b) => starts.get(a)! - starts.get(b)!)) {
    const same = open.get(group.text) ?? [];
    const fits = (world: readonly LocalGroup[]): boolean =>
      group.isNamed || ![...group.ranks.keys()].some((rank) => world.some(({ ranks }) => ranks.has(rank)));
    const world = same.find(fits);
    if (world === undefined) {
      same.push([group]);
      worlds.push(same.at(-1)!);
    } else world.push(group);
    const isOpen = (each: readonly LocalGroup[]): boolean =>
      group.isNamed || each.reduce((sum, { ranks }) => sum + ranks.size, 0) < (group.size || Number.POSITIVE_INFINITY);
    open.set(group.text, same.filter(isOpen));
  }
  return worlds;
}

function finished(set: ProcessSet, groups: readonly LocalGroup[]): WorldProcesses {
  const [{ job, size, step }] = groups as [LocalGroup];
  // on its own node mpirun starts ranks itself, on the others in a step
  const isTask = !NO_STEPS.includes(step) && groups.every((group) => group.step === step);
  const byRank = new Map<number, RankProcesses>();
  for (const { ranks } of groups)
    for (const each of ranks.values()) {
      const other = byRank.get(each.rank);
      if (other === undefined) byRank.set(each.rank, each);
      else other.rows.push(...each.rows);
    }
  const ranks = [...byRank.values()].sort((a, b) => a.rank - b.rank);
  return {
    job,
    launcher: launcherOf(set, ranks) || (isTask ? 'srun' : ''),
    step: isTask ? step : '',
    size: Number.isNaN(size) ? ranks.at(-1)!.rank + 1 : Math.max(size, ranks.length),
    start: smallest(ranks.map(({ root }) => set.start[root]!)),
    ranks,
  };
}

/** The command that people typed: on its own node it is above what it left there to start ranks. */
function launcherOf(set: ProcessSet, ranks: readonly RankProcesses[]): string {
  let behind = '';
  for (const { root } of ranks) {
    for (let at = set.parent[root]!, steps = 0; at >= 0 && steps < 8; at = set.parent[at]!, steps++) {
      const program = set.exename[at]!;
      if (isLauncher(program)) return program;
      if (!isDaemon(program)) break;
      behind ||= launcherBehind(program);
    }
  }
  return behind;
}
