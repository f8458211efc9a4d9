import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../base/fault.ts';
import { isForeignLink } from '../base/plain-file.ts';
import { type History, openHistory } from '../history/ask/history.ts';
import { gather } from '../judge/facts/gather.ts';
import { readKeptReport } from '../judge/kept-report.ts';
import { report } from '../judge/report.ts';
import type { Report } from '../judge/report-schema.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import type { Material } from '../query/material.ts';
import { openRecording, type Recording } from '../recording/folder/open.ts';

/** A job with what was recorded of it. */
export interface JobAtHand {
  recording: Recording;
  material: Material;
  report: Report;
}

/** The jobs that may be asked about: those in some folders, as far as whoever started us may read them. */
export class JobsAtHand {
  readonly #folders: readonly string[];
  readonly #leftOut = new Set<string>();

  readonly #rules: RuleSettings | undefined;

  constructor(folders: readonly string[], rules?: RuleSettings) {
    this.#rules = rules;
    this.#folders = folders.map((folder) => path.resolve(folder));
  }

  /** Opened for each question: recordings come and go. */
  async asking<T>(work: (history: History) => Promise<T>): Promise<T> {
    const rules = this.#rules;
    const history = await openHistory({
      folders: this.#folders,
      leftOut: ({ message }) => void this.#leftOut.add(message),
      ...(rules === undefined ? {} : { rules: async () => rules }),
    });
    try {
      return await work(history);
    } finally {
      await history.close();
    }
  }

  /** Recordings that the last question had to leave out, and why; asked for once. */
  takeLeftOut(): string[] {
    const all = [...this.#leftOut];
    this.#leftOut.clear();
    return all;
  }

  /** The newest job with this id, or the recording with this name or path in the folders. */
  async open(name: string): Promise<JobAtHand> {
    const recording = openRecording(this.#named(name) ?? (await this.#withId(name)));
    const material = gather(recording);
    const kept = this.#rules === undefined ? readKeptReport(recording) : undefined;
    return { recording, material, report: kept ?? report(material, this.#rules) };
  }

  #named(name: string): string | undefined {
    return this.#folders
      .map((folder) => path.resolve(folder, name))
      .find((each) => this.#isInside(each) && fs.existsSync(path.join(each, 'job.json')));
  }

  async #withId(id: string): Promise<string> {
    const jobSummaries = await this.asking((history) =>
      history.selectJobs({ jobs: [id.replaceAll(/[*?]/g, '')], order: { by: 'time', descending: true } }),
    );
    for (const { recording } of jobSummaries) {
      if (recording === undefined) continue;
      const named = this.#named(recording);
      if (named !== undefined) return named;
    }
    const hint = 'list_jobs says which jobs there are';
    throw new Fault(jobSummaries.length > 0 ? `job ${id} was not recorded` : `there is no job ${id} here`, { hint });
  }

  /** Somebody else's link does not lead out of the folders. */
  #isInside(file: string): boolean {
    const isBelow = (folder: string): boolean => file === folder || file.startsWith(`${folder}${path.sep}`);
    return this.#folders.some(isBelow) && fs.existsSync(file) && !isForeignLink(file);
  }
}
