import * as path from 'node:path';
import { namesIn } from '../../base/folder.ts';
import { indexOf } from '../../history/ask/history.ts';
import { Catalogue } from '../../history/index/catalogue.ts';
import { dayFolder, daysOf, indexFolder, partsIn } from '../../history/index/index-files.ts';
import { readRows } from '../../history/index/row-file.ts';
import { stampOf } from '../../history/index/stamp.ts';
import { type JobSummary, SUMMARY_TABLES } from '../../history/tables/summary.ts';

/** How long a look at an index holds. */
const LOOK_MS = 10_000;

interface ReadIndex {
  archive: string;
  /** The files that it was read from. */
  files: string;
  catalogue: Catalogue;
  rows: Map<string, JobSummary>;
}

/** What the indexes of folders (`tacho index`) say of jobs, of those that have not changed since. */
export class IndexedRows {
  readonly #folders: readonly string[];
  #read: ReadIndex[] = [];
  #looked = Number.NEGATIVE_INFINITY;

  constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  /** Undefined: the index does not have it, or not as it is now. */
  rowOf(folder: string): JobSummary | undefined {
    this.#look();
    for (const { archive, catalogue, rows } of this.#read) {
      const id = path.relative(archive, folder);
      const row = rows.get(id);
      if (row === undefined) continue;
      const listed = catalogue.get(id);
      const isSame = listed !== undefined && listed.open !== true && listed.stamp === stampOf(folder, namesIn(folder));
      return isSame ? row : undefined;
    }
    return undefined;
  }

  #look(): void {
    const now = performance.now();
    if (now - this.#looked < LOOK_MS) return;
    this.#looked = now;
    this.#read = this.#folders.flatMap((folder): ReadIndex[] => {
      const archive = indexOf(folder);
      if (archive === undefined) return [];
      try {
        const files = filesOf(archive);
        const before = this.#read.find((each) => each.archive === archive);
        return [before?.files === files.join() ? before : readIndex(archive, files)];
      } catch {
        // it is being written, or is damaged: then rows are made of the recordings
        return [];
      }
    });
  }
}

function filesOf(archive: string): string[] {
  const index = indexFolder(archive);
  return daysOf(index, 'jobs').flatMap((day) => {
    const folder = path.join(index, dayFolder('jobs', day));
    return partsIn(folder).map(({ name }) => path.join(folder, name));
  });
}

function readIndex(archive: string, files: readonly string[]): ReadIndex {
  const rows = new Map<string, JobSummary>();
  for (const file of files)
    for (const row of readRows(file, SUMMARY_TABLES.jobs))
      if (typeof row.recording === 'string') rows.set(row.recording, row as JobSummary);
  return { archive, files: files.join(), catalogue: new Catalogue(indexFolder(archive)), rows };
}
