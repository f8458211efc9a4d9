import { gather } from '../../judge/facts/gather.ts';
import type { RuleSettings } from '../../judge/rules/shared/settings.ts';
import { openRecording } from '../../recording/folder/open.ts';
import type { JobList } from '../api.ts';
import { Catalog } from './catalog.ts';
import type { Collection, Entry, OpenJob } from './collection.ts';
import { fingerprintOf } from './fingerprint.ts';
import { IndexedRows } from './indexed-rows.ts';
import { JobTable } from './job-table.ts';
import { OpenJobs } from './open-jobs.ts';
import { endedIfSilent, openedJob } from './opened.ts';

/** The recordings in some folders, and in archives; of one with an index the table is there at once. */
export class FolderCollection implements Collection {
  readonly #catalog: Catalog;
  readonly #table: JobTable;
  readonly #jobs: OpenJobs;

  constructor(folders: readonly string[], rules?: RuleSettings) {
    this.#catalog = new Catalog(folders);
    const indexes = new IndexedRows(this.#catalog.folders);
    this.#table = new JobTable((folder) => indexes.rowOf(folder));
    this.#jobs = new OpenJobs((entry) => openFolder(entry, rules), { stateOf: ({ path }) => fingerprintOf(path) });
  }

  async list(): Promise<JobList> {
    const rows = this.#table.rows(this.#catalog.entries());
    return { ...rows, troubles: this.#catalog.troubles };
  }

  async open(id: string): Promise<OpenJob | undefined> {
    const entry = this.#catalog.find(id);
    return entry === undefined ? undefined : this.#jobs.get(entry);
  }

  changed({ entry }: OpenJob): void {
    this.#jobs.forget(entry);
  }

  async close(): Promise<void> {
    this.#table.close();
  }
}

function openFolder(entry: Entry, rules?: RuleSettings): OpenJob {
  const opened = openRecording(entry.path);
  const recording = endedIfSilent(opened);
  // its agent may go on: a laptop that slept, a node that was away
  const isLive = opened.job.end === undefined;
  return { ...openedJob(entry, recording, gather(recording), rules), isLive, folder: entry.path };
}
