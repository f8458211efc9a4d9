import type { Entry, OpenJob } from './collection.ts';

interface Kept {
  job: Promise<OpenJob>;
  state: string;
  looked: number;
  until: number;
}

export interface OpenJobsOptions {
  /** Number of jobs that stay open. */
  most?: number;
  /** What runs is looked at again after so long, also when nothing new came: a node may have fallen silent. */
  liveMs?: number;
  /** Changes when the job has; not given: only time tells. */
  stateOf?(entry: Entry): string;
}

const MOST = 24;
const LIVE_MS = 5000;
/** How long a look at the files holds. */
const LOOK_MS = 100;

/** What was worked out of a job is kept while it does not change; many who ask for it at once wait for one opening. */
export class OpenJobs {
  #open = new Map<string, Kept>();
  readonly #make: (entry: Entry) => OpenJob | Promise<OpenJob>;
  readonly #options: OpenJobsOptions;

  constructor(make: (entry: Entry) => OpenJob | Promise<OpenJob>, options: OpenJobsOptions = {}) {
    this.#make = make;
    this.#options = options;
  }

  get(entry: Entry): Promise<OpenJob> {
    const { most = MOST, stateOf = () => '' } = this.#options;
    const now = performance.now();
    const kept = this.#open.get(entry.id);
    const state = kept !== undefined && now - kept.looked < LOOK_MS ? kept.state : stateOf(entry);
    if (kept !== undefined && kept.state === state && now < kept.until) {
      // the one that nobody has asked for longest is the first
      this.#open.delete(entry.id);
      if (now - kept.looked >= LOOK_MS) kept.looked = now;
      this.#open.set(entry.id, kept);
      return kept.job;
    }
    const made: Kept = { job: this.#opened(entry), state, looked: now, until: Number.POSITIVE_INFINITY };
    this.#open.delete(entry.id);
    this.#open.set(entry.id, made);
    const { liveMs = LIVE_MS } = this.#options;
    made.job.then(
      ({ isLive }) => {
        if (isLive) made.until = performance.now() + liveMs;
      },
      // what could not be opened is tried again
      () => {
        if (this.#open.get(entry.id) === made) this.#open.delete(entry.id);
      },
    );
    for (const id of this.#open.keys()) {
      if (this.#open.size <= most) break;
      this.#open.delete(id);
    }
    return made.job;
  }

  /** What was changed just now is read again at once. */
  forget(entry: Entry): void {
    this.#open.delete(entry.id);
  }

  async #opened(entry: Entry): Promise<OpenJob> {
    return this.#make(entry);
  }
}
