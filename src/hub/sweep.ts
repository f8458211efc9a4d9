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
const AT_ONCE = 64;

/** Goes through the archive in small turns, without following any link, and says what is there. */
export async function* keptRecordings(root: string, separate: boolean): AsyncGenerator<Kept> {
  let since = performance.now();
  const breathe = async (): Promise<void> => {
    if (performance.now() - since < TURN_MS) return;
    await pause(PAUSE_MS);
    since = performance.now();
  };
  for (const top of await foldersIn(root, breathe)) {
    const kind = top === 'fleet' ? 'fleet' : top.startsWith(USER) ? 'job' : undefined;
    if (kind === undefined) continue;
    const stat = fs.lstatSync(path.join(root, top), { throwIfNoEntry: false });
    if (stat === undefined) continue;
    const owner = separate && kind === 'job' ? { uid: stat.uid, gid: stat.gid } : undefined;
    const user = kind === 'job' ? (nodeName(`node=${top.slice(USER.length)}`) ?? '') : '';
    for (const name of await foldersIn(path.join(root, top), breathe)) {
      if (!name.startsWith(kind === 'job' ? 'job=' : 'day=')) continue;
      const kept: Kept = { place: { way: [top, name], owner }, kind, user, bytes: 0, changed: 0, unsealed: false };
      const folder = path.join(root, top, name);
      await measure(folder, kept, breathe);
      for (const node of await foldersIn(folder, breathe)) await measure(path.join(folder, node), kept, breathe);
      yield kept;
      await breathe();
    }
  }
}

type Breathe = () => Promise<void>;

async function measure(folder: string, kept: Kept, breathe: Breathe): Promise<void> {
  for await (const entry of entriesOf(folder, breathe)) {
    if (entry.isDirectory()) continue;
    const stat = fs.lstatSync(path.join(folder, entry.name), { throwIfNoEntry: false });
    if (stat === undefined) continue;
    kept.bytes += stat.size;
    kept.changed = Math.max(kept.changed, stat.mtimeMs);
    if (/\.csv$|\.\d{4,}\.csv\.zst$/.test(entry.name)) kept.unsealed = true;
  }
}

async function foldersIn(folder: string, breathe: Breathe): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of entriesOf(folder, breathe)) if (entry.isDirectory()) names.push(entry.name);
  return names.sort();
}

/** A few at a time: whoever owns a folder may have put a million files there. */
async function* entriesOf(folder: string, breathe: Breathe): AsyncGenerator<fs.Dirent> {
  let opened: fs.Dir;
  try {
    opened = fs.opendirSync(folder, { bufferSize: AT_ONCE });
  } catch (error) {
    // somebody took it away meanwhile, or closed it: then it is not looked at
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'].includes(code(error) ?? '')) return;
    throw error;
  }
  try {
    for (let count = 1; ; count++) {
      const entry = opened.readSync();
      if (entry === null) return;
      yield entry;
      if (count % AT_ONCE === 0) await breathe();
    }
  } finally {
    opened.closeSync();
  }
}
