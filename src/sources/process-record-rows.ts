import { Frame } from '../table/frame.ts';
import type { Table } from '../table/table.ts';
import type { LineFields } from './process-record-fields.ts';
import type { Known, Written } from './process-record-known.ts';
import { NOTHING } from './process-record-known.ts';
import type { LongTexts } from './process-record-long-texts.ts';
import type { RecordNames } from './process-record-names.ts';
import { nameOf, placeOf } from './process-record-text.ts';

/** The tables that the lines of native/record-*.c become, and the rows that are ready. */
export interface RecordFrames {
  readonly start: Frame;
  readonly end: Frame;
  readonly thread: Frame;
}

/** Lines that were cut off or that nobody understands, events that no column is there for, and those that came. */
export interface LineTrouble {
  torn: number;
  unknown: number;
  /** Texts that were left out of a row. */
  leftOut: number;
  readonly events: Set<string>;
  /** Processes that told of their own end, and the events that any of them has counted. */
  ended: number;
  readonly counted: Set<string>;
}

/** Each makes a row of the current line. */
export interface RecordRows {
  readonly frames: RecordFrames;
  addStart(ppid?: number): void;
  addEnd(ppid?: number, wrote?: Written, exitcode?: number): void;
  addThread(): void;
  /** How a process ended that another one waited for: `live` is what is known of it, `like` whom it is described like. */
  addWaited(pid: string, live: Known | undefined, like: Known, status: number): void;
}

const METRICS = 28;
/** So many names of events that nobody asked for are told, and so much of each. */
const MOST_EVENTS = 20;
const LONGEST_EVENT = 80;
/** So much text, in characters, that went ahead of its line is in the rows of one read: many rows may ask for the same. */
const MOST_LONG_TEXT = 8 << 20;
/** Fields of ends and threads, the point included; events follow the metrics. */
export const END_FIELDS = 21 + METRICS + 1;
export const THREAD_FIELDS = 7 + METRICS + 1;
/** Where metrics begin among the numbers of a row. */
const END_METRICS = 8;
const THREAD_METRICS = 1;
/** cutime and cstime are of a whole process. */
const OF_CHILDREN = [2, 3];
/** delayacct_blkio_time: a kernel that does not count it says 0. */
const BLOCK_DELAY = 21;
const WCHAR = 12;
const SYSCW = 14;

/** What a program had grown by when the next one took its place, at most, after it had told its peak. */
const HIGHER = 1.05;

/** What a process that was waited for used, by the names of columns and where its line has them. */
const WAITED_METRICS = ['minflt', 'majflt', 'inblock', 'outblock', 'vol_ctxsw', 'invol_ctxsw'].map(
  (name, i) => [name, 8 + i] as const,
);

/** Slurm's numbers of its own steps, by the names that its accounting has for them. */
const OWN_STEPS: Readonly<Record<string, string>> = {
  4294967290: 'interactive',
  4294967291: 'batch',
  4294967292: 'extern',
};

const stepName = (step: string): string => OWN_STEPS[step] ?? step;

export function recordRows(
  tables: { start: Table; end: Table; thread: Table },
  line: LineFields,
  texts: LongTexts,
  trouble: LineTrouble,
  { redact, delays, names }: { redact: boolean; delays: boolean; names: RecordNames },
): RecordRows {
  const frames = { start: new Frame(tables.start), end: new Frame(tables.end), thread: new Frame(tables.thread) };
  const eventPlaces = new Map<string, number>();
  const firstEvent = tables.end.columns.findIndex((column) => column.name === 'PERF_COUNT_SW_CPU_CLOCK') + 1;
  tables.end.columns.slice(firstEvent).forEach((column, i) => void eventPlaces.set(column.name, METRICS + i));
  const stepAt = new Map([frames.start, frames.end].map((frame) => [frame, frame.text('step')]));
  // a line that was damaged in a way that its form does not show leaves no row behind
  let bad = false;
  let longText = 0;

  function textAhead(id: string, field: string): string {
    const text = texts.get(id, field);
    if (longText + text.length > MOST_LONG_TEXT) {
      trouble.leftOut++;
      return '';
    }
    longText += text.length;
    return text;
  }

  function begin(frame: Frame): number {
    bad = false;
    if (frames.start.rows + frames.end.rows === 0) longText = 0;
    const row = frame.row();
    frame.times![row] = line.number(1);
    return row;
  }

  function finish(frame: Frame): boolean {
    if (!bad && !line.damaged()) return true;
    frame.drop();
    trouble.torn++;
    return false;
  }

  function identity(frame: Frame, row: number, firstText: number, ppid?: number): void {
    const n = row * frame.numberWidth;
    for (let i = 1; i < 4; i++) frame.numbers[n + i] = line.number(4 + i);
    const name = names.name(line.word(2));
    const parent = names.parent(line.word(4), name);
    frame.numbers[n] = ppid ?? (parent === '' ? Number.NaN : Number(names.id(parent)));
    const t = row * frame.textWidth;
    const into = frame.texts;
    const start = line.word(3);
    const id = `${name}:${start}`;
    const text = (i: number, field: string): string => line.text(firstText + i, field) ?? textAhead(id, field);
    const directory = text(3, 'directory');
    const program = text(4, 'path').replace(/ \(deleted\)(?='?$)/, '');
    const named = text(6, 'exename');
    into[t] = names.id(name, Number(start));
    into[t + 1] = start;
    into[t + 2] = text(0, 'rank');
    into[t + 3] = text(2, 'tags');
    into[t + 4] = directory;
    // whoever told of it may have named it by its place in the folder
    into[t + 5] = placeOf(directory, program);
    into[t + 6] = redact ? '' : text(7, 'args');
    into[t + 7] = named === '' ? nameOf(program) : named;
    into[t + stepAt.get(frame)!] = stepName(text(1, 'step'));
    into[t + 9] = redact ? '' : text(5, 'argv0');
  }

  function metrics(frame: Frame, place: number, field: number): void {
    for (let i = 0; i < METRICS; i++) frame.numbers[place + i] = line.number(field + i);
    if (!delays) frame.numbers[place + BLOCK_DELAY] = Number.NaN;
    for (let i = field + METRICS; i < line.count() - 1; i++) {
      const [name, value] = line.named(i) ?? [];
      const known = name === undefined ? undefined : eventPlaces.get(name);
      if (name === undefined) bad = true;
      else if (known === undefined) {
        if (trouble.events.size < MOST_EVENTS) trouble.events.add(name.slice(0, LONGEST_EVENT));
      } else {
        frame.numbers[place + known] = value!;
        trouble.counted.add(name);
      }
    }
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
    thread.numbers[to] = line.number(3);
    for (let i = 0; i < METRICS + eventPlaces.size; i++) {
      if (!OF_CHILDREN.includes(i)) thread.numbers[to + THREAD_METRICS + i] = end.numbers[from + i]!;
    }
  }

  return {
    frames,
    addStart(ppid) {
      const frame = frames.start;
      const row = begin(frame);
      identity(frame, row, 9, ppid);
      frame.texts[row * frame.textWidth + 8] = line.is(8, 'spawn') ? 'told' : line.word(8);
      finish(frame);
    },
    addEnd(ppid, wrote = NOTHING, exitcode) {
      const frame = frames.end;
      const row = begin(frame);
      identity(frame, row, 8, ppid);
      frame.texts[row * frame.textWidth + 8] = line.word(16);
      frame.texts[row * frame.textWidth + 10] = 'itself';
      const n = row * frame.numberWidth;
      for (let i = 0; i < 4; i++) frame.numbers[n + 4 + i] = line.number(17 + i);
      if (exitcode !== undefined) frame.numbers[n + 4] = exitcode;
      metrics(frame, n + END_METRICS, 21);
      frame.numbers[n + END_METRICS + WCHAR]! -= wrote.bytes;
      frame.numbers[n + END_METRICS + SYSCW]! -= wrote.calls;
      if (finish(frame)) {
        trouble.ended++;
        if (line.number(19) === 1) addOnlyThread(row);
      }
      texts.forget(`${names.name(line.word(2))}:${line.word(3)}`);
    },
    addThread() {
      const frame = frames.thread;
      const row = begin(frame);
      const t = row * frame.textWidth;
      frame.texts[t] = names.id(names.name(line.word(2)), line.number(3));
      for (let i = 1; i < 3; i++) frame.texts[t + i] = line.word(2 + i);
      frame.texts[t + 3] = line.word(6);
      const n = row * frame.numberWidth;
      frame.numbers[n] = line.number(5);
      metrics(frame, n + THREAD_METRICS, 7);
      finish(frame);
    },
    addWaited(pid, live, like, status) {
      const frame = frames.end;
      const row = begin(frame);
      const n = row * frame.numberWidth;
      const put = (name: string, value: number): void => {
        frame.numbers[n + frame.number(name)] = value;
      };
      const signal = status & 0x7f;
      const time = line.number(1);
      const parent = Number(names.id(names.parent(line.word(3), pid)));
      frame.numbers.fill(Number.NaN, n, n + frame.numberWidth);
      line.using(like.line, () => {
        identity(frame, row, 9, live === undefined ? parent : like.ppid);
        texts.forget(`${pid}:${line.word(3)}`);
      });
      const t = row * frame.textWidth;
      frame.texts[t] = names.id(pid, time);
      if (live === undefined) frame.texts[t + 1] = String(time);
      frame.texts[t + 8] = signal === 0 ? 'exit' : 'signal';
      frame.texts[t + 10] = 'parent';
      if (signal === 0) put('exitcode', (status >> 8) & 0xff);
      put('exitsignal', signal);
      put('usertime', Math.max(0, line.number(5) - (live?.childrenUser ?? 0)));
      put('systemtime', Math.max(0, line.number(6) - (live?.childrenSystem ?? 0)));
      // the kernel adds up these with those of children, whose records do not tell what their children had
      if ((live?.childrenUser ?? 0) + (live?.childrenSystem ?? 0) === 0) {
        // and keep the largest of all programs that it was
        if (!(line.number(7) <= (live?.peakBefore ?? 0) * HIGHER)) put('rssmax', line.number(7));
        for (const [name, field] of WAITED_METRICS) put(name, line.number(field));
      }
      finish(frame);
    },
  };
}
