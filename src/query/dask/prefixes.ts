import { usage } from '../../base/fault.ts';
import { listed } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import { quantiles } from '../../recording/sealed/quantiles.ts';
import { type DaskUse, type UsedFigures, UsedSum } from './task-use.ts';
import { type DaskTasks, textOf } from './tasks.ts';

/** What the tasks of a prefix did and used. Seconds and bytes; undefined: not measured. */
export interface PrefixUse extends UsedFigures {
  prefix: string;
  /** Executions. */
  tasks: number;
  erred: number;
  lost: number;
  /** Executions of keys that their job had computed before. */
  recomputed: number;
  /** Of all executions together. */
  seconds: number;
  mean_seconds?: number;
  median_seconds?: number;
  max_seconds?: number;
  transfer_seconds: number;
  disk_seconds: number;
  /** Results together. */
  bytes: number;
  /** Part of their time in which other tasks ran on the same worker: CPU time is then a share, memory and GPU are of all of them. */
  shared: number;
}

/** Number of prefixes that are named. */
const MOST_NAMES = 10;

/** Dask has no limit of names; people read these in sentences. */
const LONGEST_LABEL = 60;

/** A prefix, for reports, findings and the page. */
export const prefixLabel = (prefix: string): string =>
  prefix.length <= LONGEST_LABEL ? prefix : `${prefix.slice(0, LONGEST_LABEL - 2).toWellFormed()}..`;

/** Which rows of tasks count. */
export interface TaskChoice {
  job?: number;
  dag?: number;
  prefix?: string;
}

/** The rows of tasks that count, in the order of their end. */
export function chosenRows({ tasks }: DaskUse, { job, dag, prefix }: TaskChoice): Uint32Array {
  return byStop(tasks).filter(
    (row) =>
      (job === undefined || tasks.job[row] === job) &&
      (dag === undefined || tasks.dag[row] === dag) &&
      (prefix === undefined || textOf(tasks.prefix, row) === prefix),
  );
}

/** Refuses a choice that no task falls under, and names the prefixes that there are. */
export function needTasks(all: readonly DaskUse[], choice: TaskChoice): void {
  if (Object.keys(choice).length === 0 || all.some((use) => chosenRows(use, choice).length > 0)) return;
  const asked = Object.entries(choice).map(([name, value]) => `${name} ${value}`);
  throw usage(`there is no task of ${asked.join(', ')}`, thereAre(all, choice));
}

/** What could have been chosen: the jobs, the graphs of the job, or the prefixes. */
function thereAre(all: readonly DaskUse[], { job, dag, prefix }: TaskChoice): string {
  const numbers = (of: 'job' | 'dag'): string[] => {
    const values = new Set(
      all.flatMap((use) => [...chosenRows(use, of === 'dag' ? stated({ job }) : {})].map((row) => use.tasks[of][row]!)),
    );
    return [...values]
      .filter((value) => !Number.isNaN(value))
      .sort((a, b) => a - b)
      .map(String);
  };
  const isNo = (of: 'job' | 'dag', value: number | undefined): boolean =>
    value !== undefined && !numbers(of).includes(String(value));
  const none = (of: string): string => `no ${of} is known of the tasks`;
  if (isNo('job', job)) {
    const jobs = numbers('job');
    return jobs.length === 0 ? none('job') : `jobs are ${listed(jobs, MOST_NAMES)}`;
  }
  if (isNo('dag', dag)) {
    const graphs = numbers('dag');
    return graphs.length === 0
      ? none('graph')
      : `graphs${job === undefined ? '' : ` of job ${job}`} are ${listed(graphs, MOST_NAMES)}`;
  }
  const around = prefix === undefined ? {} : stated({ job, dag });
  const prefixes = new Set(
    all.flatMap((use) => [...chosenRows(use, around)].map((row) => textOf(use.tasks.prefix, row))).filter(Boolean),
  );
  return `prefixes are ${listed([...prefixes], MOST_NAMES)}`;
}

/** The prefixes of a recording, by the time that their tasks took together. */
export function prefixUse(all: readonly DaskUse[], choice: TaskChoice = {}): PrefixUse[] {
  const sumsByPrefix = new Map<string, PrefixUse & Sums>();
  for (const use of all) {
    const computed = new Map<number, Set<number>>();
    for (const row of chosenRows(use, choice)) {
      const prefix = textOf(use.tasks.prefix, row);
      const sums = sumsByPrefix.get(prefix) ?? newSums(prefix);
      sumsByPrefix.set(prefix, sums);
      add(sums, use, row, computed);
    }
  }
  return [...sumsByPrefix.values()].map(finished).sort((a, b) => b.seconds - a.seconds);
}

function byStop({ length, stop }: DaskTasks): Uint32Array {
  const rows = Uint32Array.from({ length }, (_, i) => i);
  return rows.sort((a, b) => stop[a]! - stop[b]!);
}

interface Sums {
  durations: number[];
  used: UsedSum;
  sharedTime: number;
}

const newSums = (prefix: string): PrefixUse & Sums => ({
  prefix,
  tasks: 0,
  erred: 0,
  lost: 0,
  recomputed: 0,
  seconds: 0,
  transfer_seconds: 0,
  disk_seconds: 0,
  bytes: 0,
  shared: 0,
  durations: [],
  used: new UsedSum(),
  sharedTime: 0,
});

function add(
  sums: PrefixUse & Sums,
  { tasks, shares }: DaskUse,
  row: number,
  computed: Map<number, Set<number>>,
): void {
  const outcome = textOf(tasks.outcome, row);
  sums.tasks++;
  if (outcome === 'erred') sums.erred++;
  else if (outcome === 'lost') sums.lost++;
  else {
    const key = tasks.key.codes[row]!;
    const job = tasks.job[row]!;
    const ofJob = computed.get(job) ?? new Set();
    computed.set(job, ofJob);
    if (ofJob.has(key)) sums.recomputed++;
    ofJob.add(key);
  }
  const seconds = (tasks.stop[row]! - tasks.start[row]!) / 1e6;
  if (seconds >= 0) {
    sums.durations.push(seconds);
    sums.seconds += seconds;
  }
  const plus = (name: 'transfer_seconds' | 'disk_seconds' | 'bytes', value: number, scale: number): void => {
    if (!Number.isNaN(value)) sums[name] += value / scale;
  };
  plus('transfer_seconds', tasks.transfer[row]!, 1e6);
  plus('disk_seconds', tasks.disk[row]!, 1e6);
  plus('bytes', tasks.bytes[row]!, 1);
  sums.sharedTime += shares.shared[row]! / 1e6;
  sums.used.add(shares, row);
}

function finished({ durations, used, sharedTime, ...use }: PrefixUse & Sums): PrefixUse {
  const sorted = Float64Array.from(durations);
  if (sorted.length > 0) {
    use.mean_seconds = use.seconds / sorted.length;
    [use.median_seconds, use.max_seconds] = quantiles(sorted, sorted.length, [0.5, 1]) as [number, number];
  }
  use.shared = use.seconds > 0 ? Math.min(1, sharedTime / use.seconds) : 0;
  return Object.assign(use, used.figures());
}
