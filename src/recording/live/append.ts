import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, isUnwritable, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { sampling } from '../../base/sampling.ts';
import type { Frame } from '../../table/frame.ts';
import { header, type Table } from '../../table/table.ts';
import { liveName, parsePart, partName } from '../folder/part-name.ts';
import { alreadyWritten, takeOut } from './already-written.ts';
import { CsvText } from './csv-write.ts';

export interface WriterOptions {
  /** Start a new part after so many bytes (default 64 MiB) or seconds (default 600). */
  rollBytes?: number;
  rollSeconds?: number;
  /** How much is kept in memory while the disk refuses it (default 4 MiB); beyond that the oldest is given up. */
  keepBytes?: number;
  /** Leave rolled parts as they are instead of compressing them. */
  plain?: boolean;
}

/** Bytes at a file's end in which its last line is searched. */
const LONGEST_TAIL = 1 << 20;
/** After these a file is opened anew. */
const AGAIN: readonly string[] = ['EIO', 'ESTALE', 'EROFS'];

/** What a writer had to keep or give up because the disk refused it. */
export interface Trouble {
  why: string;
  /** When the first sample was refused, in epoch microseconds. */
  since: number;
  keptRows: number;
  lostRows: number;
}

/**
 * Appends the samples of one table to node=<n>/<table>.csv, a line a row, as they are taken: what is written survives
 * kill -9. Older parts are renamed to <table>.0001.csv, compressed to <table>.0001.csv.zst and then removed.
 * A full disk never leaves half a line: the file is cut back to its last whole line and the samples wait in memory.
 */
export class TableWriter {
  readonly file: string;
  bytesWritten = 0;
  rowsWritten = 0;
  /** Set while the disk refuses samples, and for good when some had to be given up. */
  trouble: Trouble | undefined;
  /** Called before the file is closed: who writes to `output` stops. */
  onRelease: () => void = () => {};

  private readonly folder: string;
  private readonly table: Table;
  private readonly rollBytes: number;
  private readonly rollSeconds: number;
  private readonly keepBytes: number;
  private readonly plain: boolean;
  private readonly native = sampling();
  private readonly csv = new CsvText();
  private fd = -1;
  private size = 0;
  private since = 0;
  private part: number;
  private dirty = false;
  /** Some of it was brought to the disk before. */
  private isKept = false;
  private waiting: { bytes: Buffer; rows: number }[] = [];
  private waitingBytes = 0;
  /** An agent before this one has left its file, which could not be set aside yet. */
  private left = false;
  /** Its file was there once: whoever takes it away means it. */
  private begun = false;
  /** Why the last write failed. */
  private refused = '';
  /** Rows of an agent that was killed: events that it had written may come again. */
  private before: Set<string> | undefined;
  private compressing: Promise<void> = Promise.resolve();

  constructor(folder: string, table: Table, options: WriterOptions = {}) {
    this.folder = folder;
    this.table = table;
    this.file = path.join(folder, liveName(table.name));
    this.rollBytes = options.rollBytes ?? 64 << 20;
    this.rollSeconds = options.rollSeconds ?? 600;
    this.keepBytes = options.keepBytes ?? 4 << 20;
    this.plain = options.plain ?? false;
    this.part = lastPart(folder, table.name);
    // an agent that was here before may have left a torn line: never append to its file
    const left = fs.statSync(this.file, { throwIfNoEntry: false });
    if (left === undefined) return;
    // it was killed before it had written anything: an empty part would look like one that lost its rows
    if (left.size === 0) {
      fs.rmSync(this.file, { force: true });
      return;
    }
    if (table.events === true) this.before = alreadyWritten(this.file, table.keys.length);
    try {
      this.setAside();
    } catch (error) {
      if (!isUnwritable(error)) throw error;
      this.left = true;
    }
  }

  /** Writes the frame's rows. Never throws for a disk that refuses: see `trouble`. */
  append(frame: Frame): void {
    if (frame.rows === 0) {
      this.retry();
      return;
    }
    const { csv } = this;
    csv.length = 0;
    this.rollWhenDue(frame.time);
    if (this.fd < 0 && this.waiting.length === 0) this.since = frame.time;
    csv.frame(frame);
    const rows = frame.rows - this.dropKnown();
    if (rows === 0) return;
    if (this.waiting.length > 0) {
      this.wait(Buffer.from(csv.bytes.subarray(0, csv.length)), rows, frame.time);
      this.retry();
    } else if (this.write(csv.bytes, csv.length)) this.rowsWritten += rows;
    else this.wait(Buffer.from(csv.bytes.subarray(0, csv.length)), rows, frame.time);
  }

  /** A part that is long enough, or that somebody has taken away, is ended. */
  rollWhenDue(time: number): void {
    if (this.fd >= 0 && this.isRemoved()) this.letGo();
    if (this.fd >= 0 && (this.size > this.rollBytes || time - this.since > this.rollSeconds * 1e6)) this.roll();
  }

  /** The file, for who appends whole rows to it and says so afterwards; −1: nobody may but this. */
  get output(): number {
    return this.waiting.length > 0 || this.before !== undefined || this.size === 0 ? -1 : this.fd;
  }

  /** Somebody else has appended rows to `output`. */
  wrote(bytes: number, rows: number): void {
    this.size += bytes;
    this.bytesWritten += bytes;
    this.rowsWritten += rows;
    this.dirty = true;
  }

  private dropKnown(): number {
    if (this.before === undefined) return 0;
    const dropped = takeOut(this.csv, 0, this.before, this.table.keys.length);
    // they come first
    if (dropped === 0) this.before = undefined;
    return dropped;
  }

  /** Whether samples wait in memory, where they would go with their agent. */
  get isWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /** Asks the system to bring what was written to the disk; the answer is not waited for. */
  sync(): void {
    if (!this.dirty || this.fd < 0) return;
    this.dirty = false;
    this.isKept = true;
    fs.fdatasync(this.fd, () => {});
  }

  /** Ends the current part and begins the next one with the next sample. */
  roll(): void {
    if (this.fd < 0) return;
    this.letGo();
    this.setAside();
  }

  private letGo(): void {
    this.release();
    this.size = 0;
  }

  private release(): void {
    this.onRelease();
    fs.closeSync(this.fd);
    this.fd = -1;
  }

  /** Whoever took this agent for dead has sealed its file: what comes now belongs to a new one. */
  private isRemoved(): boolean {
    if (this.native !== null) return this.native.isRemoved(this.fd) === 1;
    try {
      return fs.fstatSync(this.fd).nlink === 0;
    } catch {
      // a disk in trouble: writing tells
      return false;
    }
  }

  async close(): Promise<void> {
    if (this.waiting.length > 0) this.retry();
    if (this.fd >= 0) {
      try {
        // of what is all as young as samples that were never synced, the system itself writes the rest as soon
        if (this.isKept) fs.fdatasyncSync(this.fd);
      } catch {
        // some file systems cannot; what was written is written
      }
      this.release();
    }
    await this.compressing;
  }

  private write(bytes: Buffer, length: number): boolean {
    try {
      if (this.fd < 0) {
        this.fd = this.open();
        this.size = this.wholeLines();
      }
      if (this.size === 0) {
        const head = new CsvText();
        head.line(header(this.table));
        bytes = Buffer.concat([head.bytes.subarray(0, head.length), bytes.subarray(0, length)]);
        length = bytes.length;
      }
      let at = Math.max(0, this.native?.writeFile(this.fd, bytes, 0, length) ?? 0);
      // the rest, or what was refused: this says why
      while (at < length) at += fs.writeSync(this.fd, bytes, at, length - at);
      this.size += length;
      this.bytesWritten += length;
      this.dirty = true;
      return true;
    } catch (error) {
      this.refused = reason(error);
      if (this.fd >= 0) {
        try {
          fs.ftruncateSync(this.fd, this.size);
          // an empty file would look like one that lost its rows
          if (this.size === 0) fs.unlinkSync(this.file);
        } catch {
          // then the torn line stays; readers skip it
        }
        // a file system that was aborted may come back by its name, not by what is open of it
        if (this.size === 0 || AGAIN.includes(code(error) ?? '')) this.release();
      }
      return false;
    }
  }

  /** A folder that could not be made when this began (a full disk) is made when it can be. */
  private open(): number {
    if (this.left) this.setAside();
    this.left = false;
    try {
      return fs.openSync(this.file, 'a+', 0o600);
    } catch (error) {
      if (code(error) !== 'ENOENT' || this.begun) throw error;
      makeFolder(this.folder, 0o700);
      return fs.openSync(this.file, 'a+', 0o600);
    } finally {
      this.begun ||= fs.existsSync(this.file);
    }
  }

  /** Where its last whole line ends: a disk that failed may have kept less than was written, or half a line. */
  private wholeLines(): number {
    const { size } = fs.fstatSync(this.fd);
    const tail = Buffer.alloc(Math.min(size, LONGEST_TAIL));
    fs.readSync(this.fd, tail, 0, tail.length, size - tail.length);
    const end = tail.lastIndexOf(10) + 1;
    if (end === tail.length) return size;
    const whole = end === 0 ? size : size - tail.length + end;
    fs.ftruncateSync(this.fd, whole);
    return whole;
  }

  private wait(bytes: Buffer, rows: number, time: number): void {
    this.waiting.push({ bytes, rows });
    this.waitingBytes += bytes.length;
    const trouble = this.trouble ?? { why: this.refused, since: time, keptRows: 0, lostRows: 0 };
    trouble.why = this.refused;
    trouble.keptRows += rows;
    while (this.waitingBytes > this.keepBytes && this.waiting.length > 1) {
      const lost = this.waiting.shift();
      this.waitingBytes -= lost!.bytes.length;
      trouble.keptRows -= lost!.rows;
      trouble.lostRows += lost!.rows;
    }
    this.trouble = trouble;
  }

  /** Tries again to write what waits. */
  retry(): void {
    while (this.waiting.length > 0) {
      const [next] = this.waiting;
      if (!this.write(next!.bytes, next!.bytes.length)) return;
      this.rowsWritten += next!.rows;
      this.waiting.shift();
      this.waitingBytes -= next!.bytes.length;
      if (this.trouble) this.trouble.keptRows -= next!.rows;
    }
    if (this.trouble?.lostRows === 0) this.trouble = undefined;
  }

  private setAside(): void {
    // a hub may have had us take up later numbers meanwhile
    this.part = Math.max(this.part, lastPart(this.folder, this.table.name)) + 1;
    const aside = path.join(this.folder, partName(this.table.name, this.part));
    fs.renameSync(this.file, aside);
    if (!this.plain) this.compressing = this.compressing.then(() => compressPart(aside)).catch(() => {});
  }
}

/** Replaces a part by its compressed form; whatever happens on the way, one of the two is whole. */
export async function compressPart(partFile: string): Promise<void> {
  const { zstdCompress, constants } = await import('node:zlib');
  const { promisify } = await import('node:util');
  const packed = await promisify(zstdCompress)(await fs.promises.readFile(partFile), {
    params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 },
  });
  const temporary = `${partFile}.zst.tmp`;
  const file = await fs.promises.open(temporary, 'w', 0o600);
  try {
    await file.writeFile(packed);
    await file.sync();
  } finally {
    await file.close();
  }
  await fs.promises.rename(temporary, `${partFile}.zst`);
  await fs.promises.unlink(partFile);
}

function lastPart(folder: string, table: string): number {
  let last = 0;
  for (const name of namesIn(folder)) {
    const file = parsePart(name);
    if (file?.table === table) last = Math.max(last, file.part ?? 0);
  }
  return last;
}

/** A folder that is not there yet has none. */
function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch (error) {
    if (code(error) !== 'ENOENT') throw error;
    return [];
  }
}
