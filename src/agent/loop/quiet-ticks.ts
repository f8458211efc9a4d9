import { type Sampling, sampling } from '../../base/sampling.ts';
import type { TableWriter } from '../../recording/live/append.ts';
import { rowForm } from '../../recording/live/csv-write.ts';
import { loadavgTable } from '../../sources/host/loadavg.ts';
import { pageBytes } from '../../sources/host/page-bytes.ts';
import { Host, type KeptFile } from '../../sources/host.ts';
import { agentTable } from '../../sources/own/agent.ts';
import { type ProcessRows, REST_SECONDS, type Rest, type Source } from '../../sources/source.ts';
import type { Frame } from '../../table/frame.ts';
import type { Clock } from './clock.ts';

/** JavaScript reads every table itself so often, and looks at what is due. */
const AWAKE_MICROSECONDS = REST_SECONDS * 1e6;
/** What lives for less than so many ticks is not worth learning anything. */
const LEARN_AFTER_TICKS = 3;
const EVEN_MICROSECONDS = 0.5e6;
/** A table whose text looks otherwise again and again is not learned at every tick. */
const LEARN_AGAIN_MICROSECONDS = 60e6;
/** The wall clock may drift so far before JavaScript has to look. */
const DRIFT_MICROSECONDS = 2000;
const MOST_TABLES = 32;
/** Tables that are no sources' tables, for setOutput, and where the rows of processes are counted. */
const OWN_TABLE = -1;
const PROCESSES = -2;
const PROCESS_TALLY = MOST_TABLES + 1;

/** As in native/node-sampling.ticks.c. */
export const SETTING = {
  interval: 0,
  until: 1,
  due: 2,
  clockAhead: 3,
  wallAhead: 4,
  wallTolerance: 5,
  pageBytes: 6,
  mostRunnable: 7,
  runnable: 8,
  bytesBefore: 9,
  rowsBefore: 10,
  time: 11,
} as const;
/** No table is looked at for threads that want to run. */
const NOWHERE = -1;
export const STATE = {
  ticks: 0,
  lastTime: 1,
  mostResident: 2,
  mostOwn: 3,
  tickUs: 4,
  cpuUs: 5,
  looked: 6,
} as const;
export const TALLY = { writtenBytes: 0, writtenRows: 1, done: 2 } as const;
const TALLIES = 3;
const { at: AT } = agentTable;
const OWN_PLACES = Int32Array.of(AT.cpu_us, AT.rss_bytes, AT.written_bytes, AT.written_rows, AT.tick_us, AT.late_us);

/** One table that is read at every tick. */
export interface Sampled {
  readonly source: Source;
  readonly frame: Frame;
  readonly writer: TableWriter;
}

interface Planned extends Sampled {
  readonly index: number;
  /** What C has of it; undefined: nothing that it could read. */
  learned: { numbers: Float64Array; rows: number; texts: Buffer } | undefined;
  /** Where C writes it; −1: it does not. */
  output: number;
  learnAgain: number;
}

/** What C did while JavaScript slept. */
export interface QuietWork {
  ticks: number;
  time: number;
  cpu: number;
  mostResident: number;
  mostOwn: number;
  tickMicroseconds: number;
}

/** What has to stay as it is while JavaScript sleeps. */
export interface Quiet {
  until: number;
  due: number;
  processes: Rest['processes'];
  /** Where the rows of processes go. */
  processWriter: TableWriter | undefined;
  /** The agent's own table. */
  own: Pick<Sampled, 'frame' | 'writer'>;
  /** Of everything, so far. */
  bytes: number;
  rows: number;
  mostRunnable: number;
}

let isTaken = false;

/**
 * Ticks at which nothing happens that anybody has to think about are done in C, without waking JavaScript; of the others C
 * reads the tables that it can. One agent of a process has this; without a C compiler none.
 */
export class QuietTicks {
  private readonly native: Sampling;
  private readonly clock: Clock;
  private readonly interval: number;
  private readonly settings = new Float64Array(16);
  private readonly state = new Float64Array(16);
  private readonly tallies = new Float64Array((MOST_TABLES + 2) * TALLIES);
  private readonly planned = new Map<Source, Planned>();
  private readonly statm: KeptFile;
  private processes: Rest['processes'];
  private processWriter: TableWriter | undefined;
  private own: Sampled['writer'] | undefined;
  private nextAwake = 0;
  private isArmed = false;
  private wake: (due: number, sampled: number | undefined) => void = () => {};

  private constructor(native: Sampling, clock: Clock, interval: number, statm: KeptFile) {
    this.native = native;
    this.clock = clock;
    this.interval = interval;
    this.statm = statm;
  }

  /** Undefined: there is no native code, or another agent has it. */
  static open(clock: Clock, interval: number): QuietTicks | undefined {
    const native = sampling();
    const host = new Host();
    const statm = native === null || isTaken ? undefined : host.tryKeep('/proc/self/statm', true);
    if (native === null || statm === undefined) return undefined;
    const made = new QuietTicks(native, clock, interval, statm);
    const { settings, state, tallies } = made;
    settings[SETTING.pageBytes] = pageBytes(host);
    settings[SETTING.wallTolerance] = DRIFT_MICROSECONDS;
    if (native.beginTicks(settings, state, tallies, (now, due) => made.called(now, due)) < 0) return undefined;
    isTaken = true;
    return made;
  }

  close(): void {
    this.disarm();
    this.forget();
    this.statm.close();
    isTaken = false;
  }

  /** Sources were opened or closed: their files may be others now. */
  forget(): void {
    this.countRows();
    this.native.dropTables();
    this.planned.clear();
    this.nextAwake = 0;
    // whoever is armed has nothing left to read
    this.settings[SETTING.until] = 0;
  }

  private called(now: number, due: number): void {
    this.isArmed = false;
    if (this.state[STATE.looked] === 1) this.processes?.looked();
    this.wake(due, this.state[STATE.lastTime] === now ? now : undefined);
  }

  /** At a tick of JavaScript's: C reads and writes what it can, if it has not yet. `all`: JavaScript reads everything. */
  sample(time: number, all: boolean): void {
    if (this.state[STATE.lastTime] === time) return;
    if (all || time >= this.nextAwake || this.nextAwake - time > AWAKE_MICROSECONDS) {
      // ticks are never quite even
      this.nextAwake = time + AWAKE_MICROSECONDS - EVEN_MICROSECONDS;
      return;
    }
    this.settings[SETTING.time] = time;
    this.native.sampleTables();
  }

  /** Whether C has read and written this table at this time. */
  isDone(source: Source, time: number): boolean {
    const index = this.planned.get(source)?.index;
    return index !== undefined && this.state[STATE.lastTime] === time && this.tally(index, TALLY.done) === 1;
  }

  private tally(index: number, of: number): number {
    return this.tallies[index * TALLIES + of]!;
  }

  /** What C wrote is counted by the writers. */
  private countRows(): void {
    const { state, tallies } = this;
    const count = (writer: TableWriter | undefined, index: number): boolean => {
      const at = index * TALLIES;
      const [bytes, rows] = [tallies[at + TALLY.writtenBytes]!, tallies[at + TALLY.writtenRows]!];
      if (rows > 0) writer?.wrote(bytes, rows);
      tallies[at + TALLY.writtenBytes] = tallies[at + TALLY.writtenRows] = 0;
      return rows > 0;
    };
    for (const { index, writer, frame } of this.planned.values())
      if (count(writer, index)) frame.time = Math.max(frame.time, state[STATE.lastTime]!);
    count(this.own, this.planned.size);
    count(this.processWriter, PROCESS_TALLY);
  }

  /** What C did since the last time; undefined: JavaScript has done all ticks itself. */
  settle(): QuietWork | undefined {
    const { state } = this;
    this.countRows();
    const ticks = state[STATE.ticks]!;
    if (ticks === 0) return undefined;
    const work = {
      ticks,
      time: state[STATE.lastTime]!,
      cpu: state[STATE.cpuUs]!,
      mostResident: state[STATE.mostResident]!,
      mostOwn: state[STATE.mostOwn]!,
      tickMicroseconds: state[STATE.tickUs]!,
    };
    state[STATE.ticks] = state[STATE.mostResident] = state[STATE.mostOwn] = 0;
    return work;
  }

  /** After a tick of JavaScript's: C learns what it can read at the next one. True: it can read all of these. */
  plan(sampled: readonly Sampled[], time: number): boolean {
    if (sampled.length !== this.planned.size || !sampled.every(({ source }) => this.planned.has(source)))
      this.begin(sampled, time);
    let isWhole = true;
    for (const one of this.planned.values()) {
      const { index, source, writer } = one;
      writer.rollWhenDue(time);
      if (!this.isDone(source, time)) {
        // C was asked at this tick, and could not
        if (this.state[STATE.lastTime] === time && one.output >= 0) one.learned = undefined;
        if (!isSame(one) && time >= one.learnAgain) this.learn(one, time);
      }
      const output = one.learned === undefined ? -1 : writer.output;
      if (output !== one.output) this.native.setOutput(index, output);
      one.output = output;
      isWhole &&= output >= 0;
    }
    return isWhole;
  }

  private begin(sampled: readonly Sampled[], time: number): void {
    this.forget();
    const learnAgain = time + LEARN_AFTER_TICKS * this.interval;
    for (const { source, frame, writer } of sampled.slice(0, MOST_TABLES)) {
      const index = this.planned.size;
      this.planned.set(source, { source, frame, writer, index, learned: undefined, output: -1, learnAgain });
      writer.onRelease = () => void this.native.setOutput(index, -1);
      this.native.setTable(index, -1, frame.numbers, 0, NOTHING, NOTHING);
    }
  }

  private learn(one: Planned, time: number): void {
    const { index, source, frame } = one;
    const { rows, numbers } = frame;
    const form = rows === 0 ? undefined : rowForm(frame);
    const files = form === undefined ? undefined : source.forms?.(frame);
    one.learned = undefined;
    one.learnAgain = time + LEARN_AGAIN_MICROSECONDS;
    one.output = -1;
    if (form === undefined || files === undefined) return;
    const { native } = this;
    const isTold =
      native.setTable(index, -1, numbers, rows, form.decimals, form.texts) === 0 &&
      files.every(({ fd, single, form }) => native.setFile(index, fd, single ? 1 : 0, form) === 0);
    if (isTold) one.learned = { numbers, rows, texts: form.texts };
  }

  /** Lets C do the ticks until something is not as it was; it then calls `wake`. False: it cannot. */
  arm(quiet: Quiet, wake: (due: number, sampled: number | undefined) => void): boolean {
    const { native, settings, planned } = this;
    const { own, processes, processWriter } = quiet;
    const form = rowForm(own.frame);
    if (form === undefined || own.writer.output < 0) return false;
    if (processes !== this.processes || processes === undefined) {
      const { pids, files, counts, results } = processes ?? NOBODY;
      if (native.setProcesses(pids, files, counts, results) < 0) return false;
      if (processes !== undefined && !this.tellRows(processes.rows)) return false;
      this.processes = processes;
    }
    if (processWriter !== undefined) processWriter.onRelease = () => void native.setOutput(PROCESSES, -1);
    this.processWriter = processWriter;
    native.setOutput(PROCESSES, processWriter?.output ?? -1);
    if (own.writer !== this.own) {
      const { frame, writer } = own;
      writer.onRelease = () => void native.setOutput(OWN_TABLE, -1);
      if (native.setOwn(this.statm.fd, -1, frame.numbers, 1, form.decimals, form.texts, OWN_PLACES) < 0) return false;
      this.own = writer;
    }
    native.setOutput(OWN_TABLE, own.writer.output);
    const [loads] = planned.values();
    const isLoad = loads?.frame.table.name === loadavgTable.name;
    settings[SETTING.interval] = this.interval;
    settings[SETTING.until] = Math.min(quiet.until, this.nextAwake);
    settings[SETTING.due] = quiet.due;
    settings[SETTING.clockAhead] = this.clock.now() - native.steady();
    settings[SETTING.mostRunnable] = quiet.mostRunnable;
    settings[SETTING.runnable] = isLoad ? loadavgTable.at.runnable : NOWHERE;
    settings[SETTING.bytesBefore] = quiet.bytes;
    settings[SETTING.rowsBefore] = quiet.rows;
    this.wake = wake;
    this.isArmed = native.armTicks() === 0;
    return this.isArmed;
  }

  private tellRows({ readable, facts, numbers, texts, positions, decimals, limits }: ProcessRows): boolean {
    return this.native.setProcessRows(readable, facts, numbers, texts, positions, decimals, limits) === 0;
  }

  /** The tick that was to be done next; undefined: it was JavaScript's anyhow. */
  disarm(): number | undefined {
    if (!this.isArmed) return undefined;
    this.isArmed = false;
    this.native.disarmTicks();
    return this.settings[SETTING.due];
  }
}

const NOTHING = Buffer.alloc(0);
const NOBODY = { pids: -1, files: new Int32Array(0), counts: new Float64Array(0), results: new Uint8Array(0) };

/** Whether C still has what there is to know of a table. */
function isSame({ learned, frame }: Planned): boolean {
  if (learned === undefined || learned.numbers !== frame.numbers || learned.rows !== frame.rows) return false;
  return rowForm(frame)?.texts.equals(learned.texts) === true;
}
