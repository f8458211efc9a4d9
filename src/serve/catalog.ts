import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../base/fault.ts';
import { foldersBelow } from '../recording/folder/open.ts';

/** A recording that can be asked for. */
export interface Entry {
  /** Stands in addresses: it tells nothing of the folder, and stays the same while that has its path. */
  id: string;
  path: string;
}

/** How long a look at the folders holds. */
const LOOK_MS = 1000;

/** The recordings in some folders, by id. New ones are there at the next look, and those that were removed are not. */
export class Catalog {
  readonly folders: readonly string[];
  #entries = new Map<string, Entry>();
  #looked = Number.NEGATIVE_INFINITY;
  /** Folders that could not be looked into, in words. */
  troubles: string[] = [];

  constructor(folders: readonly string[]) {
    this.folders = folders.map((folder) => path.resolve(folder));
  }

  entries(): Entry[] {
    this.#look();
    return [...this.#entries.values()];
  }

  /** Only what lies in the folders has an id: no address leads anywhere else. */
  find(id: string): Entry | undefined {
    if (!this.#entries.has(id)) this.#look();
    const entry = this.#entries.get(id);
    return entry !== undefined && fs.existsSync(entry.path) ? entry : undefined;
  }

  #look(): void {
    const now = performance.now();
    if (now - this.#looked < LOOK_MS) return;
    this.#looked = now;
    const found = new Map<string, Entry>();
    const troubles: string[] = [];
    for (const start of this.folders) {
      try {
        for (const { folder } of foldersBelow(start)) {
          const entry = { id: idOf(folder), path: folder };
          found.set(entry.id, entry);
        }
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        troubles.push(error.message);
      }
    }
    this.#entries = found;
    this.troubles = troubles;
  }
}

/** Half of a name that nobody can guess a path from. */
export const idOf = (folder: string): string =>
  createHash('sha256').update(path.resolve(folder)).digest('base64url').slice(0, 12);
