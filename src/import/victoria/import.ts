import * as fs from 'node:fs';
import { greatest, smallest } from '../../base/extremes.ts';
import { Fault, usage } from '../../base/fault.ts';
import { VERSION } from '../../base/version.ts';
import { defaultFolder } from '../../jobs/schedulers/job-facts.ts';
import { EVER, openStore, type Store } from '../../query/store/client.ts';
import type { StoredSeries } from '../../query/store/export-lines.ts';
import { listStored } from '../../query/store/list.ts';
import { findJobs, jobsWithId } from '../../query/store/records.ts';
import { duration, quoted } from '../../query/store/selector.ts';
import { FORMAT, type Job } from '../../recording/folder/job.ts';
import { byName } from '../../recording/folder/open.ts';
import { importedAgent, intervalOf } from '../series/agent.ts';
import { SealedRecording } from '../series/write.ts';
import { isDataFolder, type OpenedFolder, openDataFolder } from './data-folder.ts';
import { nodeLabel, nodeOf, tablesOf } from './others.ts';
import { type Imported, importStored } from './own.ts';

export interface VictoriaOptions {
  /** Where the recordings go. */
  folder: string;
  /** Only these jobs of Tacho's. */
  jobs?: readonly string[];
  /** Instead: whatever matches, as one recording. */
  match?: string;
  /** Epoch microseconds. */
  from?: number;
  to?: number;
  signal?: AbortSignal;
  /** Called after each job or node. */
  progress?: () => void;
}

/** Makes recordings of what a VictoriaMetrics holds: jobs that Tacho pushed, or any series as one recording. */
export async function importVictoria(source: string, options: VictoriaOptions): Promise<Imported[]> {
  if (options.jobs !== undefined && options.jobs.length > 0 && options.match !== undefined) {
    throw usage('either --job or --match', '--job names jobs that Tacho pushed; --match takes any series');
  }
  const { store, close } = await openSource(source, options.folder);
  try {
    if (options.match !== undefined) return [await importOthers(store, source, options.match, options)];
    const ids = options.jobs ?? [];
    if (ids.length > 0) return await importJobs(store, ids, options);
    const all = await listStored(store, options);
    if (all.length > 0) return await importJobs(store, [...new Set(all.map(({ job }) => job))], options, jobsWithId);
    return [await importOthers(store, source, '{__name__!=""}', options)];
  } finally {
    await close();
  }
}

/** A store by its address, or over a copy of its data folder. */
export async function openSource(source: string, scratch: string): Promise<OpenedFolder> {
  if (/^https?:\/\//.test(source)) return { store: openStore(source), close: async () => {} };
  if (!fs.existsSync(source)) {
    throw usage(
      `there is no ${source}`,
      'give the address of a VictoriaMetrics (http://vm:8428) or its data folder (-storageDataPath)',
    );
  }
  if (!isDataFolder(source)) {
    throw new Fault(`${source} is not a data folder of VictoriaMetrics: it lacks data and indexdb`, {
      hint: 'it is the folder that -storageDataPath names',
    });
  }
  return openDataFolder(source, scratch);
}

async function importJobs(
  store: Store,
  ids: readonly string[],
  options: VictoriaOptions,
  find = findJobs,
): Promise<Imported[]> {
  const imported: Imported[] = [];
  for (const id of ids) {
    for (const stored of await find(store, id)) {
      options.signal?.throwIfAborted();
      imported.push(await importStored(stored, options.folder, options.signal));
      options.progress?.();
    }
  }
  return imported;
}

/** Any series, a node at a time. */
async function importOthers(store: Store, source: string, match: string, options: VictoriaOptions): Promise<Imported> {
  const from = options.from === undefined ? EVER : Math.floor(options.from / 1000);
  const to = options.to === undefined ? Date.now() : Math.ceil(options.to / 1000);
  const groups = await nodesOf(store, match, from, to);
  if (groups.size === 0) {
    const what = match === '{__name__!=""}' ? 'nothing' : `nothing that matches ${match}`;
    throw new Fault(`${source} holds ${what}${options.from === undefined ? '' : ' in that time'}`, {
      hint: `--match '{__name__=~"node_.+"}' chooses by names and labels as in PromQL`,
    });
  }
  const start = new Date(Math.max(from, (await firstSample(store, match, from, to)) ?? from));
  const id = `victoria-${start.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}`;
  const recording = new SealedRecording(options.folder, defaultFolder({ id }));
  try {
    const spans: { name: string; first: number; last: number; interval: number }[] = [];
    for (const [name, matches] of [...groups].sort(([a], [b]) => byName(a, b))) {
      options.signal?.throwIfAborted();
      spans.push({ name, ...(await importNode(store, name, matches, from, to, recording, source)) });
      options.progress?.();
    }
    const job: Job = {
      format: FORMAT,
      tacho: VERSION,
      id,
      scheduler: 'none',
      name: match === '{__name__!=""}' ? source : match,
      user: '',
      uid: -1,
      asked: {},
      nodes: spans.map((span) => span.name),
      interval_seconds: smallest(spans.map((span) => span.interval)),
      start: smallest(spans.map((span) => span.first)),
      end: greatest(spans.map((span) => span.last)),
      state: 'unknown',
      tags: {},
      environment: {},
    };
    const { rows } = recording;
    return { recording: recording.finish(job), job: id, nodes: job.nodes, rows, notes: [] };
  } catch (error) {
    recording.abandon();
    throw error;
  }
}

/** For each node the selectors of its series. */
async function nodesOf(store: Store, match: string, from: number, to: number): Promise<Map<string, string[]>> {
  const conditionsByNode = new Map<string, Set<string>>();
  for (const labels of await store.series(match, from, to)) {
    const node = nodeOf(labels) || 'unknown';
    const label = nodeLabel(labels);
    const condition = label === undefined ? '' : `${label}=${quoted(labels[label]!)}`;
    conditionsByNode.set(node, (conditionsByNode.get(node) ?? new Set()).add(condition));
  }
  const wholeMatch = match.endsWith('}') ? match.slice(0, -1) : `${match}{`;
  const comma = wholeMatch.endsWith('{') ? '' : ',';
  return new Map(
    [...conditionsByNode].map(([node, conditions]) => [
      node,
      [...conditions].map((condition) => (condition === '' ? match : `${wholeMatch}${comma}${condition}}`)),
    ]),
  );
}

async function firstSample(store: Store, match: string, from: number, to: number): Promise<number | undefined> {
  const firstSamples = await store.query(`min(tfirst_over_time(${match}[${duration(to - from)}]))`, to);
  return firstSamples[0] === undefined ? undefined : firstSamples[0].value * 1000;
}

async function importNode(
  store: Store,
  name: string,
  matches: readonly string[],
  from: number,
  to: number,
  recording: SealedRecording,
  source: string,
): Promise<{ first: number; last: number; interval: number }> {
  const all: StoredSeries[] = [];
  for (const match of matches) {
    for await (const series of store.samples(match, from, to)) {
      if ((nodeOf(series.labels) || 'unknown') === name) all.push(series);
    }
  }
  const interval = intervalOf(all.map(({ times }) => times));
  const batches = tablesOf(all);
  let bytes = 0;
  for (const batch of batches) bytes += recording.table(name, batch, interval);
  const first = smallest(all.map(({ times }) => times[0]!)) * 1000;
  const last = greatest(all.map(({ times }) => times.at(-1)!)) * 1000;
  const ticks = greatest(batches.map(({ rows, series }) => Math.ceil(rows / Math.max(1, series.length - 1))));
  const tables = batches.map(({ table }) => table);
  recording.agent(importedAgent({ node: name, from: source, interval, first, last, ticks, tables, bytes }));
  return { first, last, interval };
}
