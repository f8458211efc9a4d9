import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../../base/fault.ts';
import { count } from '../../base/figure.ts';
import { made } from '../../base/made.ts';
import { stated } from '../../base/stated.ts';
import type { Host } from '../host.ts';
import { type PidNamespaces, pidNamespaces } from '../process/pid-namespaces.ts';
import type { Records } from '../scope.ts';
import { TOO_MANY_RECORDS } from '../too-much.ts';
import { RecordLines } from './lines.ts';
import { eventsNamed, eventsNotCounted, PERF_EVENTS } from './perf-events.ts';
import type { LineTrouble, RecordFrames } from './rows.ts';
import { processEndTable, type RecordTables } from './tables.ts';

/** Bytes that are read at a time, however much there is: memory stays small, and nobody waits long. */
const PORTION = 64 << 10;
/** No line is longer: without a newline in so much this is not our file. */
const LONGEST_LINE = 64 << 10;
/** A file that is read to its end and longer than this makes room for a new one: it lies in memory. */
const LONGEST = 16 << 20;

/**
 * A job whose processes write faster than they can be read: what is so far behind is skipped. One of the node's agent must
 * not keep it busy; a user's own agent has nothing else to do.
 */
const FARTHEST_BEHIND = { service: 32 << 20, own: 256 << 20 };
/** Bytes of a skipped part that are read to count its lines. */
const LOOKED_AT = 1 << 20;

const tails = new WeakMap<Records, RecordTail>();

/** The tail of a job's file: one for all tables that come from it. */
export function tailOf(host: Host, records: Records, redact: boolean, tables: RecordTables): RecordTail {
  return made(tails, records, () => new RecordTail(host, records, redact, tables));
}

/** Reads the file that the processes of a job on this node append their lines to, as it grows. */
export class RecordTail {
  readonly frames: RecordFrames;
  private readonly host: Host;
  private readonly records: Records;
  private readonly lines: RecordLines;
  private readonly spaces: PidNamespaces;
  /** The tables that have taken the rows of the last read. */
  private readonly taken = new Set<keyof RecordFrames>();
  private buffer = Buffer.allocUnsafeSlow(2 * PORTION);
  /** Bytes of a line whose end has not been read. */
  private kept = 0;
  private fd = -1;
  private offset = 0;
  private saved = -1;
  private more = false;
  private leaving = false;
  private moved = false;
  private closed = false;
  private skipped = 0;
  private skippedSince = 0;
  /** The next bytes are the rest of a line that was skipped. */
  private within = false;

  constructor(host: Host, records: Records, redact: boolean, tables: RecordTables) {
    this.host = host;
    this.records = records;
    this.spaces = pidNamespaces(host);
    // an agent that was here before and died has said how far it came, perhaps in a file that it has moved away
    this.moved = fs.existsSync(this.old);
    if (this.moved) this.fd = fs.openSync(this.old, 'r');
    this.offset = savedOffset(this.progress, this.moved ? this.old : records.file);
    const delays = host.text('/proc/sys/kernel/task_delayacct') !== '0';
    const resumed = this.moved || this.offset > 0;
    this.lines = new RecordLines(tables, { redact, delays, resumed, spaces: this.spaces });
    this.frames = this.lines.frames;
  }

  private get old(): string {
    return `${this.records.file}.old`;
  }

  private get progress(): string {
    return `${this.records.file}.read`;
  }

  /** Brings the rows of the lines that were appended since; does nothing until `event` has taken those of the last time. */
  advance(event: keyof RecordFrames): void {
    const { taken, lines } = this;
    const again = taken.has(event) || taken.size === 0;
    taken.add(event);
    if (!again || this.closed) return;
    for (const each of ['start', 'end', 'thread'] as const) {
      // nobody has asked for the rows of the last time: that table is not wanted
      if (!taken.has(each)) this.frames[each].clear(0);
    }
    taken.clear();
    taken.add(event);
    this.save();
    this.more = false;
    if (this.open()) this.readOn();
    if (!this.more || this.isLeft()) lines.release(this.leaving);
  }

  /** There is more than one call reads. What is kept the next agent reads. */
  behind(): boolean {
    return this.more && !this.isLeft();
  }

  /** The next calls are the last ones: nothing waits for lines that may follow. */
  last(): void {
    this.leaving = true;
  }

  /** There is no time for the rest. */
  skip(): void {
    if (this.fd >= 0 && !this.closed) this.skipTo(0);
    this.more = false;
  }

  /** Lines that were skipped, and since when (epoch microseconds). */
  lost(): { rows: number; why: string; since: number } | undefined {
    const { skipped: rows, skippedSince: since } = this;
    return rows === 0 ? undefined : { rows, why: TOO_MANY_RECORDS, since };
  }

  /** Removes the file. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    const { keep = false, untouched = false, file } = this.records;
    if (!keep) this.cutOff();
    noteTrouble(this.host, this.records, this.lines.trouble);
    if (keep) this.save();
    if (this.fd >= 0) fs.closeSync(this.fd);
    if (!keep && !untouched) fs.rmSync(path.dirname(file), { recursive: true, force: true });
  }

  private isLeft(): boolean {
    return this.leaving && this.records.keep === true;
  }

  private readOn(): void {
    const farthest = this.records.owner === undefined ? FARTHEST_BEHIND.own : FARTHEST_BEHIND.service;
    if (fs.fstatSync(this.fd).size - this.offset > farthest) this.skipTo(farthest / 2);
    const got = this.read();
    this.take(this.kept + got);
    this.more = got === PORTION;
    if (!this.more) this.turn();
  }

  private open(): boolean {
    if (this.fd >= 0) return true;
    try {
      this.fd = fs.openSync(this.records.file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
      return true;
    } catch (error) {
      if (code(error) !== 'ENOENT') throw error;
      this.remake();
      return false;
    }
  }

  /** Somebody who cleans up may have taken the folder away: what ends from now on can be recorded again. */
  private remake(): void {
    const folder = path.dirname(this.records.file);
    if (this.records.untouched === true || fs.existsSync(folder)) return;
    fs.mkdirSync(folder, { mode: 0o700 });
    const why = `${folder} was removed while the job ran; processes that ended in between are missing`;
    this.host.note({ table: processEndTable.name, what: 'records', why });
  }

  /** What was read before has been written by now: an agent that takes over need not read it again. */
  private save(): void {
    if (this.offset === this.saved || this.fd < 0 || this.moved || this.records.untouched === true) return;
    this.saved = this.offset;
    try {
      const { ino } = fs.fstatSync(this.fd);
      fs.writeFileSync(this.progress, `${ino} ${this.offset - this.kept}\n`, { mode: 0o600 });
    } catch {
      // a full memory file system: then rows come twice, and twice the same row counts once
    }
  }

  private read(): number {
    if (this.buffer.length - this.kept < PORTION) {
      const grown = Buffer.allocUnsafeSlow(this.buffer.length * 2);
      this.buffer.copy(grown, 0, 0, this.kept);
      this.buffer = grown;
    }
    const got = fs.readSync(this.fd, this.buffer, this.kept, PORTION, this.offset);
    // who has written is in /proc by now, unless it has gone
    this.spaces.look();
    this.offset += got;
    return got;
  }

  /** Takes the whole lines of what is in the buffer; the rest moves to its beginning. */
  private take(length: number): void {
    const { buffer, lines } = this;
    let from = 0;
    if (this.within) {
      const end = buffer.indexOf(10);
      if (end < 0 || end >= length) {
        this.kept = 0;
        return;
      }
      from = end + 1;
      this.within = false;
    }
    for (let end = buffer.indexOf(10, from); end >= 0 && end < length; end = buffer.indexOf(10, from)) {
      if (end > from) lines.take(buffer, from, end);
      from = end + 1;
    }
    buffer.copyWithin(0, from, length);
    this.kept = length - from;
    if (this.kept > LONGEST_LINE) this.cutOff();
  }

  /** Leaves out what is too far behind, up to so many bytes before the end. */
  private skipTo(behind: number): void {
    const left = fs.fstatSync(this.fd).size - behind - this.offset;
    if (left <= 0) return;
    const sample = Buffer.allocUnsafe(Math.min(LOOKED_AT, left));
    const got = fs.readSync(this.fd, sample, 0, sample.length, this.offset);
    let lines = 0;
    for (let i = 0; i < got; i++) if (sample[i] === 10 && sample[i - 1] !== 10) lines++;
    if (this.skipped === 0) this.skippedSince = Date.now() * 1000;
    this.skipped += Math.max(1, Math.round((lines / Math.max(1, got)) * left));
    this.offset += left;
    this.kept = 0;
    this.within = true;
  }

  /** At the end of the file: is it time for a new one? Who has the old one open still writes there: one more read. */
  private turn(): void {
    const { file, owner, untouched = false } = this.records;
    if (this.moved) {
      if (!untouched) fs.rmSync(this.old, { force: true });
      this.moved = false;
      this.restart();
      this.more = true;
    } else if (fs.statSync(file, { throwIfNoEntry: false })?.ino !== fs.fstatSync(this.fd).ino) {
      // somebody has removed it: a new one may come
      this.restart();
      this.remake();
    } else if (this.offset > LONGEST && !this.leaving && !untouched) {
      if (owner === undefined) fs.renameSync(file, this.old);
      else this.replaceFor(owner);
      this.moved = true;
    }
  }

  /** A new file in place of the old one, at no moment without one: its owner could not make it. */
  private replaceFor(owner: number): void {
    const { file } = this.records;
    const next = `${file}.new`;
    fs.rmSync(next, { force: true });
    fs.closeSync(fs.openSync(next, 'wx', 0o600));
    if (owner !== process.getuid!()) fs.chownSync(next, owner, -1);
    fs.rmSync(this.old, { force: true });
    fs.linkSync(file, this.old);
    fs.renameSync(next, file);
  }

  private restart(): void {
    fs.closeSync(this.fd);
    this.fd = -1;
    this.offset = 0;
    this.saved = -1;
    this.within = false;
    this.cutOff();
  }

  /** What is left at the end of a file has no newline. */
  private cutOff(): void {
    if (this.kept > 0) this.lines.trouble.torn++;
    this.kept = 0;
  }
}

function savedOffset(progress: string, file: string): number {
  try {
    const [inode, at] = fs.readFileSync(progress, 'latin1').split(' ').map(Number);
    const { ino, size } = fs.statSync(file);
    return inode === ino && at! <= size ? at! : 0;
  } catch {
    return 0;
  }
}

function noteTrouble(host: Host, records: Records, trouble: LineTrouble): void {
  const { torn, unknown, leftOut, events, ended, counted } = trouble;
  const note = (what: string, why: string, hint?: string): void =>
    host.note({ table: processEndTable.name, what, why, ...stated({ hint }) });
  const cut = `${count(torn, 'line was', 'lines were')} cut off`;
  if (torn > 0) note('lines', `${cut}: a process was killed while it wrote, or memory was full`);
  if (unknown > 0) note('lines', `${count(unknown, 'line is', 'lines are')} not of this version of Tacho`);
  if (leftOut > 0) note('texts', `${count(leftOut, 'text was', 'texts were')} too long for the rows of one read`);
  for (const { name, why, hint } of eventsNotCounted(records.events)) note(name, why, hint);
  for (const event of ended === 0 ? [] : eventsNamed(records.events)) {
    if (counted.has(event)) continue;
    const level = host.text('/proc/sys/kernel/perf_event_paranoid')?.trim() ?? 'unknown';
    note(
      PERF_EVENTS.get(event)!.alias,
      `no process could count it: this machine has no such counter (many virtual ones have none) or does not allow it (kernel.perf_event_paranoid is ${level})`,
    );
  }
  for (const event of events)
    note(event, 'it was not named when the recording began', 'set TACHO_RECORD_EVENTS before');
}
