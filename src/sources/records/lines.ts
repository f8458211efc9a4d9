import type { PidNamespaces } from '../process/pid-namespaces.ts';
import { LineFields } from './fields.ts';
import { InsideChildren } from './inside.ts';
import { LONG_TEXTS, LongTexts } from './long-texts.ts';
import { isInside, RecordNames, spaceOf } from './names.ts';
import { keptOverExec, NOTHING, type RecordedProcess, RecordedProcesses, type Written } from './recorded-processes.ts';
import { END_FIELDS, endField, type LineTrouble, type RecordFrames, RecordRows, THREAD_FIELDS } from './rows.ts';
import type { RecordTables } from './tables.ts';
import { type HeldLines, WaitingLines } from './waiting.ts';

const TAB = 9;
const POINT = 46;
const START = 83;
const END = 69;
const THREAD = 84;
const TEXT = 65;
const WAITED = 87;
const TAKEN_BACK = 78;
const SECOND = 50;
const FIFTH = 53;

/** Fields of each kind of line, the point included. */
const START_FIELDS = 18;
const WAITED_FIELDS = 15;
const TAKEN_BACK_FIELDS = 5;
const TEXT_FIELDS = 6;
const [PEAK, USER, SYSTEM, OTHERS_USER, OTHERS_SYSTEM] = (
  ['rssmax', 'usertime', 'systemtime', 'cutime', 'cstime'] as const
).map(endField) as [number, number, number, number, number];
/** A process has a number, and perhaps a namespace that it holds in. */
const PROCESS = /^[1-9]\d{0,9}(@\d{1,20})?$/;
const PARENT = /^(\d{1,10}(@\d{1,20})?)?$/;
const MOMENT = /^\d{1,20}$/;
const TEXT_NAME = new RegExp(`^(${LONG_TEXTS.join('|')})$`);
/** What is kept is kept by these: the fields of each kind of line, in their order. */
const KEY_FORMS: ReadonlyMap<number, readonly RegExp[]> = new Map([
  [START, [PROCESS, MOMENT, PARENT]],
  [END, [PROCESS, MOMENT, PARENT]],
  [THREAD, [PROCESS, MOMENT]],
  [TEXT, [PROCESS, MOMENT, TEXT_NAME]],
  [WAITED, [PROCESS, PARENT]],
  [TAKEN_BACK, [PROCESS]],
]);

/** Programs that say nothing themselves, of which one may have made a namespace: the last ones are looked at. */
const MOST_SILENT = 64;

/** Makes rows of lines, of which some wait for what follows. */
export class RecordLines {
  readonly frames: RecordFrames;
  readonly trouble: LineTrouble;
  private readonly line = new LineFields();
  private readonly texts = new LongTexts();
  private readonly names: RecordNames;
  private readonly rows: RecordRows;
  private readonly processes: RecordedProcesses;
  private readonly inside = new InsideChildren();
  private readonly lastTold: string[] = [];
  private readonly waiting = new WaitingLines((pid, lines, exitcode) => this.addRows(pid, lines, exitcode));

  constructor(
    tables: RecordTables,
    {
      redact = false,
      delays = true,
      resumed = false,
      spaces,
    }: { redact?: boolean; delays?: boolean; resumed?: boolean; spaces?: PidNamespaces } = {},
  ) {
    this.processes = new RecordedProcesses(resumed);
    this.names = new RecordNames(spaces);
    this.rows = new RecordRows(tables, this.line, this.texts, this.names, { redact, delays });
    this.frames = this.rows.frames;
    this.trouble = this.rows.trouble;
  }

  /** Takes the line between these places, without its newline. */
  take(bytes: Buffer, from: number, to: number): void {
    const { line, trouble } = this;
    // a whole line ends with a point
    if (to - from < 6 || bytes[to - 1] !== POINT || bytes[to - 2] !== TAB) {
      trouble.torn++;
      return;
    }
    line.look(bytes, from, to);
    const { count } = line;
    const kind = bytes[from]!;
    const version = kind === START || kind === END ? FIFTH : SECOND;
    if (bytes[from + 1] !== version || bytes[from + 2] !== TAB) trouble.unknown++;
    else if (!this.isFormed(kind)) trouble.torn++;
    else if (kind === START && count === START_FIELDS) this.started();
    else if (kind === END && count >= END_FIELDS) this.ended();
    else if (kind === THREAD && count >= THREAD_FIELDS) this.rows.addThread();
    else if (kind === TEXT && count === TEXT_FIELDS)
      this.texts.add(`${this.names.name(line.word(1))}:${line.word(2)}`, line.word(3), line.copy(4), line.length());
    else if (kind === WAITED && count === WAITED_FIELDS) this.waited();
    else if (kind === TAKEN_BACK && count === TAKEN_BACK_FIELDS) this.takenBack();
    else trouble.torn++;
  }

  /** Lets go what waited for the lines that follow: of a read before the last one, or everything. */
  release(everything: boolean): void {
    this.waiting.releaseSeen(everything);
  }

  /** Has every field that becomes part of a key its form, and with it a length? */
  private isFormed(kind: number): boolean {
    const first = kind === TEXT ? 1 : 2;
    const forms = KEY_FORMS.get(kind);
    return forms?.every((form, i) => first + i < this.line.count && form.test(this.line.word(first + i))) === true;
  }

  /** Whom the current line is about. */
  private who(): string {
    return this.names.name(this.line.word(2));
  }

  /** Lines that have waited become rows after all. */
  private addRows(pid: string, { fork, exec, told: reported, exit }: HeldLines, exitcode?: number): void {
    const { line, rows } = this;
    const { ppid, wroteBefore } = this.processes.living.get(pid) ?? {};
    // a child that was forked to execute something was never anything else
    if (fork !== undefined && reported === undefined) line.using(fork, () => rows.addStart());
    if (exec !== undefined) line.using(exec, () => rows.addEnd(ppid, wroteBefore));
    if (reported !== undefined) line.using(reported, () => rows.addStart());
    if (exit !== undefined) line.using(exit, () => rows.addEnd(ppid, wroteBefore, exitcode));
  }

  /** Who the current line says has started the process. */
  private parentOf(name: string): Pick<RecordedProcess, 'ppid' | 'parent'> {
    const parent = this.parentName(name);
    return { parent, ppid: parent === '' ? Number.NaN : Number(this.names.id(parent)) };
  }

  private parentName(name: string): string {
    return this.names.parent(this.line.word(4), name) || (isInside(name) ? this.parentOutside(name) : '');
  }

  /** The first process of a namespace cannot name its parent; one that says nothing itself may have made it. */
  private parentOutside(name: string): string {
    const isSilent = (other: string): boolean => this.processes.living.get(other)?.isReportedByParent === true;
    return (
      this.names.parentOutside(name) ??
      this.lastTold.findLast((other) => isSilent(other) && spaceOf(other) !== spaceOf(name)) ??
      ''
    );
  }

  /** A process of which nothing was known begins. */
  private beginNew(name: string, start: number): void {
    this.names.begin(name, start);
    if (isInside(name)) this.inside.add(this.parentName(name), name);
  }

  /** With the current line, and its newlines. */
  private withThis({ bytes, calls } = NOTHING): Written {
    return { bytes: bytes + this.line.length(), calls: calls + 1 };
  }

  /** And with the texts that went ahead of it. */
  private withTexts(before?: Written): Written {
    const { bytes, calls } = this.withThis(before);
    const ahead = this.texts.written(`${this.who()}:${this.line.word(3)}`);
    return { bytes: bytes + ahead.bytes, calls: calls + ahead.calls };
  }

  /** The start that a line has, as it stands there. */
  private startOf(line: Buffer): string {
    return this.line.using(line, () => this.line.word(3));
  }

  private dropTold(pid: string): void {
    const reportedStart = this.waiting.get(pid, 'told');
    if (reportedStart === undefined) return;
    this.texts.forget(`${pid}:${this.startOf(reportedStart)}`);
    this.waiting.drop(pid, 'told');
  }

  private started(): void {
    const { line } = this;
    const pid = this.who();
    // every child of a copy tells of it
    if (line.is(8, 'copy') && this.processes.living.has(pid)) return;
    if (line.is(8, 'told') || line.is(8, 'spawn')) this.reportedByParent(pid, line.number(3));
    else if (line.is(8, 'fork') || line.is(8, 'copy')) this.forked(pid, line.number(3));
    else this.executed(pid, line.number(3));
  }

  private reportedByParent(pid: string, start: number): void {
    const { line, processes, waiting } = this;
    const before = processes.living.get(pid);
    // of a child that was spawned its parent tells only afterwards: it may have spoken, become another program or ended before
    const spoken = [pid, this.names.named(pid) ?? pid].some(
      (name) =>
        (processes.living.get(name)?.start ?? Number.NEGATIVE_INFINITY) >= start || processes.endedSince(name, start),
    );
    if (spoken) {
      this.texts.forget(`${pid}:${line.word(3)}`);
      return;
    }
    if (waiting.get(pid, 'exit') !== undefined) waiting.release(pid);
    if (before === undefined) this.beginNew(pid, start);
    this.dropTold(pid);
    const text = line.line();
    waiting.add(pid, 'told', text);
    if (this.lastTold.push(pid) > MOST_SILENT) this.lastTold.shift();
    // a program that is executed goes on with the process; one that is spawned begins one
    const goesOn = line.is(8, 'told');
    processes.begin(pid, {
      ...(goesOn ? keptOverExec(before) : {}),
      start,
      ...this.parentOf(pid),
      line: text,
      isReportedByParent: true,
      before: before?.isReportedByParent ? before.before : before,
      wrote: goesOn ? this.withTexts(before?.wrote) : (before?.wrote ?? NOTHING),
      wroteBefore: before?.wroteBefore ?? NOTHING,
    });
  }

  private forked(pid: string, start: number): void {
    const line = this.line.line();
    this.waiting.release(pid);
    this.beginNew(pid, start);
    this.waiting.add(pid, 'fork', line);
    const wrote = this.withTexts();
    this.processes.begin(pid, {
      start,
      ...this.parentOf(pid),
      line,
      isReportedByParent: false,
      wrote,
      wroteBefore: NOTHING,
    });
  }

  private executed(pid: string, start: number): void {
    const { processes, waiting } = this;
    // a process that executes a program keeps the parent that it was started by, which may have ended since
    const before = processes.living.get(pid);
    const same = before !== undefined && (before.isReportedByParent || waiting.has(pid)) ? before : undefined;
    if (same === undefined) this.beginNew(pid, start);
    const outside = same === undefined ? this.takeToldOutside(pid) : undefined;
    const { ppid, parent } = outside ?? (same === undefined || Number.isNaN(same.ppid) ? this.parentOf(pid) : same);
    this.dropTold(pid);
    waiting.drop(pid, 'fork');
    waiting.release(pid);
    processes.begin(pid, {
      ...same,
      start,
      ppid,
      parent,
      line: this.line.line(),
      isReportedByParent: false,
      before: undefined,
      wrote: this.withTexts(same?.wrote),
      wroteBefore: same?.wrote ?? NOTHING,
    });
    this.rows.addStart(ppid);
  }

  /** Who spawned it from outside has told of it by the id that it has there: that is this one. */
  private takeToldOutside(name: string): RecordedProcess | undefined {
    const outside = this.names.id(name);
    const outsideProcess = outside === name ? undefined : this.processes.living.get(outside);
    if (outsideProcess?.isReportedByParent !== true) return undefined;
    this.dropTold(outside);
    this.waiting.forget(outside);
    this.processes.leave(outside);
    return outsideProcess;
  }

  private ended(): void {
    const { line, processes, waiting } = this;
    const pid = this.who();
    const start = line.number(3);
    let live = processes.living.get(pid);
    const exec = waiting.get(pid, 'exec');
    // that exec failed
    if (exec !== undefined && line.is(3, this.startOf(exec))) waiting.drop(pid, 'exec');
    if (live?.before !== undefined && live.before.start === start) {
      this.dropTold(pid);
      live = live.before;
      processes.begin(pid, live);
    }
    waiting.release(pid);
    if (line.is(16, 'exec')) {
      waiting.add(pid, 'exec', line.line());
      if (live === undefined) return;
      live.wrote = this.withThis(live.wrote);
      live.peakBefore = Math.max(live.peakBefore ?? 0, line.number(PEAK) || 0);
      return;
    }
    const { ppid, parent } = live?.start === start ? live : this.parentOf(pid);
    processes.end(pid, start);
    // with what its own children used that it waited for
    const user = line.number(USER) + (line.number(OTHERS_USER) || 0);
    const system = line.number(SYSTEM) + (line.number(OTHERS_SYSTEM) || 0);
    processes.childUsed(parent, user, system);
    this.inside.end(parent, pid, user + system);
    if (!line.isEmpty(17) || !line.is(16, 'exit'))
      this.rows.addEnd(ppid, live?.start === start ? live.wroteBefore : NOTHING);
    else {
      const wroteBefore = live?.wroteBefore ?? NOTHING;
      const nothing = { line: Buffer.alloc(0), isReportedByParent: false, wrote: NOTHING };
      processes.begin(pid, { ...nothing, start, ppid, parent, ended: true, wroteBefore });
      waiting.add(pid, 'exit', line.line());
    }
  }

  /** A parent says how a child ended: news only of one that has not said so itself. */
  private waited(): void {
    const { line, processes, names } = this;
    const child = this.who();
    const teller = names.parent(line.word(3), child);
    const status = line.number(4);
    const spoken = processes.living.has(child) || processes.isOver(child);
    // in a namespace of its own it has another id than for who waits for it
    const other =
      names.named(child) ?? (spoken ? undefined : this.inside.take(teller, status, line.number(5) + line.number(6)));
    const pid = other !== undefined && (!spoken || processes.living.has(other)) ? other : child;
    const live = processes.living.get(pid);
    if (live?.ended === true) this.waiting.release(pid, (status & 0x7f) === 0 ? (status >> 8) & 0xff : undefined);
    else {
      // a child that nobody has told of, made by a system call of its own, is a copy of its parent
      const like = live ?? (processes.done(pid) ? undefined : processes.living.get(teller));
      if (like === undefined) return;
      this.waiting.release(pid);
      this.rows.addWaited(pid, live, like, status);
      processes.childUsed(teller, line.number(5), line.number(6));
    }
    processes.end(pid, live?.start ?? 0);
  }

  /** What was told last does not count: the program could not be executed, or is not to be recorded. */
  private takenBack(): void {
    const { processes, waiting } = this;
    const pid = this.who();
    this.dropTold(pid);
    if (this.line.is(3, 'failed')) {
      waiting.drop(pid, 'exec');
      const before = processes.living.get(pid)?.before;
      if (before !== undefined) processes.begin(pid, before);
      return;
    }
    // what it was before has ended with this; a copy that was made only for this was never anything
    if (waiting.get(pid, 'exec') !== undefined) waiting.release(pid);
    waiting.forget(pid);
    processes.leave(pid);
  }
}
