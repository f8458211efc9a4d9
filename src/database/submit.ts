import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../base/fault.ts';
import { loadAsUsual, longRun } from '../base/short-run.ts';
import { NOT_OF_THREADS } from '../import/epmt/tables.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import { damageText, readProcesses } from '../query/processes/processes.ts';
import type { ProcessSet } from '../query/processes/set.ts';
import { readAllThreads, readOwnThreads } from '../query/processes/threads.ts';
import { isAlive } from '../recording/folder/alive.ts';
import type { Job } from '../recording/folder/job.ts';
import { lostRecords } from '../recording/folder/lost-records.ts';
import type { Recording } from '../recording/folder/open.ts';
import type { Damage } from '../recording/read/csv-read.ts';
import type { Written } from './columns.ts';
import type { NeedWhole } from './conclude.ts';
import type { Database } from './connect.ts';
import { type Copy, copyIn, inTurn, pausesOf } from './copy.ts';
import { storable, storableJson } from './copy-write.ts';
import { operationColumns, processColumns, threadColumns } from './job-rows.ts';
import { withAccounted } from './store-accounting.ts';
import { storeSummaries } from './store-summaries.ts';
import { SUBMITTING } from './submitting.ts';

export interface Submitted {
  /** planned: it would be stored. stored: it is new there. present: it was there already, and nothing was changed. replaced: as asked, or it has ended since. */
  outcome: 'stored' | 'present' | 'replaced' | 'planned';
  /** The job's number in the database. */
  job: number;
  processes: number;
  threads: number;
  /** What could not be read of the recording, in words; kept with the job. */
  troubles: readonly string[];
  /** Set when the job is there with other annotations than the recording has now. */
  differs?: 'annotations';
  /** Set when the job is there without something that could not be read, and that is no trouble of the recording now. */
  mended?: true;
}

/** Long arguments are compressed: lz4 takes a fraction of the usual time, where the database has it. */
const QUICK_COMPRESSION = `select set_config(name, 'lz4', true) from pg_settings
  where name = 'default_toast_compression' and 'lz4' = any (enumvals)`;

/** They take longer than a second. */
const MANY_PROCESSES = 30_000;

export interface SubmitOptions {
  /** Put it in the place of what is there. */
  replace?: boolean;
  /** Also when something of it cannot be read: without that, which is kept with the job in words. */
  incomplete?: boolean;
  /** The rules as the configuration has them. */
  rules?: RuleSettings;
  /** Only say what would be stored. */
  dryRun?: boolean;
  /** Where the job came from, if not from the folder of its recording. */
  origin?: string;
}

/**
 * Stores a recording that has ended: all of it or nothing. Two that submit the same job at once do not mix: one of them
 * finds it there. A job that went on when it was stored, after `tacho stop`, is stored again once its end is known.
 */
export async function submitRecording(
  database: Database,
  recording: Recording,
  options: SubmitOptions = {},
): Promise<Submitted> {
  needJob(recording);
  needEnded(recording);
  const stays = (present: Present): boolean => options.replace !== true && !hasEndedSince(present, recording.job);
  const storedJob = await presentJob(database, recording.job);
  if (storedJob !== undefined && stays(storedJob)) return sinceThen(storedJob.submitted, recording);
  const troubles = new Set<string>();
  const whole = wholeOf(recording, options, troubles);
  for (const trouble of troublesOf(recording)) whole(trouble);
  const asRecorded = new Set<string>();
  const set = readProcesses(
    [recording],
    (_, damage) => needReadable(damage, whole),
    ({ name }) => asRecorded.add(name),
  );
  for (const trouble of set.troubles) troubles.add(trouble);
  if (options.dryRun === true)
    return { outcome: 'planned', job: Number.NaN, processes: set.length, threads: Number.NaN, troubles: [...troubles] };
  if (set.length > MANY_PROCESSES) longRun();
  return database.transaction(async () => {
    await database.query(`select pg_advisory_xact_lock_shared($1), (${QUICK_COMPRESSION})`, [SUBMITTING]);
    await database.query('select pg_advisory_xact_lock(hashtextextended($1, 7422411))', [
      keyOf(recording.job).join('\n'),
    ]);
    const present = await presentJob(database, recording.job);
    if (present !== undefined && stays(present)) return sinceThen(present.submitted, recording);
    if (present !== undefined) await database.query('delete from tacho.jobs where job = $1', [present.submitted.job]);
    const kept = present === undefined || options.replace === true ? recording : withWords(recording, present);
    const read: ReadJob = { recording: kept, set, isAsRecorded: (node) => asRecorded.has(node) };
    const { job, threads } = await store(database, read, whole, troubles, options);
    return {
      outcome: present === undefined ? 'stored' : 'replaced',
      job,
      processes: set.length,
      threads,
      troubles: [...troubles],
    };
  });
}

/** A recording of which nobody knows the job could be stored twice, or as another one's. */
export function needJob({ path: folder, job, troubles }: Recording): void {
  const file = path.join(folder, 'job.json');
  const unknown = troubles.find((trouble) => trouble.includes(file));
  if (unknown !== undefined || !fs.existsSync(file)) {
    throw new Fault(unknown ?? `cannot submit ${folder}: it has no job.json, so nobody knows which job it is`, {
      hint: `tacho verify ${folder} says more`,
    });
  }
  if (!Number.isFinite(job.start)) {
    throw new Fault(`cannot submit ${folder}: its job.json does not say when the job began`);
  }
}

const troublesOf = (recording: Recording): string[] => [...recording.troubles, ...lostRecords(recording)];

function wholeOf({ path: folder }: Recording, { incomplete }: SubmitOptions, troubles: Set<string>): NeedWhole {
  return (message, lines = false) => {
    if (incomplete === true) {
      troubles.add(message);
      return;
    }
    const hint = lines
      ? `tacho verify ${folder} sets aside what cannot be read; then it can be submitted without it`
      : 'is there a copy of the file? If there is none, --incomplete submits what can be read';
    throw new Fault(`cannot submit ${folder}: ${message}`, { hint });
  };
}

function needReadable(damage: Damage, whole: NeedWhole): void {
  const lost = damage.unreadable !== undefined || damage.lost_columns !== undefined;
  if (lost || damage.bad_lines > 0) whole(damageText(damage), !lost);
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

/** A job as it is in the database. */
interface Present extends Pick<PresentRow, 'state' | 'annotations' | 'tags'> {
  submitted: Submitted;
}

/** How it ended was not known when it was stored, and is now. */
const hasEndedSince = ({ state }: Present, job: Job): boolean => isOpen(state) && !isOpen(job.state);
const isOpen = (state: string): boolean => state === 'running' || state === 'unknown';

/** The recording with what was said of its job in the database, which nobody asked to be given up. */
function withWords(recording: Recording, { annotations, tags }: Present): Recording {
  const { job } = recording;
  const notes = { annotations: { ...job.annotations, ...annotations }, tags: { ...job.tags, ...tags } };
  return { ...recording, job: { ...job, ...notes } };
}

/** Undefined: it is not there. */
async function presentJob(database: Database, job: Job): Promise<Present | undefined> {
  const { rows } = await database.query<PresentRow>(
    `select job, processes, threads, troubles, state, annotations, tags, annotations = $5::jsonb as same from tacho.jobs
      where cluster = $1 and id = $2 and restart = $3 and start_time = ${moment('$4')}`,
    [...keyOf(job), storableJson(job.annotations ?? {})],
  );
  const [presentRow] = rows;
  if (presentRow === undefined) return undefined;
  const { job: number, same, state, annotations, tags, ...rest } = presentRow;
  const differs = same ? {} : { differs: 'annotations' as const };
  return { submitted: { outcome: 'present', job: Number(number), ...rest, ...differs }, state, annotations, tags };
}

function sinceThen(present: Submitted, recording: Recording): Submitted {
  if (present.troubles.length === 0) return present;
  const set = readProcesses([recording]);
  const now = new Set([...troublesOf(recording), ...set.troubles].map(storable));
  readAllThreads(recording, set, (_, damage) => now.add(storable(damageText(damage))));
  return present.troubles.every((trouble) => now.has(trouble)) ? present : { ...present, mended: true };
}

interface PresentRow {
  job: string;
  processes: number;
  threads: number;
  troubles: string[];
  state: string;
  annotations: Record<string, string>;
  tags: Record<string, string>;
  same: boolean;
}

/** A parameter in epoch microseconds as a time, exactly. */
const moment = (parameter: string): string => `(timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond')`;

/** A recording, and what was read of it already. */
interface ReadJob {
  recording: Recording;
  set: ProcessSet;
  isAsRecorded: (node: string) => boolean;
}

async function store(
  database: Database,
  { recording, set, isAsRecorded }: ReadJob,
  whole: NeedWhole,
  troubles: Set<string>,
  { rules, origin = path.resolve(recording.path) }: SubmitOptions,
): Promise<{ job: number; threads: number }> {
  const { threads, lone, metrics } = readOwnThreads(recording, set, {
    isAsRecorded,
    ofProcesses: NOT_OF_THREADS,
    damaged(_, damage) {
      needReadable(damage, whole);
      troubles.add(damageText(damage));
    },
  });
  const threadCount = lone.reduce((sum, each) => sum + each, threads.length);
  await storeUsers(database, recording.job, set);
  const job = await storeJob(database, recording, set, origin);
  const number = { columns: ['job'], write: (to) => to.bigint(job) } satisfies Written;
  // the database stores while more of the program is loaded, and what follows is worked out
  const { operations, report, measured, summaries } = await beside(
    database,
    inTurn([
      () => copyIn(database, 'processes', set.length, [number, ...processColumns(set, lone)]),
      () => copyIn(database, 'thread_rows', threads.length, [number, ...threadColumns(threads)]),
    ]),
    async (pause) => {
      await pause();
      const { taggedOperations, conclude } = await loadAsUsual(() => import('./conclude.ts'));
      await pause();
      const operations = taggedOperations(set);
      await pause();
      return { operations, ...(await conclude({ recording, set, whole, origin, rules, pause })) };
    },
  );
  await copyIn(database, 'operations', operations.length, [number, ...operationColumns(operations)]).ended;
  await storeHosts(database, job, recording);
  await database.query(
    `update tacho.jobs set threads = $2, thread_metrics = $3, summary = $4, findings = $5, report = $6, measured = $7, troubles = $8
      where job = $1`,
    [
      job,
      threadCount,
      metrics.map(storable),
      storableJson(report.summary),
      storableJson(report.findings),
      storableJson(report),
      storableJson(Object.fromEntries(measured)),
      [...troubles].map(storable),
    ],
  );
  await storeSummaries(database, job, await withAccounted(database, summaries));
  return { job, threads: threadCount };
}

/** Works beside a copy. Both have ended before the failure of one is told; that of the copy comes first. */
async function beside<T>(database: Database, copy: Copy, work: (pause: () => Promise<void>) => Promise<T>): Promise<T> {
  const [copied, worked] = await Promise.allSettled([copy.ended, work(pausesOf(database, copy))]);
  if (copied.status === 'rejected') throw copied.reason;
  if (worked.status === 'rejected') throw worked.reason;
  return worked.value;
}

async function storeUsers(database: Database, job: Job, set: ProcessSet): Promise<void> {
  const users = [...new Set([job.user, ...set.user])].map(storable).sort();
  await database.query('insert into tacho.users (name) select unnest($1::text[]) on conflict do nothing', [users]);
  if (job.uid < 0) return;
  await database.query('update tacho.users set uid = $2 where name = $1 and uid is null', [
    storable(job.user),
    job.uid,
  ]);
}

/** The job, with what its processes say; what follows from the rest comes later in the same transaction. */
async function storeJob(database: Database, recording: Recording, set: ProcessSet, origin: string): Promise<number> {
  const { job } = recording;
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
    ['processes', set.length],
    ['cpu_time', cpu],
    ['metrics', [...set.metrics.keys()].map(storable)],
    ['troubles', []],
    ['recording', storable(origin)],
  ];
  const placeholders = columns.map(([, , as], i) => (as === 'moment' ? moment(`$${i + 1}`) : `$${i + 1}`));
  const { rows } = await database.query<{ job: string }>(
    `insert into tacho.jobs (${columns.map(([column]) => column).join(', ')}) values (${placeholders.join(', ')}) returning job`,
    columns.map(([, value]) => value),
  );
  return Number(rows[0]!.job);
}

/** Last, because whoever changes the facts of a host makes others wait until the end of the transaction. */
async function storeHosts(database: Database, job: number, { job: facts, nodes }: Recording): Promise<void> {
  const agents = new Map(nodes.map((node) => [storable(node.name), node.agent]));
  const names = [...new Set([...facts.nodes.map(storable), ...agents.keys()])].sort();
  const hostFacts = names.map((name) => storableJson(agents.get(name)?.facts ?? {}));
  const texts = names.map((name) => {
    const agent = agents.get(name);
    return agent === undefined ? null : storableJson({ ...agent, tables: agent.tables.map((table) => table.name) });
  });
  await database.query(
    'insert into tacho.hosts (name, facts) select * from unnest($1::text[], $2::jsonb[]) on conflict do nothing',
    [names, hostFacts],
  );
  await database.query(
    'insert into tacho.job_hosts (job, host, agent) select $1, host, agent from unnest($2::text[], $3::jsonb[]) as t(host, agent)',
    [job, names, texts],
  );
  await database.query(
    `update tacho.hosts set facts = new.facts from unnest($1::text[], $2::jsonb[]) as new(name, facts)
      where hosts.name = new.name and new.facts <> '{}' and hosts.facts is distinct from new.facts`,
    [names, hostFacts],
  );
}
