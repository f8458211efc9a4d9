import { short } from '../../charts/numbers.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { threadName } from '../../query/processes/thread-name.ts';
import { type AllThreads, readAllThreads, readThreads } from '../../query/processes/threads.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { threadEndTable } from '../../sources/tables.ts';
import type { ThreadData } from '../api.ts';

/** The threads of a job that used most CPU time. */
export const busiestThreads = (recording: Recording, set: ProcessSet, most: number): ThreadData =>
  sent(busiest(readAllThreads(recording, set), most));

/** The threads of one process. */
export function threadsOfProcess(recording: Recording, set: ProcessSet, process: number): ThreadData {
  const threads = readThreads(recording, {
    job: set.job[process]!,
    node: set.node[process]!,
    pid: set.pid[process]!,
    start: set.start[process]!,
  });
  return sent({ ...threads, process: new Uint32Array(threads.length).fill(process) });
}

interface Chosen extends Pick<AllThreads, 'process' | 'tid' | 'start' | 'end' | 'cpu_time' | 'metrics'> {
  rows?: readonly number[];
  length: number;
}

function busiest(threads: AllThreads, most: number): Chosen {
  if (threads.length <= most) return threads;
  const used = (i: number): number => threads.cpu_time[i]! || 0;
  const rows = Array.from({ length: threads.length }, (_, i) => i).sort((a, b) => used(b) - used(a));
  return { ...threads, rows: rows.slice(0, most).sort((a, b) => a - b) };
}

function sent({ rows, length, process, tid, start, end, cpu_time: cpu, metrics }: Chosen): ThreadData {
  const chosen = rows ?? Array.from({ length }, (_, i) => i);
  const waiting = metrics.get(threadEndTable.col.time_waiting.name);
  const moment = (time: number): number | null => (Number.isNaN(time) ? null : Math.round(time));
  return {
    length: chosen.length,
    process: chosen.map((i) => process[i]!),
    tid: chosen.map((i) => String(threadName(tid[i]!))),
    start: chosen.map((i) => moment(start[i]!)),
    end: chosen.map((i) => moment(end[i]!)),
    cpu: chosen.map((i) => short(cpu[i]! / 1e6)),
    waiting: chosen.map((i) => short((waiting?.[i] ?? Number.NaN) / 1e9)),
    left_out: length - chosen.length,
  };
}
