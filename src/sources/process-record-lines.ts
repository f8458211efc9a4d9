import { bytesOf, textOf } from '../base/byte-text.ts';
import { Frame } from '../table/frame.ts';
import type { Table } from '../table/table.ts';

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
const LOWER_N = 110;
const LOWER_R = 114;
const LOWER_T = 116;
const LOWER_X = 120;
const DOLLAR = 36;
const SLASH = 47;
const START = 83;
const END = 69;
const THREAD = 84;
const TEXT = 65;
const VERSION = 49;

const METRICS = 28;
/** Fields of each kind of line, the point included; events follow the metrics of ends. */
const START_FIELDS = 15;
const END_FIELDS = 18 + METRICS + 1;
const THREAD_FIELDS = 7 + METRICS + 1;
/** Where metrics begin among the numbers of a row. */
const END_METRICS = 8;
const THREAD_METRICS = 1;
/** cutime and cstime are of a whole process. */
const OF_CHILDREN = [2, 3];
/** delayacct_blkio_time: a kernel that does not count it says 0. */
const BLOCK_DELAY = 21;

/** Texts longer than a line are kept until their process has ended; of those that were killed the oldest are let go. */
const LONG_TEXT_BYTES = 16 << 20;

interface Waiting {
  readonly start: string;
  readonly kind: 'fork' | 'exec';
  readonly line: Buffer;
  seen: boolean;
}

/**
 * Makes rows of lines. Two kinds of lines wait for what follows: the start of a forked child, which most often executes
 * another program at once and then has nothing to tell; and an end by exec, which may fail, and then the image lives on.
 */
export function recordLines(
  tables: { start: Table; end: Table; thread: Table },
  { redact = false, delays = true }: { redact?: boolean; delays?: boolean } = {},
): RecordLines {
  const frames = { start: new Frame(tables.start), end: new Frame(tables.end), thread: new Frame(tables.thread) };
  const trouble = { torn: 0, unknown: 0, events: new Set<string>() };
  const waiting = new Map<string, Waiting>();
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
    if (to - from !== 2 || bytes[from] !== BACKSLASH || bytes[from + 1] !== LOWER_C) return decoded(bytes, from, to);
    const pieces = Buffer.concat(longTexts.get(id)?.get(field) ?? []);
    return decoded(pieces, 0, pieces.length);
  }

  function split(from: number, to: number): void {
    fields = 0;
    at[fields++] = from;
    for (let p = from; p < to && fields < at.length - 1; p++) if (bytes[p] === TAB) at[fields++] = p + 1;
    at[fields] = to + 1;
  }

  function identity(frame: Frame, row: number, firstNumber: number, firstText: number): void {
    const n = row * frame.numberWidth;
    for (let i = 0; i < 4; i++) frame.numbers[n + i] = number(firstNumber + i);
    const t = row * frame.textWidth;
    const { texts } = frame;
    const pid = word(2);
    const start = word(3);
    const id = `${pid}:${start}`;
    const path = text(firstText + 3, 'path', id).replace(/ \(deleted\)(?='?$)/, '');
    texts[t] = pid;
    texts[t + 1] = start;
    texts[t + 2] = text(firstText, 'rank', id);
    texts[t + 3] = text(firstText + 1, 'tags', id);
    texts[t + 4] = text(firstText + 2, 'directory', id);
    texts[t + 5] = path;
    texts[t + 6] = redact ? '' : text(firstText + 4, 'args', id);
    texts[t + 7] = nameOf(path);
  }

  /** A line that was damaged in a way that its form does not show leaves no row behind. */
  function finish(frame: Frame): boolean {
    if (!bad) return true;
    frame.drop();
    trouble.torn++;
    return false;
  }

  function addStart(): void {
    const frame = frames.start;
    const row = frame.row();
    frame.times![row] = number(1);
    identity(frame, row, 4, 9);
    frame.texts[row * frame.textWidth + 8] = word(8);
    finish(frame);
  }

  function addEnd(): void {
    const frame = frames.end;
    const row = frame.row();
    frame.times![row] = number(1);
    identity(frame, row, 4, 8);
    frame.texts[row * frame.textWidth + 8] = word(13);
    const n = row * frame.numberWidth;
    for (let i = 0; i < 4; i++) frame.numbers[n + 4 + i] = number(14 + i);
    metrics(frame, n + END_METRICS, 18);
    if (finish(frame) && number(16) === 1) addOnlyThread(row);
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

  /** A line that has waited becomes a row after all. */
  function letGo(pid: string): void {
    const held = waiting.get(pid)!;
    waiting.delete(pid);
    const before = { bytes, fields, at: at.slice() };
    bytes = held.line;
    bad = false;
    split(0, held.line.length);
    if (held.kind === 'fork') addStart();
    else addEnd();
    bytes = before.bytes;
    fields = before.fields;
    bad = false;
    at.set(before.at);
  }

  function wait(kind: Waiting['kind'], pid: string, start: string): void {
    const line = Buffer.from(bytes.subarray(at[0]!, at[fields]! - 1));
    waiting.set(pid, { start, kind, line, seen: false });
  }

  function started(): void {
    const pid = word(2);
    const held = waiting.get(pid);
    if (is(8, 'fork')) {
      if (held !== undefined) letGo(pid);
      wait('fork', pid, word(3));
      return;
    }
    // a forked child that has become another program at once was never anything else
    if (held?.kind === 'fork') waiting.delete(pid);
    else if (held !== undefined) letGo(pid);
    addStart();
  }

  function ended(): void {
    const pid = word(2);
    const held = waiting.get(pid);
    // that exec failed
    if (held?.kind === 'exec' && is(3, held.start)) waiting.delete(pid);
    else if (held !== undefined) letGo(pid);
    if (is(13, 'exec')) wait('exec', pid, word(3));
    else addEnd();
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
      if (buffer[from + 1] !== VERSION || buffer[from + 2] !== TAB) trouble.unknown++;
      else if (kind === START && fields === START_FIELDS) started();
      else if (kind === END && fields >= END_FIELDS) ended();
      else if (kind === THREAD && fields >= THREAD_FIELDS) addThread();
      else if (kind === TEXT && fields === 6) addText();
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

/** The last part of a path. */
function nameOf(file: string): string {
  if (!file.startsWith("$'")) return file.slice(file.lastIndexOf('/') + 1);
  const bytes = bytesOf(file);
  return textOf(bytes.subarray(bytes.lastIndexOf(SLASH) + 1));
}

/** A text of a line: what native/record-text.c wrote out is itself again. */
export function decoded(bytes: Buffer, from: number, to: number): string {
  let simple = bytes[from] !== DOLLAR;
  let escapes = false;
  for (let p = from; p < to; p++) {
    const c = bytes[p]!;
    if (c > 127) simple = false;
    else if (c === BACKSLASH) escapes = true;
  }
  if (simple && !escapes) return bytes.toString('latin1', from, to);
  return textOf(escapes ? unescaped(bytes.subarray(from, to)) : bytes.subarray(from, to));
}

/** A backslash is followed by another, by the letter of a control character or by the two digits of one. */
function unescaped(text: Buffer): Buffer {
  const out = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let p = 0; p < text.length; p++) {
    if (text[p] !== BACKSLASH) {
      out[length++] = text[p]!;
      continue;
    }
    const next = text[++p];
    if (next === LOWER_X) {
      out[length++] = Number.parseInt(text.toString('latin1', p + 1, p + 3), 16);
      p += 2;
    } else out[length++] = next === LOWER_N ? 10 : next === LOWER_T ? 9 : next === LOWER_R ? 13 : BACKSLASH;
  }
  return out.subarray(0, length);
}
