import { median } from '../../../query/material.ts';
import type { ProcessSet } from '../../../query/processes/set.ts';
import { isLastImage, isShell, programOf } from './processes.ts';

/** Similar processes: those of one program that one parent started to work side by side. */
export interface SimilarProcesses {
  set: ProcessSet;
  /** Places in the set, the one that ended last first. */
  members: number[];
  /** Seconds from the first start to the last end. */
  seconds: number;
}

/** Limits of rules that compare similar processes: among the thresholds of each. */
export const SIMILAR = {
  /** The smallest number of similar processes that are compared. */
  group: 3,
  /** Share of the job’s duration that they ran. */
  duration: 0.25,
  /** Seconds that they ran. */
  seconds: 3,
  /** Processes that ran for fewer seconds are left out. */
  shortest_seconds: 0.2,
};

/** Ranks of MPI and tasks of Slurm are compared with each other on all nodes, by rules of their own. */
const isRank = ({ rank, ranks }: ProcessSet, i: number): boolean =>
  // what a batch script of Slurm starts has its rank, which is 0, and nobody says of how many
  Number.isNaN(ranks[i]!) ? !['', '0'].includes(rank[i]!) : ranks[i]! > 1;

/** Workers differ in their numbers at most: `worker --id 3`. */
const kindOf = (set: ProcessSet, i: number): string =>
  `${set.node[i]} ${set.parent[set.process[i]!]} ${programOf(set, i)} ${set.args[i]!.replaceAll(/\d+(\.\d+)?/g, '#')}`;

/** Groups of processes that were started to work side by side: each began before any of them ended. */
export function similarProcesses(set: ProcessSet, wall: number, limits: typeof SIMILAR): SimilarProcesses[] {
  const siblings = new Uint32Array(set.length);
  const candidates: number[] = [];
  for (let i = 0; i < set.length; i++) {
    const seconds = (set.end[i]! - set.start[i]!) / 1e6;
    if (!(seconds >= limits.shortest_seconds) || !isLastImage(set, i) || isRank(set, i) || isShell(set, i)) continue;
    const parent = set.parent[set.process[i]!]!;
    if (parent < 0) continue;
    siblings[parent]!++;
    candidates.push(i);
  }
  const kinds = new Map<string, number[]>();
  for (const i of candidates) {
    // most parents have too few for any group: what kind these are need not be known
    if (siblings[set.parent[set.process[i]!]!]! < limits.group) continue;
    const kind = kindOf(set, i);
    const same = kinds.get(kind);
    if (same === undefined) kinds.set(kind, [i]);
    else same.push(i);
  }
  return [...kinds.values()].flatMap((all): SimilarProcesses[] => {
    if (all.length < limits.group) return [];
    const firstEnd = Math.min(...all.map((i) => set.end[i]!));
    const starts = all.map((i) => set.start[i]!);
    if (Math.max(...starts) >= firstEnd) return [];
    const members = all.toSorted((a, b) => set.end[b]! - set.end[a]!);
    const seconds = (set.end[members[0]!]! - Math.min(...starts)) / 1e6;
    if (seconds < limits.seconds || seconds < limits.duration * wall) return [];
    return [{ set, members, seconds }];
  });
}

export const lifeOf = (set: ProcessSet, i: number): number => (set.end[i]! - set.start[i]!) / 1e6;
export const cpuOf = (set: ProcessSet, i: number): number => set.cpu_time[i]! / 1e6;

/** The CPU time of similar processes; undefined where that of one is not known. */
export function cpuTimes({ set, members }: SimilarProcesses): number[] | undefined {
  const all = members.map((i) => cpuOf(set, i));
  return all.some(Number.isNaN) ? undefined : all;
}

export const middle = (values: readonly number[]): number => median(values)!;
