import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../../base/fault.ts';
import { partName } from '../../recording/folder/part-name.ts';
import type { Position } from '../../recording/live/position.ts';
import { type ArchiveFolders, type ArchivePath, openToAppend, openToRead } from './archive-folder.ts';
import type { Descriptors, Held } from './descriptors.ts';
import { positionOf, type ReceivedTable, readReceived, writeReceived } from './received.ts';

/** What all tables of a hub share. */
export interface Shelf {
  readonly folders: ArchiveFolders;
  readonly descriptors: Descriptors;
  /** A part of a node's table is finished: it may be compressed. */
  rolled(node: ArchivePath, file: string): void;
}

/** What lies in a node's folder of one table. */
export interface TableOnDisk {
  /** Length of the live file. */
  live: number | undefined;
  /** Number of the newest finished part; 0: none. */
  newest: number;
  /** All its files together. */
  bytes: number;
  /** Newest change, epoch milliseconds. */
  changed: number;
}

const LONGEST_HEADER = 1 << 20;
/** Rates are over the last half to whole minute. */
const HALF_WINDOW_MS = 30_000;
const NEWLINE = 10;

/** One table of one node as the hub files it: what it has, and how more is added. */
export class TableFile implements Held {
  readonly name: string;
  fd = -1;
  recent = false;
  dirty = false;
  /** How much of it there is. */
  part: number;
  bytes: number;
  /** In the archive, as its files are. */
  stored: number;
  /** Arrival of the newest samples, epoch milliseconds. */
  newest: number;

  private readonly shelf: Shelf;
  private readonly node: ArchivePath;
  /** There is a live file that can be appended to. */
  private begun: boolean;
  private received = 0;
  private rows = 0;
  private readonly marks = new Float64Array(6);

  constructor(
    shelf: Shelf,
    node: ArchivePath,
    name: string,
    tableOnDisk: TableOnDisk | undefined,
    noted: ReceivedTable | undefined,
  ) {
    this.shelf = shelf;
    this.node = node;
    this.name = name;
    const live = tableOnDisk?.live;
    const position = positionOf(live, tableOnDisk?.newest ?? 0, noted);
    this.part = position.part;
    this.bytes = position.bytes;
    this.begun = live !== undefined && !(live === 0 || isTorn(live, position, noted));
    this.stored = tableOnDisk?.bytes ?? 0;
    this.newest = tableOnDisk?.changed ?? 0;
  }

  get position(): Position {
    return { part: this.part, bytes: this.bytes };
  }

  /** Adds what is new of a run of bytes; what does not follow on what is there is left. Throws when the disk refuses. */
  append(filePart: number, from: number, bytes: Buffer, now: number): void {
    if (filePart !== this.part) {
      // the next part begins when the one before was sent to its end
      if (filePart !== this.part + 1 || from !== 0 || this.bytes === 0) return;
      this.moveTo({ part: filePart, bytes: 0 });
    }
    const skip = this.bytes - from;
    if (skip < 0 || skip >= bytes.length) return;
    if (this.fd < 0) this.open();
    this.recent = true;
    let at = skip;
    try {
      while (at < bytes.length) {
        const written = fs.writeSync(this.fd, bytes, at, bytes.length - at);
        at += written;
      }
    } finally {
      if (at > skip) this.count(at === bytes.length && skip === 0 ? bytes : bytes.subarray(skip, at), now);
    }
  }

  /** Goes on at a later position: the part that is there is finished, or what lies between was given up. */
  moveTo(position: Position): void {
    this.release();
    this.shelf.folders.in(this.node, true, (folder) => {
      const next = position.part === this.part + 1 && position.bytes === 0;
      if (position.part > this.part && this.begun) {
        const header = next ? '' : readHeader(path.join(folder, `${this.name}.csv`));
        const file = partName(this.name, this.part);
        fs.renameSync(path.join(folder, `${this.name}.csv`), path.join(folder, file));
        this.begun = false;
        this.part++;
        this.bytes = 0;
        this.shelf.rolled(this.node, file);
        if (!next) this.note(folder, position, header);
      } else this.note(folder, position);
      this.part = position.part;
      this.bytes = position.bytes;
    });
  }

  /** Where it stands, to be noted before its files are sealed: they will be gone, this stays. */
  noted(folder: string, before: ReceivedTable | undefined): ReceivedTable {
    const file = path.join(folder, `${this.name}.csv`);
    return {
      part: this.part,
      bytes: this.bytes,
      live: this.begun ? (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) : 0,
      header: this.bytes === 0 ? '' : this.begun ? readHeader(file) : (before?.header ?? ''),
    };
  }

  /** Its files are others now: they were sealed. */
  refresh(tableOnDisk: TableOnDisk | undefined): void {
    this.begun = tableOnDisk?.live !== undefined && tableOnDisk.live > 0;
    this.stored = tableOnDisk?.bytes ?? 0;
  }

  release(): void {
    if (this.fd >= 0) this.shelf.descriptors.drop(this);
  }

  /** Over the last minute. */
  rates(now: number): { rows: number; bytes: number } {
    const [since, rows, bytes] = this.marks as unknown as [number, number, number];
    // nothing for a minute: whatever was before does not count
    if (since === 0 || now - this.newest > 2 * HALF_WINDOW_MS) return { rows: 0, bytes: 0 };
    const seconds = Math.max(1, (now - since) / 1000);
    return { rows: (this.rows - rows) / seconds, bytes: (this.received - bytes) / seconds };
  }

  private count(bytes: Buffer, now: number): void {
    const { marks } = this;
    if (now - marks[3]! > HALF_WINDOW_MS) {
      marks.copyWithin(0, 3, 6);
      marks[3] = now;
      marks[4] = this.rows;
      marks[5] = this.received;
      if (marks[0] === 0) marks.copyWithin(0, 3, 6);
    }
    this.bytes += bytes.length;
    this.stored += bytes.length;
    this.received += bytes.length;
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) this.rows++;
    this.newest = now;
    this.dirty = true;
  }

  private open(): void {
    this.shelf.folders.in(this.node, true, (folder) => {
      this.shelf.descriptors.add(this);
      const file = path.join(folder, `${this.name}.csv`);
      try {
        if (!this.begun && this.bytes > 0) this.begin(folder, file);
        this.fd = openToAppend(file);
        this.begun = true;
      } catch (error) {
        this.shelf.descriptors.forget(this);
        throw error;
      }
    });
  }

  /** A live file that begins in the middle of a part (the rest was sealed) gets the part's header, too. */
  private begin(folder: string, file: string): void {
    const header = readReceived(folder).tables[this.name]?.header ?? '';
    this.note(folder, this.position, header, Buffer.byteLength(header));
    const fd = openToAppend(file);
    try {
      // only ever our own header, torn; anything longer was written by somebody else and stays
      if (fs.fstatSync(fd).size <= Buffer.byteLength(header)) {
        fs.ftruncateSync(fd, 0);
        if (header !== '') fs.writeSync(fd, header);
      }
    } finally {
      fs.closeSync(fd);
    }
  }

  private note(folder: string, position: Position, header?: string, live?: number): void {
    const received = readReceived(folder);
    const now = this.noted(folder, received.tables[this.name]);
    received.tables[this.name] = {
      ...now,
      ...position,
      header: header ?? now.header,
      live: live ?? now.live,
    };
    writeReceived(folder, received);
  }
}

function isTorn(live: number, position: Position, noted: ReceivedTable | undefined): boolean {
  return (
    noted !== undefined &&
    position.part === noted.part &&
    position.bytes === noted.bytes &&
    live < noted.live &&
    live <= Buffer.byteLength(noted.header)
  );
}

/** The first line of a file, with its end; '' when there is none. */
function readHeader(file: string): string {
  let fd: number;
  try {
    fd = openToRead(file);
  } catch (error) {
    if (code(error) === 'ENOENT') return '';
    throw error;
  }
  try {
    let bytes = Buffer.alloc(4096);
    for (;;) {
      const read = fs.readSync(fd, bytes, 0, bytes.length, 0);
      const end = bytes.indexOf(NEWLINE);
      if (end >= 0 && end < read) return bytes.toString('utf8', 0, end + 1);
      if (read < bytes.length || bytes.length >= LONGEST_HEADER) return '';
      bytes = Buffer.alloc(bytes.length * 4);
    }
  } finally {
    fs.closeSync(fd);
  }
}
