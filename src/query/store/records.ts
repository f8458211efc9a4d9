import { Fault } from '../../base/fault.ts';
import { formatMoment } from '../../base/moment.ts';
import { suggest } from '../../base/suggest.ts';
import { mergeJobs } from '../../hub/receive/merge-job.ts';
import { unpackRecord } from '../../prometheus/record-labels.ts';
import { AGENT_NEEDS, type AgentRecord } from '../../recording/folder/agent-record.ts';
import { JOB_NEEDS, type Job } from '../../recording/folder/job.ts';
import { byName, type NodeRecording, type Recording } from '../../recording/folder/open.ts';
import { shaped } from '../../recording/folder/shape.ts';
import type { Table } from '../../table/table.ts';
import { units } from '../../table/unit.ts';
import { EVER, type SeriesValue, type Store } from './client.ts';
import { duration, ownerOf, quoted, type Which } from './selector.ts';

/** A job in a store: what its job.json and agent.json say, and no files. */
export interface StoredJob {
  store: Store;
  recording: Recording;
  /** Whose series its are. */
  owner: Which;
  /** Epoch milliseconds between which all its samples lie. */
  from: number;
  to: number;
  /** 2 for the second job with this id and restart, 3 for the third: numbers begin again when a scheduler is set up anew. */
  run?: number;
}

/** A job that still runs may be a little ahead of this machine's clock. */
const SLACK_MILLISECONDS = 60_000;

/**
 * Every job of this id that the store knows: more than one when it was restarted, the id was used again, or several users
 * have one. By start. `4711r1` names one restart, `4711.2` the second job of an id that was used again, `4711.1` the
 * first, `ada/4711` the one of a user. What a user recorded is `4711+own`, and meant by `4711` when there is nothing else.
 */
export async function findJobs(store: Store, id: string, now = Date.now()): Promise<StoredJob[]> {
  const [, user, base = '', restart, own, run] = NAME.exec(id) ?? [];
  const jobs = await jobsWithId(store, id, now);
  if (jobs.length > 0) {
    const ofCluster = jobs.filter((job) => !isOwn(job));
    return ofCluster.length > 0 ? ofCluster : jobs;
  }
  const all = base === id || base === '' ? [] : await jobsWithId(store, base, now);
  if (all.length === 0) throw await noSuchJob(store, id, now);
  const chosen = all.filter(
    (job) =>
      (user === undefined || job.recording.job.user === user) &&
      isOwn(job) === (own !== undefined) &&
      (job.recording.job.restart ?? 0) === Number(restart ?? 0) &&
      (run === undefined || (job.run ?? 1) === Number(run)),
  );
  if (chosen.length > 0) return chosen;
  throw new Fault(`${store.name} knows job ${base}, but not as ${id}`, { exit: 2, hint: `there are ${runsOf(all)}` });
}

/** A user, an id, a restart, whether the user recorded it, a run. */
const NAME = /^(?:([^/]+)\/)?(.+?)(?:r(\d+))?(\+own)?(?:\.(\d+))?$/;

const isOwn = ({ recording }: StoredJob): boolean => recording.job.recorded_by === 'user';

const whoseOf = ({ recording: { job } }: StoredJob): string => `${job.user} ${job.recorded_by ?? ''}`;

/** How runs of one id are called, and when they began. */
export function runsOf(jobs: readonly StoredJob[]): string {
  const name = ({ recording, run }: StoredJob): string => {
    const path = recording.path.slice(recording.path.lastIndexOf('#') + 1);
    // what is called like the id itself would mean all of them
    return path === recording.job.id ? `${path}${recording.job.restart ? '' : `.${run ?? 1}`}` : path;
  };
  return jobs.map((job) => `${name(job)} (${formatMoment(job.recording.job.start)})`).join(', ');
}

/** Each job of exactly this id, whoever's and whoever recorded it. */
export async function jobsWithId(store: Store, id: string, now = Date.now()): Promise<StoredJob[]> {
  const recordPieces = await store.query(
    `last_over_time(tacho_record{job=${quoted(id)}}[${duration(now - EVER)}])`,
    now,
  );
  const jobs = jobsOf(store, recordPieces, now);
  if (jobs.length === 0 && recordPieces.length > 0)
    throw new Fault(`the record of job ${id} in ${store.name} is not whole`);
  return jobs;
}

async function noSuchJob(store: Store, id: string, now: number): Promise<Fault> {
  const countedSeries = await store.query(`count(last_over_time({job=${quoted(id)}}[${duration(now - EVER)}]))`, now);
  if (countedSeries.length > 0) {
    return new Fault(`${store.name} has samples of job ${id}, but not its record`, {
      hint: 'a report needs what an agent or hub pushes (victoria.url); what was only scraped lacks it',
    });
  }
  const jobIdsInStore = await jobIds(store, now);
  const meant = suggest(id, jobIdsInStore);
  return new Fault(`${store.name} knows no job ${id}`, {
    exit: 2,
    hint:
      jobIdsInStore.length === 0
        ? 'it has no job at all that Tacho pushed: is it the right store, and does its -retentionPeriod reach so far back?'
        : meant === undefined
          ? `it may be older than the store keeps (-retentionPeriod); tacho list --store ${store.name} shows what is there`
          : `did you mean ${meant}? tacho list --store ${store.name} shows what is there`,
  });
}

async function jobIds(store: Store, now: number): Promise<string[]> {
  const jobSeries = await store.query(`count by (job) (last_over_time(tacho_job_info[${duration(now - EVER)}]))`, now);
  return jobSeries.flatMap(({ labels }) => labels.job ?? []);
}

/** One series of a record in a store: the text of a piece, and when it was said. */
interface Piece {
  revision: number;
  position: number;
  text: string;
}

/** Bytes of one record that are unpacked, of its newest revisions; more is an attack. */
const MOST_TEXT = 64 << 20;
const MOST_REVISIONS = 5000;

interface FoundRecord {
  node: string;
  restart: string;
  record: string;
  /** Labels that are on every series of the site. */
  labels: Record<string, string>;
  value: Lasting;
}

/** Each record by all that is not the record itself, in its newest whole revision; of several runs of an id, each one's. */
function recordsOf(seriesValues: readonly SeriesValue[]): FoundRecord[] {
  const whose = ({ labels }: SeriesValue): [string, string][] =>
    Object.entries(labels)
      .filter(([name]) => !['__name__', 'piece', 'pieces', 'text'].includes(name))
      .sort();
  const groups = Map.groupBy(seriesValues, (seriesValue) => JSON.stringify(whose(seriesValue)));
  // the nodes of a job say the same of it
  const unpacked = new Map<string, object | undefined>();
  const unpack = (packed: string): object | undefined => {
    if (!unpacked.has(packed)) unpacked.set(packed, unpackRecord([packed]));
    return unpacked.get(packed);
  };
  return [...groups.values()].flatMap((group) => {
    const { node = '', restart = '', record = '', job: _, ...labels } = Object.fromEntries(whose(group[0]!));
    return newestOfRuns(group, unpack).map((value) => ({ node, restart, record, labels, value }));
  });
}

/** When a record's job or agent began and ended, epoch microseconds. */
type Lasting = object & { start?: number; end?: number };

/** The newest record first; then what had ended before the run of any newer one began. */
function newestOfRuns(group: readonly SeriesValue[], unpack: (packed: string) => object | undefined): Lasting[] {
  // revisions may differ in how many pieces they take
  const sizes = Map.groupBy(group, ({ labels }) => Number(labels.pieces));
  const tries = [...sizes].flatMap(([size, sameSize]) => revisionsOf(size, sameSize));
  const runs: Lasting[] = [];
  let left = MOST_TEXT;
  for (const { text } of tries.sort((a, b) => b.revision - a.revision).slice(0, MOST_REVISIONS)) {
    const packed = text();
    left -= packed.length;
    if (left < 0) break;
    const value: Lasting | undefined = unpack(packed);
    if (value === undefined) continue;
    // what nobody saw end is another run when the next one began much later
    const over = value.end ?? (value.start ?? Number.NaN) + SAME_MICROSECONDS;
    if (runs.every(({ start = Number.NaN }) => start > over)) runs.push(value);
  }
  return runs;
}

/** The whole revisions among answers that say that a record has so many pieces. */
function revisionsOf(size: number, sameSize: readonly SeriesValue[]): { revision: number; text: () => string }[] {
  // who says that there are more pieces than there are has not sent all of them
  if (!(size > 0 && size <= sameSize.length)) return [];
  const piecesOfRecord: Piece[][] = Array.from({ length: size }, () => []);
  for (const { labels, value } of sameSize)
    piecesOfRecord[Number(labels.piece)]?.push({
      revision: value,
      position: Number(labels.piece),
      text: labels.text ?? '',
    });
  for (const newestFirst of piecesOfRecord) newestFirst.sort((a, b) => b.revision - a.revision);
  // the first revision of which all pieces are there
  const first = piecesOfRecord.reduce((latest, newestFirst) => Math.max(latest, oldest(newestFirst)), 0);
  const revisions = new Set(sameSize.map(({ value }) => value).filter((revision) => revision >= first));
  // a record that was sent twice may have some of its pieces from either time
  return [...revisions].map((revision) => ({
    revision,
    text: () => piecesOfRecord.map((newestFirst) => newestUntil(newestFirst, revision)).join(''),
  }));
}

const oldest = (revisions: readonly Piece[]): number => revisions.at(-1)?.revision ?? Number.POSITIVE_INFINITY;

/** By halves: there may be many revisions. */
function newestUntil(revisions: readonly Piece[], revision: number): string {
  let [low, high] = [0, revisions.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (revisions[middle]!.revision <= revision) high = middle;
    else low = middle + 1;
  }
  return revisions[low]!.text;
}

/** Labels were given by whoever pushed, who knows whose it is; what a record says is its user's. */
function asLabelled(job: Job, { user, recorded_by }: Record<string, string>): Job {
  const { recorded_by: _, ...rest } = job;
  return {
    ...rest,
    ...(user === undefined ? {} : { user }),
    ...(recorded_by === 'user' ? { recorded_by } : {}),
  };
}

function jobsOf(store: Store, seriesValues: readonly SeriesValue[], now: number): StoredJob[] {
  const records = recordsOf(seriesValues).map((record) => ({
    ...record,
    whose: JSON.stringify([record.restart, record.labels]),
  }));
  const agents = Map.groupBy(
    records.filter(({ record }) => record === 'agent'),
    ({ node, whose }) => `${node}\n${whose}`,
  );
  interface Entry {
    job: Job;
    nodes: Map<string, NodeRecording>;
    labels: Record<string, string>;
  }
  const jobs = new Map<string, Entry[]>();
  for (const { node, record, labels, whose, value } of records) {
    if (record !== 'job') continue;
    const job = asLabelled(shaped<Job>(value, JOB_NEEDS, []), labels);
    const alike = jobs.get(whose) ?? [];
    jobs.set(whose, alike);
    // an id that was used again years later is another job; nodes may differ by a little on when theirs began
    const [existingEntry] = alike
      .filter((other) => sameJob(other.job, job) && !other.nodes.has(node))
      .sort((a, b) => Math.abs(a.job.start - job.start) - Math.abs(b.job.start - job.start));
    const entry = existingEntry ?? { job, nodes: new Map(), labels };
    if (existingEntry === undefined) alike.push(entry);
    else entry.job = mergeJobs(entry.job, job);
    const agent = agents.get(`${node}\n${whose}`)?.find((each) => overlap(each.value, job))?.value;
    const nodeRecording: NodeRecording = { name: node, folder: '', tables: new Map() };
    entry.nodes.set(node, agent === undefined ? nodeRecording : { ...nodeRecording, agent: agentOf(agent) });
  }
  const storedJobs = [...jobs.values()]
    .flat()
    .map(({ job, nodes, labels }) => storedJob(store, job, [...nodes.values()], labels, now))
    .sort((a, b) => a.recording.job.start - b.recording.job.start || byName(whoseOf(a), whoseOf(b)));
  nameUsers(storedJobs);
  for (const runs of Map.groupBy(storedJobs, ({ owner }) => JSON.stringify(owner)).values()) keepApart(runs);
  return storedJobs;
}

/** What an agent said of itself; tables that are no definitions are left out. */
function agentOf(record: object): AgentRecord {
  const agent = shaped<AgentRecord>(record, AGENT_NEEDS, []);
  return { ...agent, tables: agent.tables.filter(isTable) };
}

function isTable(table: unknown): boolean {
  const { name, keys, columns } = (table ?? {}) as Partial<Table>;
  const isNamed = (each: unknown): boolean => typeof (each as { name?: unknown } | null)?.name === 'string';
  if (typeof name !== 'string' || !Array.isArray(keys) || !Array.isArray(columns)) return false;
  return keys.every(isNamed) && columns.every((column) => isNamed(column) && Object.hasOwn(units, column.unit));
}

/** Whose it is, where several users have a job of one id. */
function nameUsers(jobs: readonly StoredJob[]): void {
  if (new Set(jobs.map(({ recording }) => recording.job.user)).size < 2) return;
  for (const { recording } of jobs) recording.path = recording.path.replace(/(?<=#)[^#]*$/, `${recording.job.user}/$&`);
}

/** Nodes whose clocks differ, and agents that are a little late. */
const overlap = (agent: Lasting, { start, end = Number.POSITIVE_INFINITY }: Job): boolean =>
  !((agent.start ?? start) > end + SLACK_MILLISECONDS * 1000 || (agent.end ?? end) < start - SLACK_MILLISECONDS * 1000);

/** Runs of one id have their series in common: each one's samples are those of its time. */
function keepApart(runs: readonly StoredJob[]): void {
  runs.forEach((run, i) => {
    const before = runs[i - 1];
    if (before === undefined) return;
    run.run = i + 1;
    run.recording.path += `.${run.run}`;
    const start = run.from + SLACK_MILLISECONDS;
    const middle = Math.floor((Math.min(before.to - SLACK_MILLISECONDS, start) + start) / 2);
    before.to = Math.min(before.to, middle);
    run.from = Math.max(run.from, middle + 1);
  });
}

const SAME_MICROSECONDS = 600e6;

const sameJob = (a: Job, b: Job): boolean =>
  (a.cluster ?? '') === (b.cluster ?? '') && Math.abs(a.start - b.start) < SAME_MICROSECONDS;

function storedJob(
  store: Store,
  job: Job,
  nodes: NodeRecording[],
  labels: Record<string, string>,
  now: number,
): StoredJob {
  // what happened (process_end …) is not in a store
  for (const { agent, tables } of nodes)
    for (const table of agent?.tables ?? []) if (table.events !== true) tables.set(table.name, { parts: [] });
  nodes.sort((a, b) => byName(a.name, b.name));
  const starts = [job.start, ...nodes.map((node) => node.agent?.start ?? job.start)].filter(Number.isFinite);
  const ends = nodes.map(({ agent }) => agent?.end ?? job.end);
  const until = ends.some((end) => end === undefined)
    ? now * 1000
    : (ends as number[]).reduce((a, b) => Math.max(a, b), job.end ?? 0);
  const restart = job.restart === undefined || job.restart === 0 ? '' : `r${job.restart}`;
  const own = job.recorded_by === undefined ? '' : '+own';
  return {
    store,
    owner: ownerOf(job, labels),
    recording: { path: `${store.name}#${job.id}${restart}${own}`, job, nodes, troubles: [] },
    from: Math.floor(starts.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY) / 1000) - SLACK_MILLISECONDS,
    to: Math.ceil(until / 1000) + SLACK_MILLISECONDS,
  };
}
