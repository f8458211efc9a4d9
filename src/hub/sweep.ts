import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { code } from '../base/fault.ts';
import { nodeName } from '../recording/node-folder.ts';
import type { Place } from './place.ts';

/** A recording in the archive, as its files are. */
export interface Kept {
  readonly place: Place;
  readonly kind: 'job' | 'fleet';
  readonly user: string;
  bytes: number;
  /** Newest change of any file, epoch milliseconds. */
  changed: number;
  /** There are parts that are not sealed. */
  unsealed: boolean;
}

/** So long it may look before others get their turn, and so long they get it. */
const TURN_MS = 4;
const PAUSE_MS = 12;
const USER = 'user=';

/** Goes through the archive in small turns, without following any link, and says what is there. */
export async function* keptRecordings(root: string, separate: boolean): AsyncGenerator<Kept> {
  let since = performance.now();
  const breathe = async (): Promise<void> => {
    if (performance.now() - since < TURN_MS) return;
    await pause(PAUSE_MS);
    since = performance.now();
  };
  for (const top of foldersIn(root)) {
    const kind = top === 'fleet' ? 'fleet' : top.startsWith(USER) ? 'job' : undefined;
    if (kind === undefined) continue;
    const stat = fs.lstatSync(path.join(root, top), { throwIfNoEntry: false });
    if (stat === undefined) continue;
    const owner = separate && kind === 'job' ? { uid: stat.uid, gid: stat.gid } : undefined;
    const user = kind === 'job' ? (nodeName(`node=${top.slice(USER.length)}`) ?? '') : '';
    for (const name of foldersIn(path.join(root, top))) {
      if (!name.startsWith(kind === 'job' ? 'job=' : 'day=')) continue;
      const kept: Kept = { place: { way: [top, name], owner }, kind, user, bytes: 0, changed: 0, unsealed: false };
      const folder = path.join(root, top, name);
      measure(folder, kept);
      for (const node of foldersIn(folder)) {
        measure(path.join(folder, node), kept);
        await breathe();
      }
      yield kept;
      await breathe();
    }
  }
}

function measure(folder: string, kept: Kept): void {
  for (const entry of entriesOf(folder)) {
    if (entry.isDirectory()) continue;
    const stat = fs.lstatSync(path.join(folder, entry.name), { throwIfNoEntry: false });
    if (stat === undefined) continue;
    kept.bytes += stat.size;
    kept.changed = Math.max(kept.changed, stat.mtimeMs);
    if (/\.csv$|\.\d{4,}\.csv\.zst$/.test(entry.name)) kept.unsealed = true;
  }
}

const foldersIn = (folder: string): string[] =>
  entriesOf(folder).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

function entriesOf(folder: string): fs.Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    // somebody took it away meanwhile, or closed it: then it is not looked at
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'].includes(code(error) ?? '')) return [];
    throw error;
  }
}
