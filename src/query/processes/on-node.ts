import { greatest } from '../../base/extremes.ts';
import { joinObservations, type Observation } from '../../sources/process/same-process.ts';
import type { SampledCpu } from './sampled-cpu.ts';
import type { ProcessSet } from './set.ts';

/** A process of the kernel on one node: its recorded images as rows of a set, by their start. */
export interface RecordedProcess extends Observation {
  rows: readonly number[];
}

/** A process of a node, each once: it was recorded, sampled, or both. */
export interface JoinedProcess<S> {
  recorded?: RecordedProcess;
  sampled?: S;
}

/** Put together once for all spans of a job, by node. */
const made = new WeakMap<ProcessSet, Map<string, RecordedProcess[]>>();

/** The processes of a node that recorded themselves, or that their parents reported. */
export function recordedOn(set: ProcessSet, node: string): readonly RecordedProcess[] {
  const byNode = made.get(set) ?? new Map<string, RecordedProcess[]>();
  made.set(set, byNode);
  const processes = byNode.get(node) ?? makeRecorded(set, node);
  byNode.set(node, processes);
  return processes;
}

function makeRecorded(set: ProcessSet, node: string): RecordedProcess[] {
  const own: number[] = [];
  for (let i = 0; i < set.length; i++) if (set.node[i] === node && set.source[i] !== 'sample') own.push(i);
  return [...Map.groupBy(own, (i) => set.process[i]!).values()].map((images) => {
    const rows = images.sort((a, b) => set.start[a]! - set.start[b]!);
    const first = imageAt(set, rows[0]!);
    return { ...first, last: greatest(rows.map((i) => imageAt(set, i).last)), rows };
  });
}

/** One image as an observation; of one that was killed only its start is known. */
function imageAt({ pid, birth, start, end }: ProcessSet, i: number): Observation {
  const began = start[i]!;
  return { pid: pid[i]!, birth: Math.min(began, birth[i]! || began), start: began, last: end[i]! || began };
}

type Sampled = Pick<SampledCpu, 'pid' | 'start'> & Partial<Pick<SampledCpu, 'times'>>;

/** The processes of a node with what was sampled of them: first those that were sampled, in their order, then the others. */
export function joinSampled<S extends Sampled>(
  recorded: readonly RecordedProcess[],
  sampled: readonly S[],
): JoinedProcess<S>[] {
  const observed = sampled.map((one) => ({ ...observationOf(one), one }));
  const same = joinObservations(recorded, observed);
  const taken = new Set(same.values());
  return [
    ...observed.map((each): JoinedProcess<S> => {
      const process = same.get(each);
      return process === undefined ? { sampled: each.one } : { recorded: process, sampled: each.one };
    }),
    ...recorded.filter((process) => !taken.has(process)).map((process): JoinedProcess<S> => ({ recorded: process })),
  ];
}

/** Samples name a process by its birth in milliseconds. */
function observationOf({ pid, start, times = [] }: Sampled): Observation {
  const birth = Number(start) * 1000;
  return { pid: Number(pid), birth, start: times[0] ?? birth, last: times.at(-1) ?? birth };
}
