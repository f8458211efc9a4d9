import * as fs from 'node:fs';
import * as path from 'node:path';
import { lastRowEnd } from '../../base/csv.ts';
import { code } from '../../base/fault.ts';
import { NotPlain } from '../../base/plain-file.ts';
import { liveName, partName } from '../folder/part-name.ts';
import { unpackFile } from '../sealed/unpack.ts';
import { listParts, MOST_FILES, type TableParts } from './file-parts.ts';
import { openOwned, readOwned } from './owned-file.ts';
import type { Position } from './position.ts';

/** A run of bytes of one part, as they were written. */
export interface Run {
  readonly part: number;
  readonly from: number;
  readonly bytes: Buffer;
  /** What lay before it and is not in the folder any more. */
  readonly gone?: { readonly from: Position; readonly to: Position };
}

/** Whole rows of one part. */
export interface Lines extends Run {
  /** The part's first line, without its newline: the names of the columns. */
  readonly header: string;
  /** Where to go on. */
  readonly next: Position;
  /** Bytes of an unfinished last line that were passed over: whoever wrote them was killed in the middle. */
  readonly torn?: number;
}

const NEWLINE = 10;
/** In an archive users own their folders: what is longer was not written by Tacho, and is not read. */
const LONGEST_ROW = 1 << 20;
const LONGEST_HEADER = 1 << 20;
const LARGEST_PART = 128 << 20;
/** Number of empty parts that are skipped at once; a compressed one may take as long as all of them. */
const MOST_EMPTY = 1000;

/**
 * Reads what a node's folder has of one table, from any position on, while it is written, renamed to a numbered part,
 * compressed or removed. Holds one descriptor at most.
 *
 *     const tail = new Tail(folder, 'meminfo');
 *     let position = BEGINNING;
 *     for (let run = tail.read(position, 1 << 20); run; run = tail.read(position, 1 << 20))
 *       position = { part: run.part, bytes: run.from + run.bytes.length };
 */
export class Tail {
  readonly folder: string;
  readonly table: string;
  private readonly owner: number | undefined;
  /** What is there of the table, where somebody has just looked: else the folder is read for every part. */
  listed: TableParts | undefined;
  private open: OpenPart | undefined;
  /** The end of the newest part that was read to it. */
  private finished: Position = { part: 0, bytes: 0 };

  /** `owner`: nothing is read of files that are not this user number's. */
  constructor(folder: string, table: string, owner?: number) {
    this.folder = folder;
    this.table = table;
    this.owner = owner;
  }

  /**
   * The next bytes at or after `position`; undefined while there are none. Of a part that is still written only whole
   * lines are given, unless `ended`: then nobody writes any more, and a torn line is all that there will be. `stops`: a run
   * of no bytes says where to go on, when to look for more would take long.
   */
  read(position: Position, maxBytes: number, ended = false, stops = false): Run | undefined {
    let at = position;
    let gone: Run['gone'];
    let empty = 0;
    for (;;) {
      // it is final: there is nothing to be had by reading it again
      if (at.bytes > 0 && at.part === this.finished.part && at.bytes >= this.finished.bytes)
        at = { part: at.part + 1, bytes: 0 };
      const openPart = this.find(at.part);
      if (openPart === undefined) return undefined;
      if (openPart.part > at.part) {
        gone = { from: gone?.from ?? at, to: { part: openPart.part, bytes: 0 } };
        at = gone.to;
      }
      const bytes = openPart.read(at.bytes, maxBytes, ended);
      if (bytes !== undefined) return { part: at.part, from: at.bytes, bytes, ...(gone === undefined ? {} : { gone }) };
      if (!openPart.isFinal()) return undefined;
      // it may have grown between the last look and its end
      const rest = openPart.read(at.bytes, maxBytes, true);
      if (rest !== undefined)
        return { part: at.part, from: at.bytes, bytes: rest, ...(gone === undefined ? {} : { gone }) };
      this.finished = at;
      const tookLong = (openPart.isPacked && at.bytes === 0) || ++empty === MOST_EMPTY;
      at = { part: at.part + 1, bytes: 0 };
      if (stops && tookLong)
        return { part: at.part, from: 0, bytes: Buffer.alloc(0), ...(gone === undefined ? {} : { gone }) };
    }
  }

  /**
   * The next whole rows (a quoted text may hold newlines) behind `position`, without the header; undefined while there
   * are none. At least one row is given, or no bytes where what lies there took long: on with `next`, at leisure.
   */
  wholeLines(position: Position, maxBytes: number, ended = false): Lines | undefined {
    let at = position;
    let gone: Run['gone'];
    let torn = 0;
    for (let size = maxBytes; ; ) {
      const run = this.read(at, size, ended, true);
      if (run === undefined) return undefined;
      gone ??= run.gone;
      if (run.bytes.length === 0) return noLines(run.part);
      if (run.from === 0) {
        const first = run.bytes.indexOf(NEWLINE);
        if (first >= 0 && first < run.bytes.length - 1) {
          at = { part: run.part, bytes: first + 1 };
          continue;
        }
        if (first < 0 && run.bytes.length < size) {
          // not even the header is whole, and no more will come
          torn += run.bytes.length;
          at = { part: run.part, bytes: run.bytes.length };
        } else if (first < 0 && size > LONGEST_ROW) return this.behind(run);
        else if (first < 0) size *= 2;
        else at = { part: run.part, bytes: run.bytes.length };
        continue;
      }
      const end = lastRowEnd(run.bytes);
      if (end === 0) {
        if (run.bytes.length >= size) {
          if (size > LONGEST_ROW) return this.behind(run);
          size *= 2;
          continue;
        }
        if (!ended && !this.open?.isFinal()) return undefined;
        // it may have grown just before its end; else it is the rest of a part that nobody goes on with
        if ((this.read(at, size, true)?.bytes.length ?? 0) > run.bytes.length) continue;
        torn += run.bytes.length;
        at = { part: run.part, bytes: run.from + run.bytes.length };
        continue;
      }
      return {
        part: run.part,
        from: run.from,
        bytes: run.bytes.subarray(0, end),
        header: this.open!.header(),
        next: { part: run.part, bytes: run.from + end },
        ...(gone === undefined ? {} : { gone }),
        ...(torn === 0 ? {} : { torn }),
      };
    }
  }

  close(): void {
    this.open?.close();
    this.open = undefined;
  }

  /** The rest of a part is not read: on with the next, once there is nobody to write to this one. */
  private behind({ part }: Run): Lines | undefined {
    return this.open?.isFinal() === true ? noLines(part + 1) : undefined;
  }

  /** The part with this number, or the first one after it. */
  private find(part: number): OpenPart | undefined {
    if (this.open?.part === part) return this.open;
    this.close();
    // files are renamed and removed meanwhile: look again when one has just gone
    for (let tries = 0; tries < 5; tries++) {
      const most = this.owner === undefined ? undefined : MOST_FILES;
      const tableParts = (tries === 0 ? this.listed : undefined) ?? listParts(this.folder, most).get(this.table);
      if (tableParts === undefined) return undefined;
      const numbered = tableParts.numbered.find((each) => each.part >= part);
      const number = numbered?.part ?? tableParts.newest + 1;
      if (number < part) return undefined;
      if (numbered === undefined && !tableParts.live) return undefined;
      try {
        this.open =
          numbered === undefined
            ? this.openLive(number)
            : numbered.packed
              ? new PackedPart(path.join(this.folder, `${partName(this.table, number)}.zst`), number, this.owner)
              : new PlainPart(path.join(this.folder, partName(this.table, number)), number, this.owner);
      } catch (error) {
        // a pipe, a link, a folder: nothing that an agent has written
        if (error instanceof NotPlain) return undefined;
        if (code(error) !== 'ENOENT') throw error;
        continue;
      }
      if (this.open !== undefined) return this.open;
    }
    return undefined;
  }

  private openLive(number: number): OpenPart | undefined {
    const opened = new PlainPart(path.join(this.folder, liveName(this.table)), number, this.owner, true);
    const numbered = path.join(this.folder, partName(this.table, number));
    // renamed just before it was opened: then this is the next part already
    if (!fs.existsSync(numbered) && !fs.existsSync(`${numbered}.zst`)) return opened;
    opened.close();
    return undefined;
  }
}

/** There are none before this part. */
const noLines = (part: number): Lines => ({
  part,
  from: 0,
  bytes: Buffer.alloc(0),
  header: '',
  next: { part, bytes: 0 },
});

interface OpenPart {
  readonly part: number;
  readonly isPacked: boolean;
  /** `all`: also what follows the last newline. */
  read(from: number, maxBytes: number, all: boolean): Buffer | undefined;
  /** Nothing will be appended to it any more. */
  isFinal(): boolean;
  header(): string;
  close(): void;
}

class PlainPart implements OpenPart {
  readonly part: number;
  readonly isPacked = false;
  private readonly file: string;
  private readonly fd: number;
  private readonly inode: number;
  private live: boolean;
  private head: string | undefined;

  constructor(file: string, part: number, owner: number | undefined, live = false) {
    this.file = file;
    this.part = part;
    this.live = live;
    this.fd = openOwned(file, owner);
    this.inode = live ? fs.fstatSync(this.fd).ino : 0;
  }

  read(from: number, maxBytes: number, all: boolean): Buffer | undefined {
    const size = Math.min(maxBytes, READ_AHEAD);
    let buffer = Buffer.allocUnsafe(size);
    let filled = fs.readSync(this.fd, buffer, 0, size, from);
    // most reads are of a few rows: only a full buffer is worth a larger one
    if (filled === size && size < maxBytes) {
      const larger = Buffer.allocUnsafe(maxBytes);
      buffer.copy(larger);
      buffer = larger;
    }
    while (filled > 0 && filled < buffer.length) {
      const got = fs.readSync(this.fd, buffer, filled, buffer.length - filled, from + filled);
      if (got === 0) break;
      filled += got;
    }
    if (filled === 0) return undefined;
    const read = buffer.subarray(0, filled);
    if (all || !this.live || filled === maxBytes) return read;
    const end = read.lastIndexOf(NEWLINE) + 1;
    return end === 0 ? undefined : read.subarray(0, end);
  }

  isFinal(): boolean {
    // still under its own name: its writer goes on with it
    if (this.live) this.live = fs.statSync(this.file, { throwIfNoEntry: false })?.ino === this.inode;
    return !this.live;
  }

  header(): string {
    this.head ??= firstLine((buffer) => fs.readSync(this.fd, buffer, 0, buffer.length, 0));
    return this.head;
  }

  close(): void {
    fs.closeSync(this.fd);
  }
}

const READ_AHEAD = 16 << 10;

function firstLine(read: (buffer: Buffer) => number): string {
  for (let size = 4096; ; size *= 4) {
    const buffer = Buffer.allocUnsafe(size);
    const got = read(buffer);
    const end = buffer.subarray(0, got).indexOf(NEWLINE);
    if (end >= 0) return buffer.toString('utf8', 0, end);
    if (got < size || size >= LONGEST_HEADER) return buffer.toString('utf8', 0, got);
  }
}

/** The one compressed part that is in memory, decompressed: of all tails together, so that they cost one part at most. */
let held: { file: string; inode: number; bytes: Buffer } | undefined;

class PackedPart implements OpenPart {
  readonly part: number;
  readonly isPacked = true;
  private readonly file: string;
  private readonly owner: number | undefined;

  constructor(file: string, part: number, owner: number | undefined) {
    this.file = file;
    this.part = part;
    this.owner = owner;
    if (!fs.existsSync(file)) throw Object.assign(new Error(`${file} is gone`), { code: 'ENOENT' });
  }

  read(from: number, maxBytes: number): Buffer | undefined {
    const bytes = this.content();
    if (from >= bytes.length) return undefined;
    return bytes.subarray(from, from + maxBytes);
  }

  isFinal(): boolean {
    return true;
  }

  header(): string {
    const bytes = this.content();
    return firstLine((buffer) => bytes.copy(buffer, 0));
  }

  close(): void {
    if (held?.file === this.file) held = undefined;
  }

  private content(): Buffer {
    const stat = fs.statSync(this.file, { throwIfNoEntry: false });
    if (held !== undefined && held.file === this.file && (stat === undefined || held.inode === stat.ino))
      return held.bytes;
    // removed under our hands: there is nothing more to be had
    if (stat === undefined) return Buffer.alloc(0);
    held = undefined;
    const bytes = unpacked(this.file, this.owner);
    held = { file: this.file, inode: stat.ino, bytes };
    return bytes;
  }
}

function unpacked(file: string, owner: number | undefined): Buffer {
  try {
    return unpackFile(readOwned(file, owner, LARGEST_PART), LARGEST_PART).bytes;
  } catch (error) {
    if (error instanceof NotPlain) return Buffer.alloc(0);
    throw error;
  }
}
