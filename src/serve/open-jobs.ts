import { gather } from '../judge/facts/gather.ts';
import { report } from '../judge/report.ts';
import type { Report } from '../judge/report-schema.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import type { Material } from '../query/material.ts';
import { openRecording, type Recording } from '../recording/folder/open.ts';
import type { Entry } from './catalog.ts';
import { fingerprintOf } from './fingerprint.ts';

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
/** What runs is looked at again after so long, also when nothing new came: a node may have fallen silent. */
const LIVE_MS = 5000;
/** How long a look at the files holds. */
const LOOK_MS = 100;

/** What was worked out of a recording is kept while its files do not change. */
export class OpenJobs {
  #open = new Map<string, { job: OpenJob; state: string; looked: number; until: number }>();
  readonly #rules: RuleSettings | undefined;

  constructor(rules?: RuleSettings) {
    this.#rules = rules;
  }

  get(entry: Entry): OpenJob {
    const now = performance.now();
    const kept = this.#open.get(entry.id);
    const state = kept !== undefined && now - kept.looked < LOOK_MS ? kept.state : fingerprintOf(entry.path);
    if (kept !== undefined && kept.state === state && now < kept.until) {
      // the one that nobody has asked for longest is the first
      this.#open.delete(entry.id);
      this.#open.set(entry.id, { ...kept, looked: now - kept.looked < LOOK_MS ? kept.looked : now });
      return kept.job;
    }
    const job = openJob(entry, this.#rules);
    this.#open.delete(entry.id);
    this.#open.set(entry.id, { job, state, looked: now, until: job.isLive ? now + LIVE_MS : Number.POSITIVE_INFINITY });
    for (const id of this.#open.keys()) {
      if (this.#open.size <= MOST) break;
      this.#open.delete(id);
    }
    return job;
  }

  /** What was changed just now is read again at once. */
  forget(entry: Entry): void {
    this.#open.delete(entry.id);
  }
}

function openJob(entry: Entry, rules?: RuleSettings): OpenJob {
  const recording = openRecording(entry.path);
  const material = gather(recording);
  let made: Report | undefined;
  return {
    entry,
    recording,
    material,
    report() {
      made ??= report(material, rules);
      return made;
    },
    isLive: recording.job.end === undefined,
  };
}
