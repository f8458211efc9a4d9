import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../../base/fault.ts';
import { count } from '../../base/figure.ts';
import type { Table } from '../../table/table.ts';
import type { Host } from '../host.ts';
import { pidNamespaces } from '../process/pid-namespaces.ts';
import type { Records } from '../scope.ts';
import { TOO_MANY_RECORDS } from '../too-much.ts';
import { recordLines } from './lines.ts';
import { eventsNamed, eventsNotCounted, PERF_EVENTS } from './perf-events.ts';
import type { RecordFrames } from './rows.ts';
import { processEndTable } from './tables.ts';

/** Reads the file that the processes of a job on this node append their lines to, as it grows. */
export interface RecordTail {
  readonly frames: RecordFrames;
  /** Brings the rows of the lines that were appended since; does nothing until `part` has taken those of the last time. */
  advance(part: keyof RecordFrames): void;
  /** There is more than one call reads. */
  behind(): boolean;
  /** The next calls are the last ones: nothing waits for lines that may follow. */
  last(): void;
  /** There is no time for the rest. */
  skip(): void;
  /** Lines that were skipped, and since when (epoch microseconds). */
  lost(): { rows: number; why: string; since: number } | undefined;
  /** Removes the file. */
  close(): void;
}

/** So much is read at a time, whatever has gathered: memory stays small, and nobody waits long for it. */
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
/** So much of what is skipped is looked at, to tell how many lines it had. */
const LOOKED_AT = 1 << 20;

const tails = new WeakMap<Records, RecordTail>();

/** The tail of a job's file: one for all tables that come from it. */
export function tailOf(
  host: Host,
  records: Records,
  redact: boolean,
  tables: { start: Table; end: Table; thread: Table },
): RecordTail {
  const known = tails.get(records);
  if (known !== undefined) return known;
  const made = openTail(host, records, redact, tables);
  tails.set(records, made);
  return made;
}

function openTail(
  host: Host,
  records: Records,
  redact: boolean,
  tables: { start: Table; end: Table; thread: Table },
): RecordTail {
  const { file, untouched = false } = records;
  const progress = `${file}.read`;
  const old = `${file}.old`;
  const delays = host.text('/proc/sys/kernel/task_delayacct') !== '0';
  const resumed = fs.existsSync(old) || savedOffset(file) > 0;
  const spaces = pidNamespaces(host);
  const lines = recordLines(tables, { redact, delays, resumed, spaces });
  const taken = new Set<keyof RecordFrames>();
  let buffer = Buffer.allocUnsafeSlow(2 * PORTION);
  let kept = 0;
  let fd = -1;
  let offset = 0;
  let saved = -1;
  let more = false;
  let leaving = false;
  let moved = false;
  let closed = false;
  let skipped = 0;
  let skippedSince = 0;
  /** The next bytes are the rest of a line that was skipped. */
  let within = false;

  // an agent that was here before and died has said how far it came, perhaps in a file that it has moved away
  if (fs.existsSync(old)) {
    fd = fs.openSync(old, 'r');
    moved = true;
  }
  offset = savedOffset(moved ? old : file);

  function savedOffset(name: string): number {
    try {
      const [inode, at] = fs.readFileSync(progress, 'latin1').split(' ').map(Number);
      const { ino, size } = fs.statSync(name);
      return inode === ino && at! <= size ? at! : 0;
    } catch {
      return 0;
    }
  }

  function open(): boolean {
    if (fd >= 0) return true;
    try {
      fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
      return true;
    } catch (error) {
      if (code(error) !== 'ENOENT') throw error;
      remake();
      return false;
    }
  }

  /** Somebody who cleans up may have taken the folder away: what ends from now on can be recorded again. */
  function remake(): void {
    const folder = path.dirname(file);
    if (untouched || fs.existsSync(folder)) return;
    fs.mkdirSync(folder, { mode: 0o700 });
    host.note({
      table: processEndTable.name,
      what: 'records',
      why: `${folder} was removed while the job ran; processes that ended in between are missing`,
    });
  }

  /** What was read before has been written by now: an agent that takes over need not read it again. */
  function save(): void {
    if (offset === saved || fd < 0 || moved || untouched) return;
    saved = offset;
    try {
      fs.writeFileSync(progress, `${fs.fstatSync(fd).ino} ${offset - kept}\n`, { mode: 0o600 });
    } catch {
      // a full memory file system: then rows come twice, and twice the same row counts once
    }
  }

  function read(): number {
    if (buffer.length - kept < PORTION) {
      const grown = Buffer.allocUnsafeSlow(buffer.length * 2);
      buffer.copy(grown, 0, 0, kept);
      buffer = grown;
    }
    const got = fs.readSync(fd, buffer, kept, PORTION, offset);
    // who has written is in /proc by now, unless it has gone
    spaces.look();
    offset += got;
    return got;
  }

  /** Takes the whole lines of what is in the buffer; the rest moves to its beginning. */
  function take(length: number): void {
    let from = 0;
    if (within) {
      const end = buffer.indexOf(10);
      if (end < 0 || end >= length) {
        kept = 0;
        return;
      }
      from = end + 1;
      within = false;
    }
    for (let end = buffer.indexOf(10, from); end >= 0 && end < length; end = buffer.indexOf(10, from)) {
      if (end > from) lines.take(buffer, from, end);
      from = end + 1;
    }
    buffer.copyWithin(0, from, length);
    kept = length - from;
    if (kept > LONGEST_LINE) cutOff();
  }

  /** Leaves out what is too far behind, up to so many bytes before the end. */
  function skipTo(behind: number): void {
    const to = fs.fstatSync(fd).size - behind;
    if (to <= offset) return;
    const sample = Buffer.allocUnsafe(Math.min(LOOKED_AT, to - offset));
    const got = fs.readSync(fd, sample, 0, sample.length, offset);
    let lines = 0;
    for (let i = 0; i < got; i++) if (sample[i] === 10) lines++;
    if (skipped === 0) skippedSince = Date.now() * 1000;
    skipped += Math.max(1, Math.round((lines / Math.max(1, got)) * (to - offset)));
    offset = to;
    kept = 0;
    within = true;
  }

  /** At the end of the file: is it time for a new one? Who has the old one open still writes there: one more read. */
  function turn(): void {
    if (moved) {
      fs.closeSync(fd);
      if (!untouched) fs.rmSync(old, { force: true });
      moved = false;
      restart();
      more = true;
    } else if (fs.statSync(file, { throwIfNoEntry: false })?.ino !== fs.fstatSync(fd).ino) {
      // somebody has removed it: a new one may come
      fs.closeSync(fd);
      restart();
      remake();
    } else if (offset > LONGEST && !leaving && !untouched) {
      if (records.owner === undefined) fs.renameSync(file, old);
      else replaceFor(records.owner);
      moved = true;
    }
  }

  /** A new file in place of the old one, at no moment without one: its owner could not make it. */
  function replaceFor(owner: number): void {
    const next = `${file}.new`;
    fs.rmSync(next, { force: true });
    fs.closeSync(fs.openSync(next, 'wx', 0o600));
    if (owner !== process.getuid!()) fs.chownSync(next, owner, -1);
    fs.rmSync(old, { force: true });
    fs.linkSync(file, old);
    fs.renameSync(next, file);
  }

  function restart(): void {
    fd = -1;
    offset = 0;
    saved = -1;
    within = false;
    cutOff();
  }

  /** What is left at the end of a file has no newline. */
  function cutOff(): void {
    if (kept > 0) lines.trouble.torn++;
    kept = 0;
  }

  function tell(): void {
    const { torn, unknown, leftOut, events, ended, counted } = lines.trouble;
    const note = (what: string, why: string, hint?: string): void =>
      host.note({ table: processEndTable.name, what, why, ...(hint === undefined ? {} : { hint }) });
    if (torn > 0)
      note(
        'lines',
        `${count(torn, 'line was', 'lines were')} cut off: a process was killed while it wrote, or memory was full`,
      );
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

  return {
    frames: lines.frames,
    advance(part) {
      const again = taken.has(part) || taken.size === 0;
      taken.add(part);
      if (!again || closed) return;
      for (const each of ['start', 'end', 'thread'] as const) {
        // nobody has asked for the rows of the last time: that table is not wanted
        if (!taken.has(each)) lines.frames[each].clear(0);
      }
      taken.clear();
      taken.add(part);
      save();
      more = false;
      if (open()) {
        const farthest = records.owner === undefined ? FARTHEST_BEHIND.own : FARTHEST_BEHIND.service;
        if (fs.fstatSync(fd).size - offset > farthest) skipTo(farthest / 2);
        const got = read();
        take(kept + got);
        more = got === PORTION;
        if (!more) turn();
      }
      const isLast = leaving && records.keep === true;
      if (!more || isLast) lines.release(leaving);
    },
    // what is kept the next agent reads
    behind: () => more && !(leaving && records.keep === true),
    skip() {
      if (fd >= 0 && !closed) skipTo(0);
      more = false;
    },
    lost: () => (skipped === 0 ? undefined : { rows: skipped, why: TOO_MANY_RECORDS, since: skippedSince }),
    last() {
      leaving = true;
    },
    close() {
      if (closed) return;
      closed = true;
      if (records.keep !== true) cutOff();
      tell();
      if (records.keep === true) save();
      if (fd >= 0) fs.closeSync(fd);
      if (records.keep !== true && !untouched) fs.rmSync(path.dirname(file), { recursive: true, force: true });
    },
  };
}
