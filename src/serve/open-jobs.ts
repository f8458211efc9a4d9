import * as fs from 'node:fs';
import * as path from 'node:path';
import { gather } from '../judge/facts/gather.ts';
import { report } from '../judge/report.ts';
import type { Report } from '../judge/report-schema.ts';
import type { Material } from '../query/material.ts';
import { openRecording, type Recording } from '../recording/folder/open.ts';
import type { Entry } from './catalog.ts';

/** A recording and what was worked out of it. */
export interface OpenJob {
  entry: Entry;
  recording: Recording;
  material: Material;
  /** Made when somebody asks for it. */
  report(): Report;
  /** Whether somebody still writes. */
  isLive: boolean;
}

/** So many stay open. */
const MOST = 24;
/** What is still written is opened again after so long. */
const LIVE_MS = 500;

/** What was worked out of a recording is kept while its files do not change. */
export class OpenJobs {
  #open = new Map<string, { job: OpenJob; state: string; until: number }>();

  get(entry: Entry): OpenJob {
    const now = performance.now();
    const kept = this.#open.get(entry.id);
    const state = stateOf(entry.path);
    if (kept !== undefined && kept.state === state && now < kept.until) {
      // the one that nobody has asked for longest is the first
      this.#open.delete(entry.id);
      this.#open.set(entry.id, kept);
      return kept.job;
    }
    const job = openJob(entry);
    this.#open.delete(entry.id);
    this.#open.set(entry.id, { job, state, until: job.isLive ? now + LIVE_MS : Number.POSITIVE_INFINITY });
    for (const id of this.#open.keys()) {
      if (this.#open.size <= MOST) break;
      this.#open.delete(id);
    }
    return job;
  }
}

function openJob(entry: Entry): OpenJob {
  const recording = openRecording(entry.path);
  const material = gather(recording);
  let made: Report | undefined;
  return {
    entry,
    recording,
    material,
    report() {
      made ??= report(material);
      return made;
    },
    isLive: recording.job.end === undefined,
  };
}

/** Changes when something was added to the recording, removed from it or replaced. */
function stateOf(folder: string): string {
  const times = [folder, path.join(folder, 'job.json')];
  for (const name of fs.readdirSync(folder)) if (name.startsWith('node=')) times.push(path.join(folder, name));
  return times.map((file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0).join(' ');
}
