import { shownAddress } from '../base/address.ts';
import { Fault, usage } from '../base/fault.ts';
import { formatMoment } from '../base/moment.ts';
import { stated } from '../base/stated.ts';
import type { ProcessJob } from '../query/processes/set.ts';
import type { JobState } from '../recording/folder/job.ts';
import type { Database } from './connect.ts';

/** A job in the database. */
export interface StoredJob extends ProcessJob {
  /** Its number there. */
  job: number;
  cluster: string;
  restart: number;
  annotations: Readonly<Record<string, string>>;
  processes: number;
  threads: number;
  cpu_time: number;
  metrics: string[];
  thread_metrics: string[];
  troubles: string[];
}

interface JobRow extends Omit<StoredJob, keyof ProcessJob | 'job'> {
  job: string;
  id: string;
  name: string;
  user_name: string;
  nodes: string[];
  start_us: string;
  end_us: string | null;
  state: JobState;
  exit_code: number | null;
  tags: Record<string, string>;
}

const microseconds = (column: string): string => `(extract(epoch from ${column}) * 1000000)::bigint`;

/** Which jobs: all conditions hold. */
export interface JobFilter {
  /** Numbers of jobs in the database. */
  jobs?: readonly number[];
  user?: string;
  name?: string;
  state?: string;
  tags?: Readonly<Record<string, string>>;
  /** A node that it ran on. */
  host?: string;
  /** KEY=VALUE of an annotation, or a text that is in one. */
  note?: string;
  /** It ran at this moment: epoch microseconds. */
  at?: number;
  /** Began at or after, before: epoch microseconds. */
  since?: number;
  until?: number;
  limit?: number;
}

/** Jobs in the database, oldest first; with a limit the newest ones. */
export async function findJobs(database: Database, filter: JobFilter = {}): Promise<StoredJob[]> {
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const moment = (value: number): string =>
    `(timestamptz 'epoch' + ${parameter(Math.round(value))}::bigint * interval '1 microsecond')`;
  const where = ['true'];
  if (filter.jobs !== undefined) where.push(`job = any(${parameter(filter.jobs)}::bigint[])`);
  if (filter.user !== undefined) where.push(`user_name = ${parameter(filter.user)}`);
  if (filter.name !== undefined) where.push(`name = ${parameter(filter.name)}`);
  if (filter.state !== undefined) where.push(`state = ${parameter(filter.state)}`);
  if (filter.tags !== undefined) where.push(`tags @> ${parameter(JSON.stringify(filter.tags))}::jsonb`);
  if (filter.host !== undefined)
    where.push(`exists (select from tacho.job_hosts h where h.job = jobs.job and h.host = ${parameter(filter.host)})`);
  if (filter.note !== undefined) where.push(noteCondition(filter.note, parameter));
  if (filter.at !== undefined) {
    const at = moment(filter.at);
    where.push(`start_time <= ${at} and (end_time >= ${at} or end_time is null and state = 'running')`);
  }
  if (filter.since !== undefined) where.push(`start_time >= ${moment(filter.since)}`);
  if (filter.until !== undefined) where.push(`start_time < ${moment(filter.until)}`);
  const limit = filter.limit === undefined ? '' : `limit ${parameter(filter.limit)}`;
  const { rows } = await database.query<JobRow>(
    `select job, cluster, id, restart, name, user_name, nodes, ${microseconds('start_time')} as start_us,
        ${microseconds('end_time')} as end_us, state, exit_code, facts->'tags' as tags, annotations, processes, threads, cpu_time,
        metrics, thread_metrics, troubles
      from tacho.jobs where ${where.join(' and ')} order by start_time desc, job desc ${limit}`,
    values,
  );
  return rows.reverse().map((row) => storedJob(row, database.address));
}

function noteCondition(note: string, parameter: (value: unknown) => string): string {
  const [, key, value] = /^([^=\s]+)=(.*)$/s.exec(note) ?? [];
  if (key !== undefined) return `annotations @> ${parameter(JSON.stringify({ [key]: value }))}::jsonb`;
  const text = `%${note.replaceAll(/[\\%_]/g, '\\$&')}%`;
  return `exists (select from jsonb_each_text(annotations) n where n.value ilike ${parameter(text)})`;
}

/** As every other source of processes tells of a job. */
export function processJobOf(stored: StoredJob): ProcessJob {
  const { id, name, user, nodes, start, end } = stored;
  const { state, exit_code, tags, origin } = stored;
  return { id, name, user, nodes, start, end, state, tags, origin, ...stated({ exit_code }) };
}

function storedJob(row: JobRow, address: string): StoredJob {
  const { job, user_name: user, start_us: start, end_us: end, exit_code, ...rest } = row;
  return {
    ...rest,
    job: Number(job),
    user,
    start: Number(start),
    end: end === null ? Number.NaN : Number(end),
    ...(exit_code === null ? {} : { exit_code }),
    origin: `${shownAddress(address)}#${job}`,
  };
}

/**
 * The jobs that are meant, in the order in which they are named: `4711` by the scheduler's id, `cluster:4711` where
 * several clusters share a database, `#12` by the number in the database.
 */
export async function namedJobs(database: Database, names: readonly string[]): Promise<StoredJob[]> {
  if (names.length === 0) throw usage('no job is named', 'tacho db jobs lists the jobs in the database');
  const numbers: number[] = [];
  for (const name of names) numbers.push(await numberOf(database, name));
  const jobsByNumber = new Map((await findJobs(database, { jobs: numbers })).map((job) => [job.job, job]));
  return [...new Set(numbers)].map((number) => jobsByNumber.get(number)!);
}

async function numberOf(database: Database, name: string): Promise<number> {
  const { rows } = await database.query<{ job: string; cluster: string; start_us: string; recording: string }>(
    `select job, cluster, ${microseconds('start_time')} as start_us, recording from tacho.jobs
      where case when $1 ~ '^#[0-9]{1,18}$' then job = substr($1, 2)::bigint
        else id = $1 or (cluster <> '' and cluster || ':' || id = $1) end
      order by start_time desc limit 20`,
    [name],
  );
  if (rows.length === 1) return Number(rows[0]!.job);
  if (rows.length === 0) {
    throw new Fault(`there is no job ${name} in the database ${shownAddress(database.address)}`, {
      hint: 'tacho db jobs lists the jobs that are there; tacho submit stores one',
    });
  }
  const each = rows.map(
    ({ job, cluster, start_us, recording }) =>
      `#${job}  ${cluster === '' ? '' : `${cluster}, `}began ${formatMoment(Number(start_us))}, from ${recording}`,
  );
  throw usage(`job ${name} is there ${rows.length} times`, `name one by its number:\n${each.join('\n')}`);
}
