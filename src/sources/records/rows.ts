import { Frame } from '../../table/frame.ts';
import type { NumberName } from '../../table/table.ts';
import { HIGHER_PEAK } from '../process/same-process.ts';
import type { LineFields } from './fields.ts';
import type { LongTexts } from './long-texts.ts';
import type { RecordNames } from './names.ts';
import { parseRank } from './rank.ts';
import { NOTHING, type RecordedProcess } from './recorded-processes.ts';
import {
  ADDRESS_SPACE,
  PROCESS_METRICS,
  type ProcessMetric,
  processEndTable,
  processStartTable,
  type RecordTables,
  threadEndTable,
} from './tables.ts';
import { nameOf, programPath } from './text.ts';

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

const [METRICS, [FIRST]] = [PROCESS_METRICS.length, PROCESS_METRICS];
/** Number of names of unexpected events that are reported, and characters of each. */
const MOST_EVENTS = 20;
const LONGEST_EVENT = 80;
/** Characters sent ahead of their line that one read keeps: many rows may ask for the same. */
const MOST_LONG_TEXT = 8 << 20;
/** Where the lines of ends and threads have their metrics, which events follow; fields of them, the point included. */
const END_LINE = 21;
const THREAD_LINE = 7;
export const END_FIELDS = END_LINE + METRICS + 1;
export const THREAD_FIELDS = THREAD_LINE + METRICS + 1;
/** Where an end has this metric. */
export const endField = (metric: ProcessMetric): number => END_LINE + order(metric);
const order = (metric: ProcessMetric): number => PROCESS_METRICS.findIndex(({ name }) => name === metric);
const [START, END, THREAD] = [processStartTable.at, processEndTable.at, threadEndTable.at];
/** Where metrics begin among the numbers of a row. */
const END_METRICS = END[FIRST!.name];
const THREAD_METRICS = THREAD[FIRST!.name];
/** Fields of an end that are there only where they have a value. */
const LIMITS: ReadonlyMap<string, number> = new Map(ADDRESS_SPACE.map(({ name }) => [name, END[name]]));
/** These are of a whole process. */
const OF_CHILDREN = [order('cutime'), order('cstime')];
/** A kernel that does not count it says 0. */
const BLOCK_DELAY = order('delayacct_blkio_time');

/** What a process that was waited for used, by the names of columns and where its line has them. */
const WAITED_METRICS = (['minflt', 'majflt', 'inblock', 'outblock', 'vol_ctxsw', 'invol_ctxsw'] as const).map(
  (name, i) => [name, 8 + i] as const,
);

/** Slurm's numbers of its own steps, by the names that its accounting has for them. */
const OWN_STEPS: Readonly<Record<string, string>> = {
  4294967290: 'interactive',
  4294967291: 'batch',
  4294967292: 'extern',
};

/** Each method makes a row of the current line. */
export class RecordRows {
  readonly frames: RecordFrames;
  readonly trouble: LineTrouble = { torn: 0, unknown: 0, leftOut: 0, events: new Set(), ended: 0, counted: new Set() };
  private readonly line: LineFields;
  private readonly texts: LongTexts;
  private readonly names: RecordNames;
  private readonly redact: boolean;
  private readonly delays: boolean;
  private readonly eventPlaces: ReadonlyMap<string, number>;
  /** A line that was damaged in a way that its form does not show leaves no row behind. */
  private bad = false;
  private longText = 0;

  constructor(
    tables: RecordTables,
    line: LineFields,
    texts: LongTexts,
    names: RecordNames,
    { redact, delays }: { redact: boolean; delays: boolean },
  ) {
    this.frames = { start: new Frame(tables.start), end: new Frame(tables.end), thread: new Frame(tables.thread) };
    const events = tables.end.columns.slice(processEndTable.columns.length);
    this.eventPlaces = new Map(events.map(({ name }, i) => [name, METRICS + i]));
    this.line = line;
    this.texts = texts;
    this.names = names;
    this.redact = redact;
    this.delays = delays;
  }

  addStart(ppid?: number): void {
    const { line, frames } = this;
    const frame = frames.start;
    const row = this.begin(frame);
    this.identity(frame, row, 9, ppid);
    frame.texts[row * frame.textWidth + START.began] = line.is(8, 'spawn') ? 'told' : line.word(8);
    this.finish(frame);
  }

  addEnd(ppid?: number, wrote = NOTHING, exitcode?: number): void {
    const { line, frames } = this;
    const frame = frames.end;
    const row = this.begin(frame);
    this.identity(frame, row, 8, ppid);
    frame.texts[row * frame.textWidth + END.ended] = line.word(16);
    frame.texts[row * frame.textWidth + END.told_by] = 'itself';
    const n = row * frame.numberWidth;
    frame.numbers[n + END.exitcode] = exitcode ?? line.number(17);
    frame.numbers[n + END.exitsignal] = line.number(18);
    frame.numbers[n + END.numtids] = line.number(19);
    frame.numbers[n + END.threads_counted] = line.number(20);
    for (const column of LIMITS.values()) frame.numbers[n + column] = Number.NaN;
    this.metrics(frame, n + END_METRICS, END_LINE);
    frame.numbers[n + END.wchar]! -= wrote.bytes;
    frame.numbers[n + END.syscw]! -= wrote.calls;
    if (this.finish(frame)) {
      this.trouble.ended++;
      if (line.number(19) === 1) this.addOnlyThread(row);
    }
    this.texts.forget(`${this.names.name(line.word(2))}:${line.word(3)}`);
  }

  addThread(): void {
    const { line, names } = this;
    const frame = this.frames.thread;
    const row = this.begin(frame);
    const t = row * frame.textWidth;
    frame.texts[t + THREAD.pid] = names.id(names.name(line.word(2)), line.number(3));
    frame.texts[t + THREAD.start] = line.word(3);
    frame.texts[t + THREAD.tid] = line.word(4);
    frame.texts[t + THREAD.ended] = line.word(6);
    const n = row * frame.numberWidth;
    frame.numbers[n + THREAD.thread_start] = line.number(5);
    this.metrics(frame, n + THREAD_METRICS, THREAD_LINE);
    this.finish(frame);
  }

  /** How a process ended that another one waited for: `live` is what is known of it, `like` whom it is described like. */
  addWaited(pid: string, live: RecordedProcess | undefined, like: RecordedProcess, status: number): void {
    const { line, names } = this;
    const frame = this.frames.end;
    const row = this.begin(frame);
    const n = row * frame.numberWidth;
    const put = (name: NumberName<typeof processEndTable>, value: number): void => {
      frame.numbers[n + END[name]] = value;
    };
    const signal = status & 0x7f;
    const time = line.number(1);
    const parent = Number(names.id(names.parent(line.word(3), pid)));
    frame.numbers.fill(Number.NaN, n, n + frame.numberWidth);
    line.using(like.line, () => {
      this.identity(frame, row, 9, live === undefined ? parent : like.ppid);
      this.texts.forget(`${pid}:${line.word(3)}`);
    });
    const t = row * frame.textWidth;
    frame.texts[t + END.pid] = names.id(pid, time);
    if (live === undefined) frame.texts[t + END.start] = String(time);
    frame.texts[t + END.ended] = signal === 0 ? 'exit' : 'signal';
    frame.texts[t + END.told_by] = 'parent';
    if (signal === 0) put('exitcode', (status >> 8) & 0xff);
    put('exitsignal', signal);
    const { childrenUser = 0, childrenSystem = 0, peakBefore = 0 } = live ?? {};
    put('usertime', Math.max(0, line.number(5) - childrenUser));
    put('systemtime', Math.max(0, line.number(6) - childrenSystem));
    // the kernel adds up these with those of children, whose records do not tell what their children had
    if (childrenUser + childrenSystem === 0) {
      // and keep the largest of all programs that it was
      if (!(line.number(7) <= peakBefore * HIGHER_PEAK)) put('rssmax', line.number(7));
      for (const [name, field] of WAITED_METRICS) put(name, line.number(field));
    }
    this.finish(frame);
  }

  private begin(frame: Frame): number {
    this.bad = false;
    if (this.frames.start.rows + this.frames.end.rows === 0) this.longText = 0;
    const row = frame.row();
    frame.times![row] = this.line.number(1);
    return row;
  }

  private finish(frame: Frame): boolean {
    if (!this.bad && !this.line.damaged) return true;
    frame.drop();
    this.trouble.torn++;
    return false;
  }

  private identity(frame: Frame, row: number, firstText: number, ppid?: number): void {
    const { line, names } = this;
    const n = row * frame.numberWidth;
    const at = frame === this.frames.start ? START : END;
    frame.numbers[n + at.pgid] = line.number(5);
    frame.numbers[n + at.sid] = line.number(6);
    frame.numbers[n + at.uid] = line.number(7);
    const name = names.name(line.word(2));
    const parent = names.parent(line.word(4), name);
    frame.numbers[n + at.ppid] = ppid ?? (parent === '' ? Number.NaN : Number(names.id(parent)));
    const t = row * frame.textWidth;
    const into = frame.texts;
    const start = line.word(3);
    const id = `${name}:${start}`;
    const text = (i: number, field: string): string => line.text(firstText + i, field) ?? this.textAhead(id, field);
    const directory = text(3, 'directory');
    const program = text(4, 'path').replace(/ \(deleted\)(?='?$)/, '');
    const named = text(6, 'exename');
    into[t + at.pid] = names.id(name, Number(start));
    into[t + at.start] = start;
    const { rank, ranks, world } = parseRank(text(0, 'rank'));
    into[t + at.rank] = rank;
    into[t + at.world] = world;
    frame.numbers[n + at.ranks] = ranks;
    into[t + at.tags] = text(2, 'tags');
    into[t + at.directory] = directory;
    // whoever told of it may have named it by its place in the folder
    into[t + at.path] = programPath(directory, program);
    into[t + at.args] = this.redact ? '' : text(7, 'args');
    into[t + at.exename] = named === '' ? nameOf(program) : named;
    const step = text(1, 'step');
    into[t + at.step] = OWN_STEPS[step] ?? step;
    into[t + at.argv0] = this.redact ? '' : text(5, 'argv0');
  }

  private textAhead(id: string, field: string): string {
    const text = this.texts.get(id, field);
    if (this.longText + text.length > MOST_LONG_TEXT) {
      this.trouble.leftOut++;
      return '';
    }
    this.longText += text.length;
    return text;
  }

  private metrics(frame: Frame, at: number, field: number): void {
    const { line, trouble } = this;
    for (let i = 0; i < METRICS; i++) frame.numbers[at + i] = line.number(field + i);
    if (!this.delays) frame.numbers[at + BLOCK_DELAY] = Number.NaN;
    for (let i = field + METRICS; i < line.count - 1; i++) {
      const [name, value] = line.named(i) ?? [];
      const eventColumn = name === undefined ? undefined : this.eventPlaces.get(name);
      const limitColumn = name === undefined || field !== END_LINE ? undefined : LIMITS.get(name);
      if (name === undefined) this.bad = true;
      else if (limitColumn !== undefined) frame.numbers[at - END_METRICS + limitColumn] = value!;
      else if (eventColumn !== undefined) {
        frame.numbers[at + eventColumn] = value!;
        trouble.counted.add(name);
      } else if (trouble.events.size < MOST_EVENTS) trouble.events.add(name.slice(0, LONGEST_EVENT));
    }
  }

  /** What a process with one thread used is what that thread used: the library does not write it twice. */
  private addOnlyThread(row: number): void {
    const { end, thread } = this.frames;
    const r = thread.row();
    thread.times![r] = end.times![row]!;
    const t = r * thread.textWidth;
    const own = row * end.textWidth;
    thread.texts[t + THREAD.pid] = thread.texts[t + THREAD.tid] = end.texts[own + END.pid]!;
    thread.texts[t + THREAD.start] = end.texts[own + END.start]!;
    thread.texts[t + THREAD.ended] = end.texts[own + END.ended]!;
    const from = row * end.numberWidth + END_METRICS;
    const to = r * thread.numberWidth;
    thread.numbers[to + THREAD.thread_start] = this.line.number(3);
    for (let i = 0; i < METRICS + this.eventPlaces.size; i++) {
      if (!OF_CHILDREN.includes(i)) thread.numbers[to + THREAD_METRICS + i] = end.numbers[from + i]!;
    }
  }
}
