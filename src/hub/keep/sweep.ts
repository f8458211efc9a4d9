import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { code, reason } from '../../base/fault.ts';
import { nodeName } from '../../recording/folder/node-folder.ts';
import { parsePart } from '../../recording/folder/part-name.ts';
import { MOST_BYTES } from '../../recording/folder/record-file.ts';
import { type ArchivePath, archiveFolderKey } from '../receive/archive-folder.ts';

/** A recording in the archive, as its files are. */
export interface Kept {
  readonly archivePath: ArchivePath;
  readonly kind: 'job' | 'fleet';
  readonly user: string;
  /** On the disk. */
  bytes: number;
  /** Newest change of any file, epoch milliseconds. */
  changed: number;
  /** There are parts that are not sealed. */
  unsealed: boolean;
  /** How many bytes of records have to be read to know how far it is, at most. */
  records: number;
}

/** How long it may look before others get their turn, and how long their turn is. */
const TURN_MS = 4;
const PAUSE_MS = 12;
const USER = 'user=';
const AT_ONCE = 64;
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;
/** Somebody took it away meanwhile, put something else there, or closed it: then it is not looked at. */
const USUAL = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'];

/**
 * Goes through the archive in small turns and says what is there. Folders are held open meanwhile, so that no link that is
 * put in the place of one is followed. What cannot be looked at goes to `tell`; the rest is looked at all the same.
 */
export async function* keptRecordings(
  root: string,
  separate: boolean,
  log: (text: string) => void,
): AsyncGenerator<Kept> {
  let since = performance.now();
  const breathe = async (): Promise<void> => {
    if (performance.now() - since < TURN_MS) return;
    await pause(PAUSE_MS);
    since = performance.now();
  };
  const look: Look = { breathe, failed: (where, error) => log(`cannot look at ${where}: ${reason(error)}`) };
  for await (const { name: top, folder: shelf } of foldersIn(root, '', look)) {
    const kind = top === 'fleet' ? 'fleet' : top.startsWith(USER) ? 'job' : undefined;
    if (kind === undefined) continue;
    const { uid, gid } = fs.statSync(shelf);
    const owner = separate && kind === 'job' ? { uid, gid } : undefined;
    const user = kind === 'job' ? (nodeName(`node=${top.slice(USER.length)}`) ?? '') : '';
    for await (const { name, folder } of foldersIn(shelf, top, look)) {
      if (!name.startsWith(kind === 'job' ? 'job=' : 'day=')) continue;
      const archivePath: ArchivePath = { way: [top, name], owner };
      const kept: Kept = { archivePath, kind, user, bytes: 0, changed: 0, unsealed: false, records: 0 };
      const where = archiveFolderKey(archivePath);
      await measure(folder, where, kept, look);
      for await (const node of foldersIn(folder, where, look)) {
        kept.records += MOST_BYTES.received;
        await measure(node.folder, `${where}/${node.name}`, kept, look);
      }
      yield kept;
      await breathe();
    }
  }
}

interface Look {
  breathe(): Promise<void>;
  failed(where: string, error: unknown): void;
}

async function measure(folder: string, where: string, kept: Kept, look: Look): Promise<void> {
  for await (const entry of entriesOf(folder, where, look)) {
    if (entry.isDirectory()) continue;
    const stat = attempt(where, look, () => fs.lstatSync(path.join(folder, entry.name)));
    if (stat === undefined) continue;
    // a file with holes takes less than its size, one with several names takes it once
    kept.bytes += Math.ceil(Math.min(stat.size, stat.blocks * 512) / Math.max(1, stat.nlink));
    kept.changed = Math.max(kept.changed, stat.mtimeMs);
    if (entry.name === 'job.json') kept.records += Math.min(stat.size, MOST_BYTES.job);
    const file = parsePart(entry.name);
    if (file !== undefined && (file.part !== undefined || !file.packed)) kept.unsealed = true;
  }
}

/** The folders in a folder, each held open until the next one: whoever owns it may have made a million of them. */
async function* foldersIn(parent: string, where: string, look: Look): AsyncGenerator<{ name: string; folder: string }> {
  for await (const entry of entriesOf(parent, where, look)) {
    if (!entry.isDirectory()) continue;
    const { name } = entry;
    const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    const fd = attempt(`${where}/${name}`, look, () => fs.openSync(path.join(parent, name), flags));
    if (fd === undefined) continue;
    try {
      yield { name, folder: `/proc/self/fd/${fd}` };
    } finally {
      fs.closeSync(fd);
    }
  }
}

/** A few at a time. */
async function* entriesOf(folder: string, where: string, look: Look): AsyncGenerator<fs.Dirent> {
  const opened = attempt(where, look, () => fs.opendirSync(folder, { bufferSize: AT_ONCE }));
  if (opened === undefined) return;
  try {
    for (let count = 1; ; count++) {
      const entry = attempt(where, look, () => opened.readSync());
      if (entry === null || entry === undefined) return;
      yield entry;
      if (count % AT_ONCE === 0) await look.breathe();
    }
  } finally {
    opened.closeSync();
  }
}

/** What is wrong in one place ends nothing but the look at that place. */
function attempt<T>(where: string, look: Look, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!USUAL.includes(code(error) ?? '')) look.failed(where, error);
    return undefined;
  }
}
