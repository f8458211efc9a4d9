import * as fs from 'node:fs';
import * as path from 'node:path';
import { constants, zstdCompress } from 'node:zlib';
import { openToRead, openToReplace, type Place, type Places, placeKey } from './place.ts';

const COMPRESS = { params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 } };
/** A part has 64 MiB; what is much larger is no part of an agent's, and stays as it is. */
const LARGEST_PART = 512 << 20;

interface Task {
  node: Place;
  file: string;
}

/**
 * Replaces finished parts by their compressed form, one after the other and beside everything else. Whatever happens on
 * the way, one of the two is whole.
 */
export class Compressor {
  private readonly places: Places;
  private readonly waiting = new Map<string, Task>();
  private active: { key: string; done: Promise<void> } | undefined;
  private closed = false;

  constructor(places: Places) {
    this.places = places;
  }

  add(node: Place, file: string): void {
    this.waiting.set(`${placeKey(node)}/${file}`, { node, file });
    if (this.active === undefined && !this.closed) setImmediate(() => this.next());
  }

  /** Leaves what lies below a folder as it is, once what is being done there is done. */
  async leave(place: Place): Promise<void> {
    const prefix = `${placeKey(place)}/`;
    for (const key of this.waiting.keys()) if (key.startsWith(prefix)) this.waiting.delete(key);
    if (this.active?.key.startsWith(prefix)) await this.active.done;
  }

  async close(): Promise<void> {
    this.closed = true;
    this.waiting.clear();
    await this.active?.done;
  }

  private next(): void {
    if (this.active !== undefined) return;
    for (const [key, task] of this.waiting) {
      this.waiting.delete(key);
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
    const opened = this.places.in(node, false, (folder) => {
      if (fs.existsSync(path.join(folder, packed))) {
        // it is whole when it is there
        fs.rmSync(path.join(folder, file), { force: true });
        return undefined;
      }
      const source = openToRead(path.join(folder, file));
      try {
        if (fs.fstatSync(source).size > LARGEST_PART) throw new Error('too large');
        return { source, target: openToReplace(path.join(folder, temporary)) };
      } catch (error) {
        fs.closeSync(source);
        throw error;
      }
    });
    if (opened === undefined) return;
    const { source, target } = opened;
    try {
      const bytes = await read(source);
      await write(target, await squeeze(bytes));
      await sync(target);
    } catch (error) {
      this.places.in(node, false, (folder) => fs.rmSync(path.join(folder, temporary), { force: true }));
      throw error;
    } finally {
      fs.closeSync(source);
      fs.closeSync(target);
    }
    this.places.in(node, false, (folder) => {
      fs.renameSync(path.join(folder, temporary), path.join(folder, packed));
      fs.rmSync(path.join(folder, file), { force: true });
    });
  }
}

const read = (fd: number): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    fs.readFile(fd, (error, bytes) => (error === null ? resolve(bytes) : reject(error))),
  );

const squeeze = (bytes: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    zstdCompress(bytes, COMPRESS, (error, packed) => (error === null ? resolve(packed as Buffer) : reject(error))),
  );

const write = (fd: number, bytes: Buffer): Promise<void> =>
  new Promise((resolve, reject) => fs.writeFile(fd, bytes, (error) => (error === null ? resolve() : reject(error))));

const sync = (fd: number): Promise<void> =>
  new Promise((resolve, reject) => fs.fsync(fd, (error) => (error === null ? resolve() : reject(error))));
