import {
  makeColumns,
  NUMBERS,
  type ProcessColumns,
  type ProcessJob,
  type ProcessSet,
  TEXTS,
} from '../../src/query/processes/set.ts';
import { linkProcesses } from '../../src/query/processes/tree.ts';

/** What a test says of a process; the rest is missing. Times in seconds after the job's start. */
export interface Told {
  pid: number;
  ppid?: number;
  from?: number;
  to?: number;
  /** Seconds. */
  cpu?: number;
  job?: number;
  node?: string;
  exename?: string;
  argv0?: string;
  args?: string;
  tags?: string;
  step?: string;
  rank?: string;
  ranks?: number;
  world?: string;
  allowed_cpus?: string;
  source?: string;
  ended?: string;
  exitcode?: number;
  exitsignal?: number;
  threads?: number;
  birth?: number;
  metrics?: Record<string, number>;
}

/** When the jobs of tests begin, epoch microseconds; they last 100 seconds. */
export const BEGAN = 1_794_775_752_000_000;

export function testJob(changes: Partial<ProcessJob> = {}): ProcessJob {
  return {
    id: '17',
    name: 'train',
    user: 'ada',
    nodes: ['c1'],
    start: BEGAN,
    end: BEGAN + 100e6,
    state: 'completed',
    tags: {},
    origin: 'tacho-17',
    ...changes,
  };
}

export function testColumns(processRows: readonly Told[], jobs: readonly ProcessJob[] = [testJob()]): ProcessColumns {
  const metrics = new Set(processRows.flatMap((one) => Object.keys(one.metrics ?? {})));
  const columns = makeColumns(processRows.length, metrics, jobs);
  processRows.forEach((one, i) => {
    const seconds = (value: number | undefined): number => BEGAN + (value ?? Number.NaN) * 1e6;
    columns.job[i] = 0;
    columns.node[i] = 'c1';
    columns.source[i] = 'record';
    columns.exename[i] = `p${one.pid}`;
    const { from = 0, to, cpu, metrics: own = {}, birth = from, ...rest } = one;
    for (const [name, value] of Object.entries(rest)) {
      if (TEXTS.some((text) => text === name)) columns[name as 'node'][i] = value as string;
      else if (NUMBERS.some((number) => number === name)) columns[name as 'pid'][i] = value as number;
    }
    columns.start[i] = seconds(from);
    columns.birth[i] = seconds(birth);
    columns.sampled_birth[i] = seconds(birth);
    columns.end[i] = seconds(to);
    columns.cpu_time[i] = (cpu ?? Number.NaN) * 1e6;
    for (const [name, value] of Object.entries(own)) columns.metrics.get(name)![i] = value;
  });
  return columns;
}

export function testSet(processRows: readonly Told[], jobs?: readonly ProcessJob[]): ProcessSet {
  return linkProcesses(testColumns(processRows, jobs));
}
