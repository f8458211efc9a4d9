import * as fs from 'node:fs';
import * as path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { MOST_PART_BYTES } from '../../recording/sealed/unpack.ts';
import {
  type ArchiveFolders,
  type ArchivePath,
  archiveFolderKey,
  openToRead,
  openToReplace,
} from '../receive/archive-folder.ts';

const PARAMETERS = { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 };

interface Task {
  node: ArchivePath;
  file: string;
}

/**
 * Replaces finished parts by their compressed form, one after the other and beside everything else, of each user in turn.
 * Whatever happens on the way, one of the two is whole.
 */
export class Compressor {
  private readonly archiveFolders: ArchiveFolders;
  /** By user; the one that comes next is the first. */
  private readonly waiting = new Map<string, Map<string, Task>>();
  private active: { key: string; done: Promise<void> } | undefined;
  private closed = false;

  constructor(archiveFolders: ArchiveFolders) {
    this.archiveFolders = archiveFolders;
  }

  add(node: ArchivePath, file: string): void {
    const tasks = this.waiting.get(node.way[0]!) ?? new Map<string, Task>();
    this.waiting.set(node.way[0]!, tasks.set(`${archiveFolderKey(node)}/${file}`, { node, file }));
    if (this.active === undefined && !this.closed) setImmediate(() => this.next());
  }

  /** Leaves what lies below a folder as it is, once what is being done there is done. */
  async leave(archivePath: ArchivePath): Promise<void> {
    const prefix = `${archiveFolderKey(archivePath)}/`;
    const tasks = this.waiting.get(archivePath.way[0]!);
    for (const key of tasks?.keys() ?? []) if (key.startsWith(prefix)) tasks!.delete(key);
    if (this.active?.key.startsWith(prefix)) await this.active.done;
  }

  async close(): Promise<void> {
    this.closed = true;
    this.waiting.clear();
    await this.active?.done;
  }

  private next(): void {
    if (this.active !== undefined) return;
    for (const [user, tasks] of this.waiting) {
      this.waiting.delete(user);
      const [first] = tasks;
      if (first === undefined) continue;
      const [key, task] = first;
      tasks.delete(key);
      this.waiting.set(user, tasks);
      const done = this.compress(task)
        // a full disk, or somebody took the file away: it stays as it is
        .catch(() => {})
        .then(() => {
          this.active = undefined;
          if (!this.closed) this.next();
        });
      this.active = { key, done };
      return;
    }
  }

  /** Files are opened and renamed with their owner's rights; what takes time needs none. */
  private async compress({ node, file }: Task): Promise<void> {
    const packed = `${file}.zst`;
    const temporary = `${packed}.tmp`;
    const opened = this.archiveFolders.in(node, false, (folder) => {
      if (fs.existsSync(path.join(folder, packed))) {
        // it is whole when it is there
        fs.rmSync(path.join(folder, file), { force: true });
        return undefined;
      }
      const source = openToRead(path.join(folder, file));
      try {
        const { size } = fs.fstatSync(source);
        if (size > MOST_PART_BYTES) throw new Error('it is no part of an agent, and stays as it is');
        return { source, size, target: openToReplace(path.join(folder, temporary)) };
      } catch (error) {
        fs.closeSync(source);
        throw error;
      }
    });
    if (opened === undefined) return;
    const { source, size, target } = opened;
    try {
      // a little at a time: whoever owns the folder may have put a large file there
      await pipeline(
        fs.createReadStream('', { fd: source, autoClose: false, ...(size === 0 ? {} : { start: 0, end: size - 1 }) }),
        createZstdCompress({ params: PARAMETERS, pledgedSrcSize: size }),
        fs.createWriteStream('', { fd: target, autoClose: false }),
      );
      await sync(target);
    } catch (error) {
      this.archiveFolders.in(node, false, (folder) => fs.rmSync(path.join(folder, temporary), { force: true }));
      throw error;
    } finally {
      fs.closeSync(source);
      fs.closeSync(target);
    }
    this.archiveFolders.in(node, false, (folder) => {
      fs.renameSync(path.join(folder, temporary), path.join(folder, packed));
      fs.rmSync(path.join(folder, file), { force: true });
    });
  }
}

const sync = (fd: number): Promise<void> =>
  new Promise((resolve, reject) => fs.fsync(fd, (error) => (error === null ? resolve() : reject(error))));
