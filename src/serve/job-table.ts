import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { summariesOf } from '../history/make/summaries.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import { openRecording } from '../recording/folder/open.ts';
import type { ListedJob } from './api.ts';
import type { Entry } from './catalog.ts';

/** What is still written is summarised again after so long. */
const LIVE_MS = 3000;

/** A row for each job; of one that has not changed since it is worked out once. */
export class JobTable {
  #rows = new Map<string, { row: ListedJob; state: string; until: number }>();

  rows(entries: readonly Entry[]): ListedJob[] {
    return entries.map((entry) => this.#row(entry));
  }

  #row(entry: Entry): ListedJob {
    const kept = this.#rows.get(entry.id);
    const now = performance.now();
    if (kept !== undefined && now < kept.until && kept.state === stateOf(entry.path)) return kept.row;
    const state = stateOf(entry.path);
    const row = rowOf(entry);
    const isLive = row.state === 'running';
    this.#rows.set(entry.id, { row, state, until: isLive ? now + LIVE_MS : Number.POSITIVE_INFINITY });
    return row;
  }
}

const stateOf = (folder: string): string => {
  const time = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return `${time(folder)} ${time(path.join(folder, 'job.json'))}`;
};

function rowOf({ id, path: folder }: Entry): ListedJob {
  const none = {
    id,
    path: folder,
    name: path.basename(folder),
    user: '',
    nodes: 0,
    findings: [],
    tags: {},
    state: 'unknown',
  };
  try {
    const [job] = summariesOf(openRecording(folder), { nodeHours: false }).jobs;
    return job === undefined ? { ...none, job: '' } : listed(id, folder, job);
  } catch (error) {
    return { ...none, job: '', trouble: error instanceof Fault ? error.message : reason(error) };
  }
}

function listed(id: string, folder: string, job: JobSummary): ListedJob {
  const { account, partition, command, cpus, gpus, wall_seconds, cpu_use, memory_use, memory_peak_bytes, gpu_use } =
    job;
  const { core_hours, core_hours_wasted, worst, end_time: end } = job;
  return {
    id,
    path: folder,
    job: job.job,
    name: job.name ?? '',
    user: job.user,
    state: job.state ?? 'unknown',
    nodes: job.nodes ?? 0,
    findings: (job.findings ?? '').split(',').filter(Boolean),
    tags: JSON.parse(job.tags ?? '{}') as Record<string, string>,
    ...stated({ start: Number.isNaN(job.time) ? undefined : job.time, end, account, partition, command, cpus, gpus }),
    ...stated({ wall_seconds, cpu_use, memory_use, memory_peak_bytes, gpu_use, core_hours, core_hours_wasted, worst }),
  };
}
