import * as fs from 'node:fs';
import type { Descriptors, Held } from './descriptors.ts';

const EVERY_MS = 5_000;
/** From so many on one call for the whole file system costs less than one a file. */
const MANY = 64;
const AT_ONCE = 2;

/** Brings what was written to the disk every few seconds, beside everything else. */
export class Syncer {
  private readonly descriptors: Descriptors;
  private readonly folder: number;
  private readonly timer: NodeJS.Timeout;
  private syncfs: ((fd: number, done: (error: Error | null, result: number) => void) => void) | undefined;
  private syncNow: ((fd: number) => number) | undefined;
  private busy = false;

  constructor(folder: string, descriptors: Descriptors) {
    this.descriptors = descriptors;
    this.folder = fs.openSync(folder, 'r');
    this.timer = setInterval(() => this.sync(), EVERY_MS);
    void this.load();
  }

  /** Waits until everything is on the disk, in one call. */
  close(): void {
    clearInterval(this.timer);
    this.syncNow?.(this.folder);
    // a call that is under way still needs it
    if (!this.busy) fs.closeSync(this.folder);
  }

  private async load(): Promise<void> {
    try {
      const { default: koffi } = await import('koffi');
      const call = koffi.load('libc.so.6').func('int syncfs(int fd)');
      this.syncNow = call as (fd: number) => number;
      this.syncfs = (fd, done) => call.async(fd, done);
    } catch {
      // then file by file
    }
  }

  private sync(): void {
    if (this.busy) return;
    const dirty = this.descriptors.dirty();
    if (dirty.length === 0) return;
    this.busy = true;
    for (const held of dirty) held.dirty = false;
    if (dirty.length >= MANY && this.syncfs !== undefined) {
      this.syncfs(this.folder, () => {
        this.busy = false;
      });
      return;
    }
    let running = 0;
    const next = (): void => {
      running--;
      const held: Held | undefined = dirty.pop();
      if (held === undefined) {
        if (running <= 0) this.busy = false;
        return;
      }
      running++;
      if (held.fd < 0) setImmediate(next);
      else fs.fdatasync(held.fd, next);
    };
    for (let i = 0; i < AT_ONCE; i++) {
      running++;
      next();
    }
  }
}
