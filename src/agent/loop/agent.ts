import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { made } from '../../base/made.ts';
import { stated } from '../../base/stated.ts';
import { VERSION } from '../../base/version.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { FORMAT } from '../../recording/folder/job.ts';
import { lastTime } from '../../recording/folder/last-time.ts';
import { allLost, type LostSamples, lostSamples, lostWith } from '../../recording/folder/lost-samples.ts';
import { replaceJson, replaceLast } from '../../recording/folder/replace.ts';
import { writesHere } from '../../recording/folder/written-here.ts';
import { TableWriter, type WriterOptions } from '../../recording/live/append.ts';
import { droppedSamples } from '../../sinks/spool/dropped.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import type { Host, Note } from '../../sources/host.ts';
import { agentTable } from '../../sources/own/agent.ts';
import type { Scope } from '../../sources/scope.ts';
import type { SourceKind } from '../../sources/source.ts';
import { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';
import type { IsolatedSources } from '../isolated/isolated.ts';
import type { RecordAside } from '../run/record-aside.ts';
import { type Clock, wallClock } from './clock.ts';
import { memoryReader, usedCpu } from './own-cost.ts';
import { QuietTicks } from './quiet-ticks.ts';
import { Readers } from './readers.ts';
import { type Resting, type Ticker, ticker } from './ticker.ts';
import { type Turns, turns } from './turns.ts';

/** agent.json is renewed so often; samples tell more exactly that the agent lives. */
const RECORD_SECONDS = 60;
/** While the disk refuses samples it says more often how many wait. */
const TROUBLE_SECONDS = 2;
/** Written samples are brought to the disk so often, which is what a node that loses power may cost; each time takes CPU. */
const SYNC_SECONDS = 30;
/** A full disk is tried again so often by an agent that has nothing else to do any more. */
const ROOM_AGAIN_MS = 1000;
/** Bytes reserved in agent.json for when the disk is full. */
const ROOM_BYTES = 4096;

export interface AgentOptions {
  /** The node's folder in the recording; it is made if needed. */
  folder: string;
  node: string;
  host: Host;
  facts: NodeFacts;
  intervalSeconds: number;
  /** Samples are taken so long after whole multiples of the interval. */
  offsetSeconds?: number;
  step?: string;
  writer?: WriterOptions;
  clock?: Clock;
  /** The process records other things, too: only what it uses from now on counts as the cost of this recording. */
  shared?: boolean;
  /** Where several agents share their ticks. */
  ticker?: Ticker;
  /** Where several agents share the time for what jobs have written. */
  turns?: Turns;
  /** What an agent that was here before has said: this one goes on with its recording. */
  before?: AgentRecord;
  /** Makes the folder and what is in it besides; throws while the disk takes nothing. Called until it has done so, and on. */
  prepare?: () => void;
  /** Where it says what it cannot say in its recording while the disk takes nothing. */
  aside?: RecordAside;
  /** Called when the recording's folder has gone: there is nothing left to do. */
  gone?: () => void;
}

type Attached = Pick<IsolatedSources, 'request' | 'close' | 'skipped' | 'cost'>;

const { at: AT } = agentTable;
/** One that is killed again and again does not fill its record with that. */
const MOST_AWAY = 100;

/** One agent: samples its sources at every tick and appends the samples to the node's folder. */
export class Agent {
  private readonly kept: AgentRecord;
  private readonly options: AgentOptions;
  private readonly clock: Clock;
  private readonly interval: number;
  private readonly ticks: Ticker;
  private readonly readers: Readers;
  private readonly writers = new Map<string, TableWriter>();
  private readonly own: Frame;
  private readonly ownWriter: TableWriter;
  private isolated: Attached | undefined;
  private readonly delivered = new Map<string, Frame>();
  private endTicks: () => void = () => {};
  private readonly leave: () => void;
  private readonly turns: Turns;
  /** Reads a little of what processes have recorded, between ticks. */
  private readonly catchUp = (): boolean => !this.ended && this.readers.catchUp(this.clock.now());
  private tickMicroseconds = 0;
  /** Of a process that does other things too: what it had used before this recording began, in microseconds. */
  private readonly cpuBefore: number;
  private notesSaid = 0;
  private troubleSaid = false;
  private nextSync = 0;
  private nextRecord = 0;
  private ended = false;
  private hasSaid = false;
  /** Of a clock that others use too: what happened before this agent. */
  private readonly jumpsBefore: number;
  private readonly ownMemory = memoryReader();
  /** Of an agent that was here before, and was killed. */
  private readonly lostBefore: readonly LostSamples[];
  /** What others had to leave out of this recording, by table. */
  private readonly losses = new Map<string, LostSamples>();
  /** Then: when it took its last sample, as far as that is known. */
  private readonly atEnd: (() => void)[] = [];
  private readonly atTick: ((time: number) => void)[] = [];
  /** Ticks that need no thought, in C. */
  private readonly quiet: QuietTicks | undefined;
  /** Of threads on the node: while more want to run, what is done at ticks needs thought. */
  private mostRunnable = Number.POSITIVE_INFINITY;
  private readonly lastBefore: number | undefined;

  constructor(options: AgentOptions) {
    this.options = options;
    this.clock = options.clock ?? wallClock();
    this.jumpsBefore = this.clock.jumps.length;
    this.turns = options.turns ?? turns();
    this.cpuBefore = options.shared === true ? usedCpu() : 0;
    this.interval = Math.round(options.intervalSeconds * 1e6);
    this.ticks = options.ticker ?? ticker(this.clock, {}, Math.round((options.offsetSeconds ?? 0) * 1e6));
    this.lostBefore = options.before === undefined ? [] : lostWith(options.before);
    // before its live part is set aside
    const { before } = options;
    const written = before && (lastTime(path.join(options.folder, `${agentTable.name}.csv`)) ?? before.end);
    // what it took after that was not written
    this.lastBefore = before && Math.max(written ?? 0, before.last_sample ?? 0);
    if (options.prepare === undefined) makeFolder(options.folder, 0o700);
    this.leave = writesHere(options.folder);
    this.readers = new Readers(options.host, options.intervalSeconds, (table) => this.writer(table));
    // who shares ticks or a clock has more to do at each
    const isAlone = options.ticker === undefined && options.clock === undefined;
    this.quiet = isAlone ? QuietTicks.open(this.clock, this.interval) : undefined;
    if (this.quiet !== undefined) this.readers.readBy(this.quiet);
    this.own = new Frame(agentTable);
    this.ownWriter = this.writer(agentTable);
    this.kept = {
      format: FORMAT,
      tacho: VERSION,
      node: options.node,
      pid: process.pid,
      ...stated({ step: options.step }),
      interval_seconds: options.intervalSeconds,
      ...(options.shared === true
        ? { service: true as const, service_start: Math.round(performance.timeOrigin * 1000) }
        : {}),
      start: this.clock.now(),
      facts: options.facts,
      scope: { members: 'none' },
      tables: [agentTable],
      unmeasured: options.host.notes,
      ticks: 0,
      late_ticks: 0,
      missed_ticks: 0,
      cost: { cpu_seconds: 0, max_rss_bytes: 0, bytes_written: 0 },
      ...goingOn(options.before),
    };
  }

  /** What it says of itself in agent.json. */
  get record(): AgentRecord {
    this.settle();
    return this.kept;
  }

  /** Opens sources; what is not on this machine is left out, what cannot be read is noted. They join the next tick. */
  open(kinds: readonly SourceKind[], scope: Scope): void {
    const { members, cgroup } = scope;
    this.record.scope = {
      members: members.by,
      ...(cgroup === undefined ? {} : { cgroup: cgroup.path, cgroup_shared: cgroup.shared }),
      ...(cgroup?.agent === true ? { cgroup_with_agent: true } : {}),
      ...(cgroup?.older === true ? { cgroup_older: true } : {}),
    };
    // what is new is written down at the next tick, not only a minute later
    this.nextRecord = 0;
    this.readers.open(kinds, scope, (table, every) => this.describe(table, every));
  }

  /** The job's processes are told in a better way from now on: its own tables are opened anew. */
  reopen(kinds: readonly SourceKind[], scope: Scope): void {
    this.readers.close(kinds);
    this.open(kinds, scope);
    this.save();
  }

  /** Sources in threads of their own hand their samples in when they have them. */
  attach(isolated: Attached | undefined): void {
    this.isolated = isolated;
  }

  /** Takes samples from an isolated source. */
  deliver(frame: Frame): void {
    if (this.ended) return;
    this.settle();
    if (!this.record.tables.some((t) => t.name === frame.table.name)) {
      this.describe(frame.table);
      this.save();
    }
    this.delivered.set(frame.table.name, frame);
    this.writer(frame.table).append(frame);
  }

  /** Ends the current part of every table, so that it is compressed. */
  roll(): void {
    this.settle();
    for (const writer of this.writers.values()) writer.roll();
  }

  /** The newest samples of every table, for who asks between ticks. */
  newest(): Frame[] {
    this.settle();
    return [this.own, ...this.readers.frames, ...this.delivered.values()];
  }

  foundGpus(gpus: NodeFacts['gpus']): void {
    this.options.facts.gpus = gpus;
    this.save();
  }

  note(note: Note): void {
    this.options.host.note(note);
  }

  /** Number of rows of a table that are lost by now, for this reason. */
  lose(lost: LostSamples): void {
    const since = this.losses.get(lost.table)?.since ?? this.clock.now();
    this.losses.set(lost.table, { since, ...lost });
  }

  /** What could not be read of a table may be there now. */
  unnote(table: string): void {
    const { notes } = this.options.host;
    notes.splice(0, notes.length, ...notes.filter((note) => note.table !== table));
  }

  /** Takes the first sample at once, then one at every tick. `rest`: what there is to say then is left to whoever calls `save`, soon. */
  start(rest?: 'saved later'): void {
    // an agent that is killed at once has said who it was
    if (!this.hasSaid) this.save();
    this.nextRecord = Number.POSITIVE_INFINITY;
    this.nextSync = this.clock.now() + SYNC_SECONDS * 1e6;
    this.sample(this.clock.now(), 0, true);
    this.record.first_sample ??= this.own.time;
    this.tellAway(this.own.time);
    this.nextRecord = 0;
    if (rest === undefined) this.save();
    const { quiet } = this;
    this.endTicks = this.ticks.every(
      this.interval,
      (now, due) => this.tick(now, due),
      quiet && { arm: (due, wake) => this.rest(quiet, due, wake), disarm: () => quiet.disarm() },
    );
  }

  /** Ticks that nobody was there for are no ticks that an agent was too busy for. */
  private tellAway(to: number): void {
    const from = this.lastBefore ?? to;
    if (to - from > 2 * this.interval) this.record.away = [...(this.record.away ?? []), { from, to }].slice(-MOST_AWAY);
  }

  /** Something to do at every tick, after its samples; at few ticks is enough while no more threads want to run. */
  onTick(work: (time: number) => void, mostRunnable = -1): void {
    this.atTick.push(work);
    this.mostRunnable = Math.min(this.mostRunnable, mostRunnable);
  }

  /** Leaves the next ticks to C, if there is nothing to decide. */
  private rest(quiet: QuietTicks, due: number, wake: Parameters<Resting['arm']>[1]): boolean {
    const rest = this.readers.rest(this.own.time);
    if (rest === undefined || this.isolated !== undefined || this.refusedBy !== undefined) return false;
    this.settle();
    const { own: frame, ownWriter: writer, mostRunnable } = this;
    const until = Math.min(rest.until, this.nextSync, this.nextRecord);
    const own = { frame, writer };
    const { processes, processWriter } = rest;
    return quiet.arm({ ...this.written(), until, due, processes, processWriter, own, mostRunnable }, wake);
  }

  /** Takes over what C has done. */
  private settle(): void {
    const work = this.quiet?.settle();
    if (work === undefined) return;
    const { kept: record } = this;
    record.ticks += work.ticks;
    record.last_sample = this.own.time = work.time;
    record.cost.cpu_seconds = (work.cpu - this.cpuBefore) / 1e6;
    record.cost.max_rss_bytes = Math.max(record.cost.max_rss_bytes, work.mostResident);
    if (record.cost.max_own_bytes !== undefined)
      record.cost.max_own_bytes = Math.max(record.cost.max_own_bytes, work.mostOwn);
    this.tickMicroseconds = work.tickMicroseconds;
  }

  private written(): { bytes: number; rows: number } {
    let [bytes, rows] = [0, 0];
    for (const writer of this.writers.values()) {
      bytes += writer.bytesWritten;
      rows += writer.rowsWritten;
    }
    return { bytes, rows };
  }

  /** Something to do when this agent ends. */
  onEnd(work: () => void): void {
    this.atEnd.push(work);
  }

  /** Looks at the job's own tables once more, between ticks: what lives for less than an interval is seen at all. */
  glance(): void {
    if (this.ended) return;
    this.settle();
    this.readers.glance(this.clock.now());
    if (this.quiet !== undefined) this.ticks.again?.();
  }

  /** Takes the last sample, closes everything and says why. `patience`: a full disk is waited for, until this is aborted. */
  async stop(why: string, patience?: AbortSignal): Promise<void> {
    if (this.ended) return;
    for (const work of this.atEnd.splice(0)) work();
    this.atTick.length = 0;
    this.endTicks();
    this.settle();
    this.quiet?.close();
    const now = this.clock.now();
    if (patience === undefined || this.refusedBy === undefined) this.readers.last();
    // what there is to say is said at the end, which is near
    if (patience === undefined) this.nextRecord = Number.POSITIVE_INFINITY;
    this.sample(now, 0, true);
    if (patience !== undefined && this.refusedBy !== undefined) {
      await this.room(patience);
      this.readers.last();
      this.readers.catchUp(now);
    }
    // an agent of one job has nothing else to do any more
    const { finish } = this.options.turns ?? turns(1);
    if (this.readers.isBehind) await finish(this.catchUp, patience);
    this.readers.skip();
    await this.isolated?.close();
    this.ended = true;
    this.readers.closeAll();
    await Promise.all([...this.writers.values()].map((w) => w.close()));
    this.record.end = this.clock.now();
    this.record.end_reason = why;
    this.save();
    this.leave();
  }

  private tick(now: number, due: number): void {
    this.settle();
    const late = Math.max(0, now - due);
    if (late > this.interval / 10) this.record.late_ticks++;
    if (late >= this.interval) {
      this.record.missed_ticks += Math.floor(late / this.interval);
    }
    this.sample(now, late, false);
    // those that were due while this one was taken do not happen
    const { offset = 0 } = this.ticks;
    const ticksUntil = (time: number): number => Math.floor((time - offset) / this.interval);
    this.record.missed_ticks += ticksUntil(this.clock.now()) - ticksUntil(now);
  }

  private sample(time: number, late: number, all: boolean): void {
    const begin = performance.now();
    const { record } = this;
    record.ticks++;
    this.isolated?.request(time);
    this.readers.read(time, all);
    if (this.readers.isBehind) this.turns.add(this.catchUp);
    for (const work of this.atTick) work(time);
    this.account(time, late);
    if (time >= this.nextSync) {
      this.nextSync = time + SYNC_SECONDS * 1e6;
      for (const writer of this.writers.values()) writer.sync();
    }
    const inTrouble = this.own.numbers[AT.waiting_rows]! > 0;
    if (
      time >= this.nextRecord ||
      this.options.host.notes.length !== this.notesSaid ||
      inTrouble !== this.troubleSaid
    ) {
      this.troubleSaid = inTrouble;
      this.nextRecord = time + (inTrouble ? TROUBLE_SECONDS : RECORD_SECONDS) * 1e6;
      this.save();
    }
    this.tickMicroseconds = Math.round((performance.now() - begin) * 1000);
  }

  /** The record has changed: it is written at the next tick, once for all that has. */
  saveSoon(): void {
    this.nextRecord = 0;
  }

  /** Why the disk refuses samples, which wait in memory; undefined: it takes them. */
  get refusedBy(): string | undefined {
    for (const { trouble } of this.writers.values()) {
      if (trouble !== undefined && trouble.keptRows > 0) return trouble.why;
    }
    return undefined;
  }

  private async room(patience: AbortSignal): Promise<void> {
    while (this.refusedBy !== undefined && !patience.aborted) {
      await sleep(ROOM_AGAIN_MS, undefined, { signal: patience, ref: false }).catch(() => {});
      for (const writer of this.writers.values()) writer.retry();
    }
  }

  private account(time: number, late: number): void {
    const { record, own } = this;
    const others = this.isolated?.cost;
    const cpu = usedCpu() + (others?.cpu_us ?? 0);
    const { resident, own: alone } = this.ownMemory();
    const rss = resident + (others?.rss_bytes ?? 0);
    const { bytes, rows } = this.written();
    let waiting = 0;
    for (const { trouble } of this.writers.values()) waiting += trouble?.keptRows ?? 0;
    own.clear(time);
    own.row();
    const { numbers } = own;
    numbers[AT.cpu_us] = cpu;
    numbers[AT.rss_bytes] = rss;
    numbers[AT.written_bytes] = bytes;
    numbers[AT.written_rows] = rows;
    numbers[AT.tick_us] = this.tickMicroseconds;
    numbers[AT.late_us] = late;
    numbers[AT.late_ticks] = record.late_ticks;
    numbers[AT.missed_ticks] = record.missed_ticks;
    numbers[AT.skipped_reads] = this.isolated?.skipped ?? 0;
    numbers[AT.waiting_rows] = waiting;
    this.ownWriter.append(own);
    record.last_sample = time;
    record.cost.cpu_seconds = (cpu - this.cpuBefore) / 1e6;
    record.cost.max_rss_bytes = Math.max(record.cost.max_rss_bytes, rss);
    // of the process that reads isolated sources only all together is known
    if (others === undefined && alone > 0) record.cost.max_own_bytes = Math.max(record.cost.max_own_bytes ?? 0, alone);
    else delete record.cost.max_own_bytes;
    record.cost.bytes_written = bytes;
  }

  private writer(table: Table): TableWriter {
    return made(this.writers, table.name, () => new TableWriter(this.options.folder, table, this.options.writer));
  }

  private describe(table: Table, every?: number): void {
    const { tables } = this.record;
    const tableIndex = tables.findIndex(({ name }) => name === table.name);
    tables.splice(
      tableIndex < 0 ? tables.length : tableIndex,
      tableIndex < 0 ? 0 : 1,
      every === undefined ? table : { ...table, every },
    );
  }

  /** Writes agent.json now: something in the record was changed from outside. */
  save(): void {
    const { record } = this;
    this.notesSaid = record.unmeasured.length;
    if (this.nextRecord === 0) this.nextRecord = this.own.time + RECORD_SECONDS * 1e6;
    const jumps = this.clock.jumps.slice(this.jumpsBefore);
    if (jumps.length > 0) record.clock_jumps = [...(this.options.before?.clock_jumps ?? []), ...jumps];
    const lost = [...this.lostBefore, ...lostSamples(this.writers), ...this.readers.lost, ...this.losses.values()];
    if (lost.length > 0) record.lost_samples = this.ended ? allLost(lost) : lost;
    else delete record.lost_samples;
    const written = [...this.writers].flatMap(([name, { rowsWritten }]) => (rowsWritten > 0 ? name : []));
    record.written = [...new Set([...(this.options.before?.written ?? []), ...written])];
    const dropped = droppedSamples(this.options.folder);
    if (dropped !== undefined) record.dropped = dropped;
    try {
      this.options.prepare?.();
      record.on_disk ??= isOnDisk(this.options.folder);
      this.reserve();
      this.options.aside?.drop(this.options.folder);
    } catch (error) {
      if (!fs.existsSync(this.options.folder)) this.options.gone?.();
      this.note({ table: agentTable.name, what: 'agent.json', why: reason(error) });
      this.options.aside?.keep(this.options.folder, record);
      this.notesSaid = record.unmeasured.length;
    }
  }

  /** Takes the room on the disk for what it will have to say; throws when there is not even that much. */
  reserve(): void {
    const file = path.join(this.options.folder, 'agent.json');
    this.hasSaid = true;
    if (this.ended) replaceLast(file, this.record);
    else replaceJson(file, this.record, ROOM_BYTES);
  }
}

/** Btrfs has no device number of its own, but block devices below it. */
const BTRFS = 0x9123683e;

/** Whether what is written into a folder goes to a block device: not to a server, nor into memory. */
export function isOnDisk(folder: string): boolean {
  const major = Number((fs.statSync(folder, { bigint: true }).dev >> 8n) & 0xfffn);
  return major !== 0 || fs.statfsSync(folder).type === BTRFS;
}

/** Counts go on where the last agent of this recording left them. */
function goingOn(before: AgentRecord | undefined): Partial<AgentRecord> {
  if (before === undefined) return {};
  const { service_start, start, first_sample, tables, ticks, late_ticks, missed_ticks } = before;
  const { shared_with, neighbours, clock_jumps, away } = before;
  return {
    ...stated({ service_start }),
    start,
    tables,
    ticks,
    late_ticks,
    missed_ticks,
    ...stated({ first_sample, shared_with, neighbours, clock_jumps, away }),
  };
}
