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
/** How long a look at the files of a job that has ended holds: ten thousand take a while. */
const LOOK_MS = 4000;
/** So long an answer may work out rows itself; the rest is worked out between answers. */
const ANSWER_MS = 250;
/** So many it always works out: few jobs are all there at once, however slow the machine is. */
const ANSWER_ROWS = 20;
/** So long others wait for a turn of that. */
const TURN_MS = 40;

interface Kept {
  row: ListedJob;
  state: string;
  /** When its files were looked at. */
  looked: number;
  until: number;
}

/** A row for each job; of one that has not changed since it is worked out once. Of many the first answer has only some. */
export class JobTable {
  #rows = new Map<string, Kept>();
  #queue = new Map<string, Entry>();
  #turn: NodeJS.Immediate | undefined;

  /** The rows that are known, and how many are still being worked out. */
  rows(entries: readonly Entry[]): { jobs: ListedJob[]; pending: number } {
    const until = performance.now() + ANSWER_MS;
    const jobs: ListedJob[] = [];
    let worked = 0;
    for (const entry of entries) {
      const kept = this.#rows.get(entry.id);
      if (kept !== undefined && isFresh(kept, entry)) jobs.push(kept.row);
      else if (worked++ < ANSWER_ROWS || performance.now() < until) jobs.push(this.#work(entry));
      else {
        this.#queue.set(entry.id, entry);
        if (kept !== undefined) jobs.push(kept.row);
      }
    }
    this.#workOn();
    return { jobs, pending: entries.length - jobs.length };
  }

  close(): void {
    clearImmediate(this.#turn);
    this.#queue.clear();
  }

  #work(entry: Entry): ListedJob {
    this.#queue.delete(entry.id);
    const state = stateOf(entry.path);
    const row = rowOf(entry);
    const until = row.state === 'running' ? performance.now() + LIVE_MS : Number.POSITIVE_INFINITY;
    this.#rows.set(entry.id, { row, state, looked: performance.now(), until });
    return row;
  }

  #workOn(): void {
    if (this.#turn !== undefined || this.#queue.size === 0) return;
    this.#turn = setImmediate(() => {
      this.#turn = undefined;
      const until = performance.now() + TURN_MS;
      for (const entry of this.#queue.values()) {
        this.#work(entry);
        if (performance.now() > until) break;
      }
      this.#workOn();
    });
  }
}

function isFresh(kept: Kept, { path: folder }: Entry): boolean {
  const now = performance.now();
  if (now >= kept.until) return false;
  if (now - kept.looked < LOOK_MS) return true;
  kept.looked = now;
  return kept.state === stateOf(folder);
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
  const { core_hours, core_hours_wasted, gpu_hours_wasted, worst, end_time: end, read_bytes, written_bytes } = job;
  const io_bytes =
    read_bytes === undefined && written_bytes === undefined ? undefined : (read_bytes ?? 0) + (written_bytes ?? 0);
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
    ...stated({ gpu_hours_wasted, io_bytes }),
  };
}
