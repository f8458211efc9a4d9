import { append } from '../../base/extremes.ts';
import { Fault } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { warn } from '../../base/warn.ts';
import type { Listed } from '../../recording/folder/list.ts';
import { byName } from '../../recording/folder/open.ts';
import { EVER, type Labels, type SeriesValue, type Store } from './client.ts';
import { jobsWithId } from './records.ts';
import { duration } from './selector.ts';

/** A job that says nothing for so long does not run any more: facts are said once a minute. */
const SILENT_SECONDS = 180;

/** Nodes of one job begin it within so long a time. */
const SAME_SECONDS = 600;

/** Names of more nodes would take longer than all the rest. */
const MOST_HOSTS = 20_000;

/** By which jobs are told apart. */
const JOB_LABELS = ['job', 'user', 'recorded_by', 'restart'];

export interface ListOptions {
  /** Epoch microseconds: only what ran then. */
  from?: number;
  to?: number;
  /** Also the names of the nodes, unless there are very many. */
  hosts?: boolean;
}

/** The jobs that a store knows, oldest first: a handful of queries, however many there are. */
export async function listStored(store: Store, options: ListOptions = {}, now = Date.now()): Promise<Listed[]> {
  const to = options.to === undefined ? now : Math.min(now, Math.ceil(options.to / 1000));
  const window = duration(to - (options.from === undefined ? EVER : Math.floor(options.from / 1000)));
  const ask = (expression: string): Promise<SeriesValue[]> => store.query(expression.replaceAll('$window', window), to);
  const started = 'tacho_job_start_timestamp_seconds{job!=""}[$window]';
  const ended = 'tacho_job_end_timestamp_seconds{job!=""}[$window]';
  const each = `by (${JOB_LABELS.join(', ')})`;
  const [infos, starts, ends, states, nodes, changed, spread] = await Promise.all([
    ask(`max by (${[...JOB_LABELS, 'name'].join(', ')}) (tlast_over_time(tacho_job_info{job!=""}[$window]))`),
    ask(`min ${each} (last_over_time(${started}))`),
    ask(`max ${each} (last_over_time(${ended}))`),
    ask(`max by (${[...JOB_LABELS, 'state'].join(', ')}) (tlast_over_time(tacho_job_state{job!=""}[$window]))`),
    ask(`count ${each} (last_over_time(${started}))`),
    ask(`max ${each} (changes(${started})) > 0`),
    ask(`max ${each} (max_over_time(${started})) - min ${each} (min_over_time(${started})) > ${SAME_SECONDS}`),
  ]);
  const hosts = new Map<string, string[]>();
  if (options.hosts === true && nodes.reduce((sum, { value }) => sum + value, 0) <= MOST_HOSTS)
    for (const { labels } of await ask(`count by (${[...JOB_LABELS, 'node'].join(', ')}) (last_over_time(${started}))`))
      if (labels.node) hosts.set(keyOf(labels), [...(hosts.get(keyOf(labels)) ?? []), labels.node]);
  const newest = newestOf(infos);
  const [start, end, count] = [starts, ends, nodes].map((all) => new Map(all.map((a) => [keyOf(a.labels), a.value])));
  const state = newestOf(states);
  const users = Map.groupBy(infos, ({ labels }) => labels.job);
  const listedJobs = [...newest.values()].map(({ labels, value }): Listed => {
    const began = ofJob(start!, labels);
    const last = ofJob(end!, labels);
    // an id that was used again: that is how the job before has ended
    const over = last !== undefined && began !== undefined && last < began ? undefined : last;
    const alive = over === undefined && now / 1000 - value < SILENT_SECONDS;
    const restart = labels.restart === undefined ? '' : `r${labels.restart}`;
    const own = labels.recorded_by === undefined ? '' : '+own';
    const isShared = users.get(labels.job)!.some((other) => other.labels.user !== labels.user);
    return {
      path: `${store.name}#${isShared ? `${labels.user}/` : ''}${labels.job}${restart}${own}`,
      job: labels.job!,
      name: labels.name ?? '',
      user: labels.user ?? '',
      ...(began === undefined ? {} : { start: Math.round(began * 1e6) }),
      // without an end, the last that anybody said
      ...(alive ? {} : { end: Math.round((over ?? value) * 1e6) }),
      nodes: ofJob(count!, labels) ?? 0,
      ...stated({ hosts: ofJob(hosts, labels)?.sort(byName) }),
      state: alive ? 'running' : 'ended',
      job_state: ofJob(state, labels)?.labels.state ?? 'unknown',
    };
  });
  const again = new Set([...changed, ...spread].flatMap(({ labels }) => labels.job ?? []));
  const single = listedJobs.filter(({ job }) => !again.has(job));
  // what these series say of an id that was used again is the newest job's: its records tell of all
  for (const id of again) {
    const newest = listedJobs.filter(({ job }) => job === id);
    // a record that cannot be used hides no other job
    append(single, await runsInStore(store, id, now, options).catch((error: unknown) => notWhole(error, newest)));
  }
  return single.sort((a, b) => (a.start ?? 0) - (b.start ?? 0) || (a.path < b.path ? -1 : 1));
}

function notWhole<T>(error: unknown, instead: T): T {
  if (!(error instanceof Fault)) throw error;
  warn(`${error.message}; the list has what is known without it`);
  return instead;
}

/** Each job of an id. */
async function runsInStore(store: Store, id: string, now: number, { hosts }: ListOptions): Promise<Listed[]> {
  return (await jobsWithId(store, id, now)).map(({ recording, to }): Listed => {
    const { job, path, nodes } = recording;
    const silent = (now - to) / 1000 > SILENT_SECONDS;
    const end = job.end ?? (silent ? to * 1000 : undefined);
    return {
      path,
      job: job.id,
      name: job.name,
      user: job.user,
      start: job.start,
      ...(end === undefined ? {} : { end }),
      nodes: nodes.length,
      ...(hosts === true ? { hosts: nodes.map(({ name }) => name) } : {}),
      state: end === undefined ? 'running' : 'ended',
      job_state: job.state,
    };
  });
}

const keyOf = (labels: Labels): string => JOB_LABELS.map((name) => labels[name] ?? '').join('\n');

/** What is known of a job. Old series do not say whose they are. */
function ofJob<T>(byJob: ReadonlyMap<string, T>, labels: Labels): T | undefined {
  return byJob.get(keyOf(labels)) ?? byJob.get(keyOf({ ...labels, user: '' }));
}

/** For each job the answer with the greatest value: what was said last counts. */
function newestOf(seriesValues: readonly SeriesValue[]): Map<string, SeriesValue> {
  const newestByKey = new Map<string, SeriesValue>();
  for (const seriesValue of seriesValues) {
    const key = keyOf(seriesValue.labels);
    const newest = newestByKey.get(key);
    // nodes that end one after the other say so in the same moment
    const later = newest === undefined ? true : seriesValue.value - newest.value;
    if (later === true || later > 0 || (later === 0 && newest!.labels.state === 'running'))
      newestByKey.set(key, seriesValue);
  }
  return newestByKey;
}
