import { Frame } from '../table/frame.ts';
import type { Table } from '../table/table.ts';
import { type Known, knownProcesses, NOTHING, type Written } from './process-record-known.ts';
import { decoded, decodedArguments, nameOf, placeOf } from './process-record-text.ts';

/** The tables that the lines of native/record-*.c become, and the rows that are ready. */
export interface RecordFrames {
  readonly start: Frame;
  readonly end: Frame;
  readonly thread: Frame;
}

export interface RecordLines {
  readonly frames: RecordFrames;
  /** Takes the line between these places, without its newline. */
  take(bytes: Buffer, from: number, to: number): void;
  /** Lets go what waited for the lines that follow: of a read before the last one, or everything. */
  release(everything: boolean): void;
  /** Lines that were cut off or that nobody understands, and events that no column is there for. */
  readonly trouble: { torn: number; unknown: number; readonly events: Set<string> };
}

const TAB = 9;
const POINT = 46;
const BACKSLASH = 92;
const LOWER_C = 99;
const START = 83;
const END = 69;
const THREAD = 84;
const TEXT = 65;
const WAITED = 87;
const TAKEN_BACK = 78;
const FIRST = 49;
const THIRD = 51;

const METRICS = 28;
/** Fields of each kind of line, the point included; events follow the metrics of ends. */
const START_FIELDS = 17;
const END_FIELDS = 20 + METRICS + 1;
const WAITED_FIELDS = 15;
const TAKEN_BACK_FIELDS = 5;
const THREAD_FIELDS = 7 + METRICS + 1;
/** Where metrics begin among the numbers of a row. */
const END_METRICS = 8;
const THREAD_METRICS = 1;
/** cutime and cstime are of a whole process. */
const OF_CHILDREN = [2, 3];
/** delayacct_blkio_time: a kernel that does not count it says 0. */
const BLOCK_DELAY = 21;
const WCHAR = 12;
const SYSCW = 14;

/** Texts longer than a line are kept until their process has ended; of those that were killed the oldest are let go. */
const LONG_TEXT_BYTES = 16 << 20;

/** Lines of one process that wait for what follows. */
interface Waiting {
  /** The start of a forked child. */
  fork?: Buffer;
  /** An end by exec. */
  exec?: Buffer;
  /** What another process, or the image before, told of it. */
  told?: Buffer;
  /** An end without an exit code. */
  exit?: Buffer;
  seen: boolean;
}

/** What a process that was waited for used, by the names of columns and where its line has them. */
const WAITED_METRICS = ['minflt', 'majflt', 'inblock', 'outblock', 'vol_ctxsw', 'invol_ctxsw'].map(
  (name, i) => [name, 8 + i] as const,
);

/**
 * Makes rows of lines. Some kinds of lines wait for what follows: the start of a forked child, which most often executes
 * another program at once and then has nothing to tell; an end by exec, which may fail, and then the image lives on; what
 * was told of a program, which most often speaks for itself; and an end whose exit code only the parent knows.
 */
export function recordLines(
  tables: { start: Table; end: Table; thread: Table },
  { redact = false, delays = true, resumed = false }: { redact?: boolean; delays?: boolean; resumed?: boolean } = {},
): RecordLines {
  const frames = { start: new Frame(tables.start), end: new Frame(tables.end), thread: new Frame(tables.thread) };
  const trouble = { torn: 0, unknown: 0, events: new Set<string>() };
  const waiting = new Map<string, Waiting>();
  const known = knownProcesses(resumed);
  const longTexts = new Map<string, Map<string, Buffer[]>>();
  let longBytes = 0;
  const eventPlaces = new Map<string, number>();
  const firstEvent = tables.end.columns.findIndex((column) => column.name === 'PERF_COUNT_SW_CPU_CLOCK') + 1;
  tables.end.columns.slice(firstEvent).forEach((column, i) => void eventPlaces.set(column.name, METRICS + i));

  // where the fields of the current line begin; one behind the last
  const at = new Int32Array(128);
  let bytes: Buffer = Buffer.alloc(0);
  let fields = 0;
  let bad = false;

  const word = (i: number): string => bytes.toString('latin1', at[i]!, at[i + 1]! - 1);
  const is = (i: number, expected: string): boolean =>
    at[i + 1]! - 1 - at[i]! === expected.length && word(i) === expected;

  function number(i: number): number {
    const end = at[i + 1]! - 1;
    let p = at[i]!;
    if (p === end) return Number.NaN;
    let value = 0;
    for (; p < end; p++) {
      const digit = bytes[p]! - 48;
      if (digit < 0 || digit > 9) {
        bad = true;
        return Number.NaN;
      }
      value = value * 10 + digit;
    }
    return value;
  }

  function text(i: number, field: string, id: string): string {
    const from = at[i]!;
    const to = at[i + 1]! - 1;
    const decode = field === 'args' ? decodedArguments : decoded;
    if (to - from !== 2 || bytes[from] !== BACKSLASH || bytes[from + 1] !== LOWER_C) return decode(bytes, from, to);
    const pieces = Buffer.concat(longTexts.get(id)?.get(field) ?? []);
    return decode(pieces, 0, pieces.length);
  }

  function split(from: number, to: number): void {
    fields = 0;
    at[fields++] = from;
    for (let p = from; p < to && fields < at.length - 1; p++) if (bytes[p] === TAB) at[fields++] = p + 1;
    at[fields] = to + 1;
  }

  function identity(frame: Frame, row: number, firstText: number, ppid?: number): void {
    const n = row * frame.numberWidth;
    for (let i = 0; i < 4; i++) frame.numbers[n + i] = number(4 + i);
    if (ppid !== undefined) frame.numbers[n] = ppid;
    const t = row * frame.textWidth;
    const { texts } = frame;
    const pid = word(2);
    const start = word(3);
    const id = `${pid}:${start}`;
    const directory = text(firstText + 2, 'directory', id);
    const program = text(firstText + 3, 'path', id).replace(/ \(deleted\)(?='?$)/, '');
    const named = text(firstText + 5, 'exename', id);
    texts[t] = pid;
    texts[t + 1] = start;
    texts[t + 2] = text(firstText, 'rank', id);
    texts[t + 3] = text(firstText + 1, 'tags', id);
    texts[t + 4] = directory;
    // whoever told of it may have named it by its place in the folder
    texts[t + 5] = placeOf(directory, program);
    texts[t + 6] = redact ? '' : text(firstText + 6, 'args', id);
    texts[t + 7] = named === '' ? nameOf(program) : named;
    texts[t + 9] = redact ? '' : text(firstText + 4, 'argv0', id);
  }

  /** A line that was damaged in a way that its form does not show leaves no row behind. */
  function finish(frame: Frame): boolean {
    if (!bad) return true;
    frame.drop();
    trouble.torn++;
    return false;
  }

  function addStart(ppid?: number): void {
    const frame = frames.start;
    const row = frame.row();
    frame.times![row] = number(1);
    identity(frame, row, 9, ppid);
    frame.texts[row * frame.textWidth + 8] = is(8, 'spawn') ? 'told' : word(8);
    finish(frame);
  }

  function addEnd(ppid?: number, wrote = NOTHING, exitcode?: number): void {
    const frame = frames.end;
    const row = frame.row();
    frame.times![row] = number(1);
    identity(frame, row, 8, ppid);
    frame.texts[row * frame.textWidth + 8] = word(15);
    frame.texts[row * frame.textWidth + 10] = 'itself';
    const n = row * frame.numberWidth;
    for (let i = 0; i < 4; i++) frame.numbers[n + 4 + i] = number(16 + i);
    if (exitcode !== undefined) frame.numbers[n + 4] = exitcode;
    metrics(frame, n + END_METRICS, 20);
    frame.numbers[n + END_METRICS + WCHAR]! -= wrote.bytes;
    frame.numbers[n + END_METRICS + SYSCW]! -= wrote.calls;
    if (finish(frame) && number(18) === 1) addOnlyThread(row);
    forget(`${word(2)}:${word(3)}`);
  }

  /** What a process with one thread used is what that thread used: the library does not write it twice. */
  function addOnlyThread(row: number): void {
    const { end, thread } = frames;
    const r = thread.row();
    thread.times![r] = end.times![row]!;
    const t = r * thread.textWidth;
    thread.texts[t] = thread.texts[t + 2] = end.texts[row * end.textWidth]!;
    thread.texts[t + 1] = end.texts[row * end.textWidth + 1]!;
    thread.texts[t + 3] = end.texts[row * end.textWidth + 8]!;
    const from = row * end.numberWidth + END_METRICS;
    const to = r * thread.numberWidth;
    thread.numbers[to] = number(3);
    for (let i = 0; i < METRICS + eventPlaces.size; i++) {
      if (!OF_CHILDREN.includes(i)) thread.numbers[to + THREAD_METRICS + i] = end.numbers[from + i]!;
    }
  }

  function addThread(): void {
    const frame = frames.thread;
    const row = frame.row();
    frame.times![row] = number(1);
    const t = row * frame.textWidth;
    for (let i = 0; i < 3; i++) frame.texts[t + i] = word(2 + i);
    frame.texts[t + 3] = word(6);
    const n = row * frame.numberWidth;
    frame.numbers[n] = number(5);
    metrics(frame, n + THREAD_METRICS, 7);
    finish(frame);
  }

  function metrics(frame: Frame, place: number, field: number): void {
    for (let i = 0; i < METRICS; i++) frame.numbers[place + i] = number(field + i);
    if (!delays) frame.numbers[place + BLOCK_DELAY] = Number.NaN;
    for (let i = field + METRICS; i < fields - 1; i++) {
      const equals = bytes.indexOf(61, at[i]!);
      const name = bytes.toString('latin1', at[i]!, equals);
      const known = eventPlaces.get(name);
      if (equals < 0 || equals >= at[i + 1]! - 1) bad = true;
      else if (known === undefined) trouble.events.add(name);
      else {
        at[i] = equals + 1;
        frame.numbers[place + known] = number(i);
      }
    }
  }

  /** A piece of a text that is too long for a line; a character may be divided between two pieces. */
  function addText(): void {
    const id = `${word(1)}:${word(2)}`;
    const texts = longTexts.get(id) ?? new Map<string, Buffer[]>();
    const pieces = texts.get(word(3)) ?? [];
    const piece = Buffer.from(bytes.subarray(at[4]!, at[5]! - 1));
    longTexts.set(id, texts.set(word(3), pieces));
    pieces.push(piece);
    longBytes += piece.length;
    for (const oldest of longTexts.keys()) {
      if (longBytes <= LONG_TEXT_BYTES || oldest === id) break;
      forget(oldest);
    }
  }

  function forget(id: string): void {
    for (const pieces of longTexts.get(id)?.values() ?? []) for (const piece of pieces) longBytes -= piece.length;
    longTexts.delete(id);
  }

  /** Does something with a line of before in place of the current one. */
  function using(line: Buffer, action: () => void): void {
    const before = { bytes, fields, at: at.slice() };
    bytes = line;
    bad = false;
    split(0, line.length);
    action();
    bytes = before.bytes;
    fields = before.fields;
    bad = false;
    at.set(before.at);
  }

  /** Lines that have waited become rows after all. */
  function letGo(pid: string, exitcode?: number): void {
    const held = waiting.get(pid);
    if (held === undefined) return;
    waiting.delete(pid);
    const live = known.living.get(pid);
    const ppid = live?.ppid;
    const wrote = live?.wroteBefore;
    // a child that was forked to execute something was never anything else
    if (held.fork !== undefined && held.told === undefined) using(held.fork, addStart);
    if (held.exec !== undefined) using(held.exec, () => addEnd(ppid, wrote));
    if (held.told !== undefined) using(held.told, addStart);
    if (held.exit !== undefined) using(held.exit, () => addEnd(ppid, wrote, exitcode));
  }

  const line = (): Buffer => Buffer.from(bytes.subarray(at[0]!, at[fields]! - 1));

  function wait(kind: 'fork' | 'exec' | 'told' | 'exit', pid: string): void {
    const held = waiting.get(pid) ?? { seen: false };
    held[kind] = line();
    held.seen = false;
    waiting.set(pid, held);
  }

  /** With the current line, and its newlines. */
  const withThis = ({ bytes: before, calls } = NOTHING): Written => ({
    bytes: before + at[fields]! - at[0]! + 1,
    calls: calls + 1,
  });

  /** The start that a line has, as it stands there. */
  function startOf(line: Buffer | undefined): string {
    let start = '';
    if (line !== undefined)
      using(line, () => {
        start = word(3);
      });
    return start;
  }

  function dropTold(held: Waiting | undefined, pid: string): void {
    if (held?.told === undefined) return;
    forget(`${pid}:${startOf(held.told)}`);
    delete held.told;
  }

  function told(pid: string, start: number): void {
    const before = known.living.get(pid);
    // of a child that was spawned its parent tells only afterwards: it may have spoken, and even ended, before
    if ((before !== undefined && !before.told && before.start >= start) || known.endedSince(pid, start)) {
      forget(`${pid}:${word(3)}`);
      return;
    }
    if (waiting.get(pid)?.exit !== undefined) letGo(pid);
    dropTold(waiting.get(pid), pid);
    wait('told', pid);
    const wrote = is(8, 'told') ? withThis(before?.wrote) : (before?.wrote ?? NOTHING);
    known.begin(pid, {
      start,
      ppid: number(4),
      line: line(),
      told: true,
      before: before?.told ? before.before : before,
      wrote,
      wroteBefore: before?.wroteBefore ?? NOTHING,
    });
  }

  function started(): void {
    const pid = word(2);
    const start = number(3);
    if (is(8, 'told') || is(8, 'spawn')) {
      told(pid, start);
      return;
    }
    const held = waiting.get(pid);
    if (is(8, 'fork')) {
      letGo(pid);
      wait('fork', pid);
      known.begin(pid, { start, ppid: number(4), line: line(), told: false, wrote: withThis(), wroteBefore: NOTHING });
      return;
    }
    // a process that executes a program keeps the parent that it was started by, which may have ended since
    const before = known.living.get(pid);
    const same = before !== undefined && (before.told || held !== undefined) ? before : undefined;
    const ppid = same === undefined || Number.isNaN(same.ppid) ? number(4) : same.ppid;
    dropTold(held, pid);
    if (held?.fork !== undefined) delete held.fork;
    letGo(pid);
    known.begin(pid, {
      ...same,
      start,
      ppid,
      line: line(),
      told: false,
      before: undefined,
      wrote: withThis(same?.wrote),
      wroteBefore: same?.wrote ?? NOTHING,
    });
    addStart(ppid);
  }

  function ended(): void {
    const pid = word(2);
    const held = waiting.get(pid);
    let live = known.living.get(pid);
    // that exec failed
    if (held?.exec !== undefined && is(3, startOf(held.exec))) delete held.exec;
    if (live?.before !== undefined && live.before.start === number(3)) {
      dropTold(held, pid);
      live = live.before;
      known.begin(pid, live);
    }
    letGo(pid);
    if (is(15, 'exec')) {
      wait('exec', pid);
      if (live !== undefined) live.wrote = withThis(live.wrote);
      return;
    }
    const ppid = live !== undefined && live.start === number(3) ? live.ppid : number(4);
    known.end(pid, number(3));
    // with what its own children used that it waited for
    known.childUsed(String(ppid), number(20) + (number(22) || 0), number(21) + (number(23) || 0));
    if (at[17]! - at[16]! > 1 || !is(15, 'exit')) addEnd(ppid, live?.start === number(3) ? live.wroteBefore : NOTHING);
    else {
      known.begin(pid, {
        start: number(3),
        ppid,
        line: Buffer.alloc(0),
        told: false,
        ended: true,
        wrote: NOTHING,
        wroteBefore: live?.wroteBefore ?? NOTHING,
      });
      wait('exit', pid);
    }
  }

  /** A parent says how a child ended: news only of one that has not said so itself. */
  function waited(): void {
    const pid = word(2);
    const status = number(4);
    const live = known.living.get(pid);
    if (live?.ended === true) {
      letGo(pid, (status & 0x7f) === 0 ? (status >> 8) & 0xff : undefined);
      known.end(pid, live.start);
      known.done(pid);
      return;
    }
    const like = live ?? (known.done(pid) ? undefined : known.living.get(word(3)));
    if (like === undefined) return;
    letGo(pid);
    addWaited(pid, live, like, status);
    known.childUsed(word(3), number(5), number(6));
    known.end(pid, live?.start ?? 0);
    known.done(pid);
  }

  /** A child that nobody has told of, made by a system call of its own, is a copy of its parent. */
  function addWaited(pid: string, live: Known | undefined, like: Known, status: number): void {
    const frame = frames.end;
    const row = frame.row();
    const n = row * frame.numberWidth;
    const put = (name: string, value: number): void => {
      frame.numbers[n + frame.number(name)] = value;
    };
    const signal = status & 0x7f;
    const [time, parent] = [number(1), number(3)];
    frame.numbers.fill(Number.NaN, n, n + frame.numberWidth);
    frame.times![row] = time;
    using(like.line, () => {
      identity(frame, row, 9, live === undefined ? parent : like.ppid);
      forget(`${pid}:${word(3)}`);
    });
    const t = row * frame.textWidth;
    frame.texts[t] = pid;
    if (live === undefined) frame.texts[t + 1] = String(time);
    frame.texts[t + 8] = signal === 0 ? 'exit' : 'signal';
    frame.texts[t + 10] = 'parent';
    if (signal === 0) put('exitcode', (status >> 8) & 0xff);
    put('exitsignal', signal);
    put('usertime', Math.max(0, number(5) - (live?.childrenUser ?? 0)));
    put('systemtime', Math.max(0, number(6) - (live?.childrenSystem ?? 0)));
    // the kernel adds up these with those of children, whose records do not tell what their children had
    if ((live?.childrenUser ?? 0) + (live?.childrenSystem ?? 0) > 0) return void finish(frame);
    put('rssmax', number(7));
    for (const [name, field] of WAITED_METRICS) put(name, number(field));
    finish(frame);
  }

  /** What was told last does not count: the program could not be executed, or is not to be recorded. */
  function takenBack(): void {
    const pid = word(2);
    const held = waiting.get(pid);
    const live = known.living.get(pid);
    dropTold(held, pid);
    if (is(3, 'failed')) {
      if (held?.exec !== undefined) delete held.exec;
      if (live?.before !== undefined) known.begin(pid, live.before);
      return;
    }
    // what it was before has ended with this; a copy that was made only for this was never anything
    if (held?.exec !== undefined) letGo(pid);
    waiting.delete(pid);
    known.leave(pid);
  }

  return {
    frames,
    trouble,
    take(buffer, from, to) {
      if (to - from < 6 || cutOff(buffer, to)) {
        trouble.torn++;
        return;
      }
      bytes = buffer;
      bad = false;
      split(from, to);
      const kind = buffer[from]!;
      const version = kind === START || kind === END ? THIRD : FIRST;
      if (buffer[from + 1] !== version || buffer[from + 2] !== TAB) trouble.unknown++;
      else if (kind === START && fields === START_FIELDS) started();
      else if (kind === END && fields >= END_FIELDS) ended();
      else if (kind === THREAD && fields >= THREAD_FIELDS) addThread();
      else if (kind === TEXT && fields === 6) addText();
      else if (kind === WAITED && fields === WAITED_FIELDS) waited();
      else if (kind === TAKEN_BACK && fields === TAKEN_BACK_FIELDS) takenBack();
      else trouble.torn++;
    },
    release(everything) {
      for (const [pid, held] of [...waiting]) {
        if (everything || held.seen) letGo(pid);
        else held.seen = true;
      }
    },
  };
}

/** Does the line lack the point that says that it is whole? */
function cutOff(bytes: Buffer, to: number): boolean {
  return bytes[to - 1] !== POINT || bytes[to - 2] !== TAB;
}
