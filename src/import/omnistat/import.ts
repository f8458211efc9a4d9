import * as path from 'node:path';
import { greatest, smallest } from '../../base/extremes.ts';
import { Fault, usage } from '../../base/fault.ts';
import { suggest } from '../../base/suggest.ts';
import { VERSION } from '../../base/version.ts';
import { defaultFolder, plain } from '../../jobs/schedulers/job-facts.ts';
import type { StoredSeries } from '../../query/store/export-lines.ts';
import { FORMAT, type Job } from '../../recording/folder/job.ts';
import { byName } from '../../recording/folder/open.ts';
import type { Note } from '../../sources/host.ts';
import { importedAgent, intervalOf } from '../series/agent.ts';
import { SealedRecording } from '../series/write.ts';
import type { Imported } from '../victoria/own.ts';
import { type OmnistatJob, readJobs } from './jobs.ts';
import { type OmnistatSource, openOmnistat } from './source.ts';
import { omnistatTables } from './tables.ts';

export interface OmnistatOptions {
  /** Where the recordings go. */
  folder: string;
  /** Only these jobs; of exported files: what the job is called. */
  jobs?: readonly string[];
  signal?: AbortSignal;
  /** Called after each job. */
  progress?: () => void;
}

/** Makes recordings of what Omnistat recorded, one a job. */
export async function importOmnistat(sourceText: string, options: OmnistatOptions): Promise<Imported[]> {
  const source = await openOmnistat(sourceText, options.folder);
  try {
    // says so when there is nothing of Omnistat's
    const instances = await source.instances();
    const all = await readJobs(source);
    const jobs =
      all.length > 0
        ? wanted(all, options.jobs, sourceText)
        : [await unnamedJob(source, instances, sourceText, options)];
    const imported: Imported[] = [];
    for (const job of jobs) {
      options.signal?.throwIfAborted();
      imported.push(await importJob(source, job, sourceText, options.folder));
      options.progress?.();
    }
    return imported;
  } finally {
    await source.close();
  }
}

function wanted(all: readonly OmnistatJob[], ids: readonly string[] | undefined, source: string): OmnistatJob[] {
  if (ids === undefined || ids.length === 0) return [...all];
  return ids.map((id) => {
    const wantedJob = all.find((job) => job.id === id);
    if (wantedJob !== undefined) return wantedJob;
    const jobIds = all.map((job) => job.id);
    const meant = suggest(id, jobIds);
    throw usage(
      `there is no job ${id} in ${source}`,
      meant === undefined ? `there are ${jobIds.slice(0, 8).join(', ')}` : `did you mean ${meant}?`,
    );
  });
}

/** Without rmsjob_info everything is one job: exported files are of one. */
async function unnamedJob(
  source: OmnistatSource,
  instances: readonly string[],
  sourceText: string,
  { jobs = [] }: OmnistatOptions,
): Promise<OmnistatJob> {
  if (jobs.length > 1) throw usage('what is in there is one job', 'give one --job: it says what the job is called');
  const nodes: OmnistatJob['nodes'] = new Map();
  const times: Float64Array[] = [];
  for (const instance of instances) {
    const span = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
    for await (const series of source.samples({ instance })) {
      if (series.times.length === 0) continue;
      span.from = Math.min(span.from, series.times[0]!);
      span.to = Math.max(span.to, series.times.at(-1)!);
      if (times.length < 100) times.push(series.times);
    }
    if (span.to >= span.from) nodes.set(instance, span);
  }
  if (nodes.size === 0) throw new Fault(`${sourceText} has names of Omnistat's metrics, but no samples`);
  const spans = [...nodes.values()];
  return {
    id: jobs[0] ?? plain(path.basename(sourceText).replace(/\.csv$/, '')),
    user: '',
    partition: '',
    scheduler: 'none',
    nodes,
    from: smallest(spans.map((span) => span.from)),
    to: greatest(spans.map((span) => span.to)),
    interval: intervalOf(times),
    steps: [],
  };
}

async function importJob(
  source: OmnistatSource,
  job: OmnistatJob,
  sourceText: string,
  folder: string,
): Promise<Imported> {
  const recording = new SealedRecording(folder, defaultFolder({ id: job.id }));
  try {
    const names = [...job.nodes.keys()].sort(byName);
    const notes = new Set<string>();
    for (const name of names) {
      for (const { what, why } of await importNode(source, job, name, sourceText, recording))
        notes.add(`${what}: ${why}`);
    }
    const { rows } = recording;
    const facts = jobOf(job, names);
    return { recording: recording.finish(facts), job: job.id, nodes: names, rows, notes: [...notes] };
  } catch (error) {
    recording.abandon();
    throw error;
  }
}

async function importNode(
  source: OmnistatSource,
  job: OmnistatJob,
  name: string,
  sourceText: string,
  recording: SealedRecording,
): Promise<readonly Note[]> {
  const { from, to } = job.nodes.get(name)!;
  const all: StoredSeries[] = [];
  for await (const series of source.samples({ instance: name, from, to }))
    if (series.times.length > 0) all.push(series);
  const { batches, facts, notes } = omnistatTables(all, job.id);
  let bytes = 0;
  for (const batch of batches) bytes += recording.table(name, batch, job.interval);
  const tables = batches.map(({ table }) => table).filter((table) => table.events !== true);
  const ticks = Math.max(0, ...all.map(({ times }) => times.length));
  recording.agent(
    importedAgent({
      node: name,
      from: `Omnistat (${sourceText})`,
      interval: job.interval,
      first: from * 1000,
      last: to * 1000,
      ticks,
      tables,
      facts,
      notes,
      bytes,
    }),
  );
  return notes;
}

function jobOf(job: OmnistatJob, nodes: string[]): Job {
  return {
    format: FORMAT,
    tacho: VERSION,
    id: job.id,
    scheduler: job.scheduler,
    name: '',
    user: job.user,
    uid: -1,
    ...(job.partition === '' ? {} : { partition: job.partition }),
    asked: job.asked === undefined ? {} : { nodes: job.asked },
    nodes,
    interval_seconds: job.interval,
    start: job.from * 1000,
    end: job.to * 1000,
    // how it ended is not among what Omnistat stores
    state: 'unknown',
    ...(job.steps.length === 0 ? {} : { steps: job.steps }),
    tags: { from: 'omnistat' },
    environment: {},
  };
}
