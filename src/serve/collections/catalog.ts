import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { foldersBelow } from '../../recording/folder/open.ts';
import { type Entry, idOf } from './collection.ts';

/** How long a look at the folders holds: a second, and of very many folders so long that looking takes little of the time. */
const LOOK_MS = 1000;
const LOOK_SHARE = 10;
/** An answer does not wait for a look that takes longer: what is new comes with the next one. */
const QUICK_MS = 30;

/** The recordings in some folders, by id. New ones are there at the next look, and those that were removed are not. */
export class Catalog {
  readonly folders: readonly string[];
  #entries = new Map<string, Entry>();
  #until = Number.NEGATIVE_INFINITY;
  #took = 0;
  #later: NodeJS.Timeout | undefined;
  /** Folders that could not be looked into, in words. */
  troubles: string[] = [];

  constructor(folders: readonly string[]) {
    this.folders = folders.map((folder) => path.resolve(folder));
  }

  entries(): Entry[] {
    if (this.#took <= QUICK_MS) this.#look();
    else this.#later ??= setTimeout(() => this.#look(), QUICK_MS).unref();
    return [...this.#entries.values()];
  }

  /** Only what lies in the folders has an id: no address leads anywhere else. */
  find(id: string): Entry | undefined {
    if (!this.#entries.has(id)) this.#look();
    const entry = this.#entries.get(id);
    return entry !== undefined && fs.existsSync(entry.path) ? entry : undefined;
  }

  #look(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    const now = performance.now();
    if (now < this.#until) return;
    const entriesById = new Map<string, Entry>();
    const troubles: string[] = [];
    for (const start of this.folders) {
      try {
        for (const { folder } of foldersBelow(start)) {
          const entry = { id: idOf(path.resolve(folder)), path: folder };
          entriesById.set(entry.id, entry);
        }
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        troubles.push(error.message);
      }
    }
    this.#entries = entriesById;
    this.troubles = troubles;
    this.#took = performance.now() - now;
    this.#until = now + Math.max(LOOK_MS, LOOK_SHARE * this.#took);
  }
}
