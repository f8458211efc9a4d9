import { recordColumns } from '../query/processes/columns.ts';
import {
  joinColumns,
  makeColumns,
  type ProcessColumns,
  type ProcessId,
  type ProcessSource,
  type TEXTS,
  type ThreadColumns,
} from '../query/processes/set.ts';
import { type AllThreads, withValues } from '../query/processes/threads.ts';
import { METRICS, metricColumn, PROCESS_NUMBERS, PROCESS_TEXTS, THREAD_NUMBERS } from './columns.ts';
import type { Database } from './connect.ts';
import { copyOut } from './copy.ts';
import { type CopyReader, copyReader, copyRows } from './copy-read.ts';
import { namedJobs, processJobOf, type StoredJob } from './find-jobs.ts';

/** A database as a place where processes come from: those of the named jobs. */
export async function databaseSource(database: Database, names: readonly string[]): Promise<ProcessSource> {
  return jobsSource(database, await namedJobs(database, names));
}

/** The same for jobs that have been found already. */
export function jobsSource(database: Database, jobs: readonly StoredJob[]): ProcessSource {
  return {
    async processes(wanted) {
      const columnsOfJobs: ProcessColumns[] = [];
      for (const job of jobs) columnsOfJobs.push(await readProcesses(database, job, wanted));
      return joinColumns(columnsOfJobs);
    },
    threads: (process) => readThreads(database, jobs[process.job]!, process),
  };
}

/** Texts that every question needs. */
const ALWAYS: readonly (typeof TEXTS)[number][] = ['node', 'user', 'ended', 'source'];

/** The processes of one job; with `wanted`, only those columns and what every process has. */
export async function readProcesses(
  database: Database,
  job: StoredJob,
  wanted?: readonly string[],
): Promise<ProcessColumns> {
  const only = wanted === undefined ? undefined : new Set<string>([...ALWAYS, ...recordColumns(wanted)]);
  const texts = PROCESS_TEXTS.filter(([name]) => only?.has(name) ?? true);
  const metrics = metricReaders(job.metrics.filter((name) => only?.has(name) ?? true));
  const select = [...[...texts, ...PROCESS_NUMBERS].map(([, column]) => column), ...metrics.columns];
  const bytes = await copyOut(
    database,
    `select ${select.join(', ')} from tacho.processes where job = ${job.job} order by process`,
  );
  const columns = { ...makeColumns(job.processes, job.metrics, [processJobOf(job)]), troubles: job.troubles };
  const reader = copyReader(bytes);
  let i = 0;
  for (; i < job.processes && reader.next(); i++) {
    columns.job[i] = 0;
    for (const [name] of texts) columns[name][i] = reader.text();
    for (const [name, , kind] of PROCESS_NUMBERS) columns[name][i] = reader[kind]();
    metrics.read(reader, columns.metrics, i);
  }
  columns.length = i;
  return columns;
}

async function readThreads(database: Database, job: StoredJob, process: ProcessId): Promise<ThreadColumns> {
  const threadRows = await database.query<{ process: number }>(
    `select process from tacho.processes where job = $1 and node = $2 and pid = $3
        and start_time = timestamptz 'epoch' + $4::bigint * interval '1 microsecond' order by process limit 1`,
    [job.job, process.node, process.pid, process.start],
  );
  const { process: _, ...threads } = await threadsOf(
    database,
    job,
    `and process = ${threadRows.rows[0]?.process ?? -1}`,
  );
  return withValues(threads);
}

/** The threads of all processes of a job. */
export function readAllThreads(database: Database, job: StoredJob): Promise<AllThreads> {
  return threadsOf(database, job, '');
}

async function threadsOf(database: Database, job: StoredJob, only: string): Promise<AllThreads> {
  const metrics = metricReaders(job.thread_metrics);
  const columns = ['process', ...THREAD_NUMBERS.map(([, column]) => column), ...metrics.columns];
  const bytes = await copyOut(
    database,
    `select ${columns.join(', ')} from tacho.threads where job = ${job.job} ${only} order by process, thread`,
  );
  const length = copyRows(bytes);
  const column = (): Float64Array => new Float64Array(length).fill(Number.NaN);
  const threads: AllThreads = {
    length,
    tid: column(),
    start: column(),
    end: column(),
    cpu_time: column(),
    metrics: new Map(job.thread_metrics.map((name) => [name, column()])),
    process: new Uint32Array(length),
  };
  const reader = copyReader(bytes);
  for (let i = 0; reader.next(); i++) {
    threads.process[i] = reader.integer();
    for (const [name, , kind] of THREAD_NUMBERS) threads[name][i] = reader[kind]();
    metrics.read(reader, threads.metrics, i);
  }
  return threads;
}

interface MetricReaders {
  columns: string[];
  read(reader: CopyReader, into: ReadonlyMap<string, { [row: number]: number }>, row: number): void;
}

/** How the metrics of a job are read: those with a column of their own, and the others from `more`. */
function metricReaders(names: readonly string[]): MetricReaders {
  const own = names.filter((name) => METRICS.includes(name));
  const others = names.length > own.length;
  return {
    columns: [...own.map(metricColumn), ...(others ? ['more'] : [])],
    read(reader, into, row) {
      for (const name of own) into.get(name)![row] = reader.double();
      const more = others ? reader.json() : undefined;
      if (more === undefined) return;
      for (const [name, value] of Object.entries(JSON.parse(more) as Record<string, number>)) {
        const values = into.get(name);
        if (values !== undefined) values[row] = value;
      }
    },
  };
}
