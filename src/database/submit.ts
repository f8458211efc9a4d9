import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../base/fault.ts';
import { gather } from '../judge/gather.ts';
import { measuredRecordings } from '../judge/outliers/measured-job.ts';
import { type Report, report } from '../judge/report.ts';
import { type Operation, operationsOf, tagKeys } from '../query/operations.ts';
import type { ProcessSet } from '../query/process-set.ts';
import { readProcesses } from '../query/processes.ts';
import { type AllThreads, readAllThreads } from '../query/threads.ts';
import { isAlive } from '../recording/alive.ts';
import type { Job } from '../recording/job.ts';
import type { Recording } from '../recording/open.ts';
import {
  metricColumns,
  numberColumn,
  PROCESS_NUMBERS,
  PROCESS_TEXTS,
  THREAD_NUMBERS,
  textColumn,
  type Written,
} from './columns.ts';
import type { Database } from './connect.ts';
import { copyIn } from './copy.ts';
import { storable, storableJson } from './copy-write.ts';

export interface Submitted {
  /** stored: it is new there. present: it was there already, and nothing was changed. replaced: as asked. */
  outcome: 'stored' | 'present' | 'replaced';
  /** The job's number in the database. */
  job: number;
  processes: number;
  threads: number;
  /** What could not be read of the recording, in words; kept with the job. */
  troubles: readonly string[];
}

export interface SubmitOptions {
  /** Put it in the place of what is there. */
  replace?: boolean;
}

/**
 * Stores a recording that has ended: all of it or nothing. Two that submit the same job at once do not mix: one of them
 * finds it there.
 */
export async function submitRecording(
  database: Database,
  recording: Recording,
  options: SubmitOptions = {},
): Promise<Submitted> {
  needJob(recording);
  needEnded(recording);
  const known = await presentJob(database, recording.job);
  if (known !== undefined && options.replace !== true) return known;
  const content = await contentOf(recording);
  return database.transaction(async () => {
    await database.query('select pg_advisory_xact_lock(hashtextextended($1, 7422411))', [
      keyOf(recording.job).join('\n'),
    ]);
    const present = await presentJob(database, recording.job);
    if (present !== undefined && options.replace !== true) return present;
    if (present !== undefined) await database.query('delete from tacho.jobs where job = $1', [present.job]);
    const job = await store(database, recording, content);
    return {
      outcome: present === undefined ? 'stored' : 'replaced',
      job,
      processes: content.set.length,
      threads: content.threads.length,
      troubles: content.set.troubles,
    };
  });
}

/** A recording of which nobody knows the job could be stored twice, or as another one's. */
export function needJob({ path: folder, job, troubles }: Recording): void {
  const file = path.join(folder, 'job.json');
  const damaged = troubles.find((trouble) => trouble.includes(file));
  if (damaged !== undefined || !fs.existsSync(file)) {
    throw new Fault(damaged ?? `cannot submit ${folder}: it has no job.json, so nobody knows which job it is`, {
      hint: `tacho verify ${folder} says more`,
    });
  }
  if (!Number.isFinite(job.start)) {
    throw new Fault(`cannot submit ${folder}: its job.json does not say when the job began`);
  }
}

/** A job that goes on would be stored by half, and the rest never. */
function needEnded({ path: folder, job, nodes }: Recording): void {
  if (nodes.some((node) => isAlive(node)) || (job.state === 'running' && job.end === undefined)) {
    throw new Fault(`cannot submit ${folder}: job ${job.id} still runs`, {
      hint: 'submit it when it has ended; tacho watch does that by itself',
    });
  }
}

/** What makes a job the same job. */
function keyOf(job: Job): [cluster: string, id: string, restart: number, start: number] {
  return [storable(job.cluster ?? ''), storable(job.id), job.restart ?? 0, Math.round(job.start)];
}

/** The job as it is in the database; undefined: it is not. */
export async function presentJob(database: Database, job: Job): Promise<Submitted | undefined> {
  const { rows } = await database.query<{ job: string; processes: number; threads: number; troubles: string[] }>(
    `select job, processes, threads, troubles from tacho.jobs
      where cluster = $1 and id = $2 and restart = $3 and start_time = ${moment('$4')}`,
    keyOf(job),
  );
  const found = rows[0];
  return found === undefined ? undefined : { outcome: 'present', ...found, job: Number(found.job) };
}

/** A parameter in epoch microseconds as a time, exactly. */
const moment = (parameter: string): string => `(timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond')`;

interface Content {
  set: ProcessSet;
  threads: AllThreads;
  operations: { key: string; value: string; operation: Operation }[];
  report: Report;
  measured: ReadonlyMap<string, number>;
}

async function contentOf(recording: Recording): Promise<Content> {
  const set = readProcesses([recording]);
  const operations = [...tagKeys(set).keys()].flatMap((key) =>
    operationsOf(set, { tags: [key] }).flatMap((operation) => {
      const value = operation.tags.get(key);
      return value === undefined ? [] : [{ key, value, operation }];
    }),
  );
  return {
    set,
    threads: readAllThreads(recording, set),
    operations,
    report: report(gather(recording, canShare(recording, set) ? { processes: set } : {})),
    measured: await measuredRecordings([recording])[0]!.measured(),
  };
}

/** The report reads processes once more where it takes samples from statistics, or where there is trouble to tell of. */
const canShare = ({ nodes, troubles }: Recording, set: ProcessSet): boolean =>
  set.length > 0 && troubles.length === 0 && nodes.every(({ tables }) => !tables.has('process'));

async function store(database: Database, recording: Recording, content: Content): Promise<number> {
  const { set, threads } = content;
  const users = [...new Set([recording.job.user, ...set.user])].map(storable).sort();
  await database.query('insert into tacho.users (name) select unnest($1::text[]) on conflict do nothing', [users]);
  if (recording.job.uid >= 0) {
    await database.query('update tacho.users set uid = $2 where name = $1 and uid is null', [
      storable(recording.job.user),
      recording.job.uid,
    ]);
  }
  const job = await storeJob(database, recording, content);
  const number = { column: 'job', write: (to) => to.bigint(job) } satisfies Written;
  await copyIn(database, 'processes', set.length, [number, ...processColumns(set)]);
  await copyIn(database, 'threads', threads.length, [number, ...threadColumns(threads)]);
  await copyIn(database, 'operations', content.operations.length, [number, ...operationColumns(content.operations)]);
  await storeHosts(database, job, recording);
  return job;
}

async function storeJob(database: Database, recording: Recording, content: Content): Promise<number> {
  const { job } = recording;
  const { set, threads, report } = content;
  const [cluster, id, restart, start] = keyOf(job);
  const text = (value: string | undefined): string | null => (value === undefined ? null : storable(value));
  const whole = (value: number | undefined): number | null =>
    value === undefined || !Number.isFinite(value) ? null : Math.round(value);
  const cpu = set.cpu_time.reduce((sum, value) => (Number.isNaN(value) ? sum : sum + value), 0);
  // biome-ignore format: one column, one line
  const columns: [column: string, value: unknown, as?: 'moment'][] = [
    ['cluster', cluster],
    ['id', id],
    ['restart', restart],
    ['start_time', start, 'moment'],
    ['end_time', whole(job.end), 'moment'],
    ['submit_time', whole(job.submit), 'moment'],
    ['name', storable(job.name)],
    ['user_name', storable(job.user)],
    ['account', text(job.account)],
    ['partition', text(job.partition)],
    ['scheduler', job.scheduler],
    ['state', job.state],
    ['exit_code', whole(job.exit_code)],
    ['signal', text(job.signal)],
    ['directory', text(job.directory)],
    ['nodes', job.nodes.map(storable)],
    ['tags', storableJson(job.tags)],
    ['annotations', storableJson(job.annotations ?? {})],
    ['facts', storableJson(job)],
    ['summary', storableJson(report.summary)],
    ['findings', storableJson(report.findings)],
    ['report', storableJson(report)],
    ['measured', storableJson(Object.fromEntries(content.measured))],
    ['processes', set.length],
    ['threads', threads.length],
    ['cpu_time', cpu],
    ['metrics', [...set.metrics.keys()].map(storable)],
    ['thread_metrics', [...threads.metrics.keys()].map(storable)],
    ['troubles', set.troubles.map(storable)],
    ['recording', storable(path.resolve(recording.path))],
  ];
  const places = columns.map(([, , as], i) => (as === 'moment' ? moment(`$${i + 1}`) : `$${i + 1}`));
  const { rows } = await database.query<{ job: string }>(
    `insert into tacho.jobs (${columns.map(([column]) => column).join(', ')}) values (${places.join(', ')}) returning job`,
    columns.map(([, value]) => value),
  );
  return Number(rows[0]!.job);
}

function processColumns(set: ProcessSet): Written[] {
  const { parent } = set;
  return [
    { column: 'process', write: (to, row) => to.integer(row) },
    { column: 'parent', write: (to, row) => to.integer(parent[row]! < 0 ? Number.NaN : parent[row]!) },
    numberColumn('depth', 'integer', set.depth),
    numberColumn('descendants', 'integer', set.descendants),
    numberColumn('inclusive_cpu_time', 'double', set.inclusive_cpu_time),
    ...entries(PROCESS_TEXTS).map(([name, column]) => textColumn(column, set[name])),
    ...entries(PROCESS_NUMBERS).map(([name, [column, kind]]) => numberColumn(column, kind, set[name])),
    ...metricColumns(set.metrics),
  ];
}

function threadColumns(threads: AllThreads): Written[] {
  const { process } = threads;
  let last = -1;
  let count = 0;
  return [
    numberColumn('process', 'integer', process),
    {
      // threads of a process come together: they are counted from 0
      column: 'thread',
      write(to, row) {
        count = process[row] === last ? count + 1 : 0;
        last = process[row]!;
        to.integer(count);
      },
    },
    ...entries(THREAD_NUMBERS).map(([name, [column, kind]]) => numberColumn(column, kind, threads[name])),
    ...metricColumns(threads.metrics),
  ];
}

function operationColumns(found: Content['operations']): Written[] {
  const number = (column: string, kind: 'integer' | 'double' | 'time', pick: (one: Operation) => number): Written => ({
    column,
    write: (to, row) => to[kind](pick(found[row]!.operation)),
  });
  return [
    { column: 'key', write: (to, row) => to.words(found[row]!.key) },
    { column: 'value', write: (to, row) => to.words(found[row]!.value) },
    number('processes', 'integer', (one) => one.processes),
    number('threads', 'double', (one) => one.threads),
    number('runs', 'integer', (one) => one.runs.length),
    number('endless', 'integer', (one) => one.endless),
    number('cpu_time', 'double', (one) => one.cpu_time),
    number('duration', 'double', (one) => one.duration),
    number('duration_sum', 'double', (one) => one.duration_sum),
    number('duration_span', 'double', (one) => one.duration_span),
    number('start_time', 'time', (one) => one.start),
    number('end_time', 'time', (one) => one.end),
  ];
}

/** Last, because whoever changes the facts of a host makes others wait until the end of the transaction. */
async function storeHosts(database: Database, job: number, { job: facts, nodes }: Recording): Promise<void> {
  const agents = new Map(nodes.map((node) => [storable(node.name), node.agent]));
  const names = [...new Set([...facts.nodes.map(storable), ...agents.keys()])].sort();
  const known = names.map((name) => storableJson(agents.get(name)?.facts ?? {}));
  const said = names.map((name) => {
    const agent = agents.get(name);
    return agent === undefined ? null : storableJson({ ...agent, tables: agent.tables.map((table) => table.name) });
  });
  await database.query(
    'insert into tacho.hosts (name, facts) select * from unnest($1::text[], $2::jsonb[]) on conflict do nothing',
    [names, known],
  );
  await database.query(
    'insert into tacho.job_hosts (job, host, agent) select $1, host, agent from unnest($2::text[], $3::jsonb[]) as t(host, agent)',
    [job, names, said],
  );
  await database.query(
    `update tacho.hosts set facts = new.facts from unnest($1::text[], $2::jsonb[]) as new(name, facts)
      where hosts.name = new.name and new.facts <> '{}' and hosts.facts is distinct from new.facts`,
    [names, known],
  );
}

function entries<T extends object>(of: T): [keyof T, T[keyof T]][] {
  return Object.entries(of) as [keyof T, T[keyof T]][];
}
