import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { summariesOf } from '../../history/make/summaries.ts';
import type { JobSummary } from '../../history/tables/summary.ts';
import { openRecording } from '../../recording/folder/open.ts';
import type { ListedJob } from '../api.ts';
import type { Entry } from './collection.ts';
import { listedJob } from './listed-job.ts';

/** What is still written is summarised again after so long. */
const LIVE_MS = 3000;
/** After so long a job that fell silent is not looked at again before its files have changed. */
const SILENT_US = 24 * 3600e6;
/** How long a look at the files of a job that has ended holds: ten thousand take a while. */
const LOOK_MS = 4000;
/** Milliseconds in which an answer checks files for changes; the rest is checked after it, and answered as last known. */
const CHECKS_MS = 20;
/** Milliseconds in which an answer may compute rows itself; the rest is computed between answers. */
const ANSWER_MS = 250;
/** Number of rows that it always computes: few jobs are complete at once, however slow the machine is. */
const ANSWER_ROWS = 20;
/** Milliseconds that others wait for their turn. */
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
  readonly #indexed: (folder: string) => JobSummary | undefined;
  #rows = new Map<string, Kept>();
  #queue = new Map<string, Entry>();
  #turn: NodeJS.Immediate | undefined;
  #last: ListedJob[] = [];

  /** `indexed`: what an index says of a recording that has not changed since. */
  constructor(indexed: (folder: string) => JobSummary | undefined = () => undefined) {
    this.#indexed = indexed;
  }

  /** The rows that are known, and how many are still being worked out. While none changes it is the same array. */
  rows(entries: readonly Entry[]): { jobs: ListedJob[]; pending: number } {
    const begun = performance.now();
    const [checks, until] = [begun + CHECKS_MS, begun + ANSWER_MS];
    const jobs: ListedJob[] = [];
    let worked = 0;
    for (const entry of entries) {
      const kept = this.#rows.get(entry.id);
      if (kept !== undefined && begun < kept.until && (begun - kept.looked < LOOK_MS || performance.now() > checks)) {
        jobs.push(kept.row);
        if (begun - kept.looked >= LOOK_MS) this.#queue.set(entry.id, entry);
      } else if (kept !== undefined && isSame(kept, entry)) jobs.push(kept.row);
      else if (worked++ < ANSWER_ROWS || performance.now() < until) jobs.push(this.#work(entry));
      else {
        this.#queue.set(entry.id, entry);
        if (kept !== undefined) jobs.push(kept.row);
      }
    }
    this.#workOn();
    const isAsBefore = jobs.length === this.#last.length && jobs.every((row, i) => row === this.#last[i]);
    if (!isAsBefore) this.#last = jobs;
    return { jobs: this.#last, pending: entries.length - jobs.length };
  }

  close(): void {
    clearImmediate(this.#turn);
    this.#queue.clear();
  }

  #work(entry: Entry): ListedJob {
    this.#queue.delete(entry.id);
    const state = stateOf(entry.path);
    const indexed = this.#indexed(entry.path);
    const row = indexed === undefined ? rowOf(entry) : listedJob(entry, indexed);
    const until = mayGoOn(row) ? performance.now() + LIVE_MS : Number.POSITIVE_INFINITY;
    this.#rows.set(entry.id, { row, state, looked: performance.now(), until });
    return row;
  }

  #workOn(): void {
    if (this.#turn !== undefined || this.#queue.size === 0) return;
    this.#turn = setImmediate(() => {
      this.#turn = undefined;
      const until = performance.now() + TURN_MS;
      for (const entry of this.#queue.values()) {
        const kept = this.#rows.get(entry.id);
        if (kept !== undefined && isSame(kept, entry)) this.#queue.delete(entry.id);
        else this.#work(entry);
        if (performance.now() > until) break;
      }
      this.#workOn();
    });
  }
}

/** A job that fell silent lately may be heard of again: a laptop slept, a node was away. */
const mayGoOn = ({ state, end = 0 }: ListedJob): boolean =>
  state === 'running' || (state === 'unknown' && Date.now() * 1000 - end < SILENT_US);

/** Whether its row holds, by a look at its files. */
function isSame(kept: Kept, { path: folder }: Entry): boolean {
  kept.looked = performance.now();
  return kept.looked < kept.until && kept.state === stateOf(folder);
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
    const recording = openRecording(folder);
    const [job] = summariesOf(recording, { nodeHours: false }).jobs;
    if (job !== undefined) return listedJob({ id, path: folder }, job);
    // what the agents of nodes record beside jobs is none, and has a page all the same
    const { id: name, start } = recording.job;
    return { ...none, job: name, name, nodes: recording.nodes.length, start };
  } catch (error) {
    return { ...none, job: '', trouble: error instanceof Fault ? error.message : reason(error) };
  }
}
