import * as fs from 'node:fs';
import * as path from 'node:path';
import { splitLine } from '../../base/csv.ts';
import type { NodeRecording } from '../../recording/folder/open.ts';
import { liveName } from '../../recording/folder/part-name.ts';
import { listParts } from '../../recording/live/file-parts.ts';
import type { Position } from '../../recording/live/position.ts';
import { Tail } from '../../recording/live/tail.ts';
import { grown } from '../../recording/read/edges.ts';
import { cgroupTable, cpuTable, gpuTable, meminfoTable, processTable } from '../../sources/tables.ts';
import type { KeyName, Table, TableColumn } from '../../table/table.ts';

/** What a node does now, from the newest rows of its live files: only what was written since the last look is read. */
export interface NodeNow {
  node: string;
  /** Of the newest sample, epoch microseconds; not there: none was seen. */
  last?: number;
  /** CPUs busy. */
  cpu?: number;
  memory_bytes?: number;
  /** Whose these two are: the job's, or of all on the node. */
  scope: 'job' | 'node';
  io_bytes_per_second?: number;
  gpus: GpuNow[];
  processes: ProcessNow[];
}

export interface GpuNow {
  node: string;
  gpu: string;
  utilization_percent?: number;
  memory_used_bytes?: number;
  power_watts?: number;
}

export interface ProcessNow {
  node: string;
  pid: number;
  name: string;
  user: string;
  state: string;
  /** CPUs busy. */
  cpu?: number;
  memory_bytes?: number;
}

/** Bytes of a live file that are read at the first look: of processes at least a minute, as not all are in each tick. */
const LOOK_BACK = { process: 1 << 20, others: 32 << 10 };
const AT_ONCE = 1 << 20;
/** A process of which no row came for so long has gone unseen; microseconds. */
const FORGOTTEN = 90e6;

type Cells = (name: string) => string;

/** A row of a key, and the one before it. */
interface Kept {
  time: number;
  before?: { time: number; cells: ReadonlyMap<string, number> };
  cells: ReadonlyMap<string, number>;
  texts: ReadonlyMap<string, string>;
}

const { col: cgroup } = cgroupTable;
const { col: gpu } = gpuTable;
const { col: process } = processTable;
const { col: meminfo } = meminfoTable;

interface Followed {
  key: readonly string[];
  numbers: readonly TableColumn[];
  texts: readonly TableColumn[];
}

/** What is kept of each row of a table: its key, numbers and texts. */
const follow = <T extends Table>(
  table: T,
  key: readonly KeyName<T>[],
  numbers: readonly TableColumn[],
  texts: readonly TableColumn[] = [],
): [string, Followed] => [table.name, { key, numbers, texts }];

/** The tables that are followed. */
const FOLLOWED = new Map([
  follow(
    cgroupTable,
    ['cgroup'],
    [cgroup.usage_us, cgroup.memory_current_bytes, cgroup.io_read_bytes, cgroup.io_written_bytes],
  ),
  follow(gpuTable, ['gpu'], [gpu.utilization_percent, gpu.memory_used_bytes, gpu.power_watts], [gpu.mine]),
  follow(
    processTable,
    ['pid', 'start'],
    [
      ...[process.user_ms, process.system_ms, process.rss_bytes, process.ppid],
      ...[process.children_user_ms, process.children_system_ms],
    ],
    [process.name, process.user, process.state],
  ),
  follow(cpuTable, ['cpu'], [cpuTable.col.busy_ms]),
  follow(meminfoTable, [], [meminfo.MemTotal_bytes, meminfo.MemAvailable_bytes]),
]);
/** Of other tables only the time of the newest row is kept. */
const UNREAD: Followed = { key: [], numbers: [], texts: [] };
const OWN_TIMES = [process.user_ms, process.system_ms];
const CHILDREN_TIMES = [process.children_user_ms, process.children_system_ms];

class TableTail {
  readonly rows = new Map<string, Kept>();
  /** What is told of each row that is new. */
  onRow: ((id: string, kept: Kept) => void) | undefined;
  private readonly tail: Tail;
  private readonly folder: string;
  private readonly table: string;
  private position: Position | undefined;
  private columns: string[] = [];
  private header = '';

  constructor(folder: string, table: string) {
    this.folder = folder;
    this.table = table;
    this.tail = new Tail(folder, table);
  }

  /** Takes what is new. */
  look(): void {
    if (this.position === undefined) {
      const tableParts = listParts(this.folder).get(this.table);
      if (tableParts === undefined) return;
      const live = path.join(this.folder, liveName(this.table));
      const size = fs.statSync(live, { throwIfNoEntry: false })?.size ?? 0;
      const back = this.table === processTable.name ? LOOK_BACK.process : LOOK_BACK.others;
      const bytes = size > back ? this.nextRow(live, size - back) : 0;
      this.position = { part: tableParts.newest + 1, bytes };
    }
    for (
      let run = this.tail.wholeLines(this.position, AT_ONCE);
      run !== undefined;
      run = this.tail.wholeLines(this.position, AT_ONCE)
    ) {
      this.position = run.next;
      if (run.header !== this.header) [this.header, this.columns] = [run.header, splitLine(run.header)];
      for (const line of run.bytes.toString('utf8').split('\n')) if (line !== '') this.take(line);
      if (run.bytes.length === 0) return;
    }
  }

  close(): void {
    this.tail.close();
  }

  /** Where the first row behind a place begins. */
  private nextRow(file: string, from: number): number {
    const fd = fs.openSync(file, 'r');
    try {
      const buffer = Buffer.alloc(64 << 10);
      const got = fs.readSync(fd, buffer, 0, buffer.length, from);
      const end = buffer.subarray(0, got).indexOf(10);
      return end < 0 ? from + got : from + end + 1;
    } finally {
      fs.closeSync(fd);
    }
  }

  private take(line: string): void {
    // of a node with many CPUs only their sum is wanted
    if (this.table === cpuTable.name && !line.includes(',all,')) return;
    const values = splitLine(line);
    const at: Cells = (name) => values[this.columns.indexOf(name)] ?? '';
    const time = Number(at('time'));
    if (!Number.isFinite(time)) return;
    const { key, numbers, texts } = FOLLOWED.get(this.table) ?? UNREAD;
    const id = key.map(at).join(' ');
    const old = this.rows.get(id);
    const cells = new Map<string, number>();
    for (const { name } of numbers) {
      const text = at(name);
      if (text !== '') cells.set(name, Number(text));
    }
    const textValues = new Map<string, string>(old?.texts);
    for (const { name } of texts) if (at(name) !== '') textValues.set(name, at(name));
    const kept = {
      ...{ time, cells, texts: textValues },
      ...(old === undefined ? {} : { before: { time: old.time, cells: old.cells } }),
    };
    this.rows.set(id, kept);
    this.onRow?.(id, kept);
  }
}

/** What a counter grew by in a second, between its last two rows. */
function rate(kept: Kept | undefined, { name }: TableColumn): number | undefined {
  const [now, then] = [kept?.cells.get(name), kept?.before?.cells.get(name)];
  if (now === undefined || then === undefined || !(kept!.time > kept!.before!.time)) return undefined;
  return (grown(then, now) / (kept!.time - kept!.before!.time)) * 1e6;
}

const sumKnown = (values: readonly (number | undefined)[]): number | undefined => {
  const numbers = values.filter((value) => value !== undefined);
  return numbers.length === 0 ? undefined : numbers.reduce((sum, value) => sum + value, 0);
};

/** CPUs of children that came and went between samples are seen for so long: at least this, at least two samples; seconds. */
const REAPED_WINDOW = { seconds: 5, samples: 2 };

/**
 * CPU time of short processes, which rates of samples lack: the kernel adds what a child used to the process that waited for its end. Less
 * what samples had of it, that is what it used after its last sample, or all of it.
 */
class ReapedNow {
  private readonly window: number;
  private begin: number | undefined;
  /** Milliseconds, oldest first. */
  private grown: { time: number; ms: number }[] = [];
  /** Of the tick that is being read: what children's times grew by, by process. */
  private readonly growing = new Map<number, number>();
  private tick = 0;
  /** What sampled children of a process had used at their ends and is not taken from its children's time yet. */
  private readonly sampled = new Map<number, number>();

  constructor(interval: number) {
    this.window = Math.max(REAPED_WINDOW.seconds, REAPED_WINDOW.samples * interval) * 1e6;
  }

  take(id: string, { time, cells, texts, before }: Kept): void {
    this.begin ??= time;
    // the rows of a tick come in any order
    if (time !== this.tick) this.settle();
    this.tick = time;
    const used = (at: ReadonlyMap<string, number>, times: readonly TableColumn[]): number =>
      times.reduce((sum, { name }) => sum + (at.get(name) ?? 0), 0);
    const grown = before === undefined ? 0 : used(cells, CHILDREN_TIMES) - used(before.cells, CHILDREN_TIMES);
    const [pid, start] = id.split(' ').map(Number) as [number, number];
    if (grown > 0) this.growing.set(pid, grown);
    // what a new process used before its first sample is in no rate
    if (before === undefined && start * 1000 >= this.begin) this.grown.push({ time, ms: used(cells, OWN_TIMES) });
    const parent = cells.get(process.ppid.name);
    if (texts.get(process.state.name) === 'X' && parent !== undefined)
      this.sampled.set(parent, (this.sampled.get(parent) ?? 0) + used(cells, OWN_TIMES) + used(cells, CHILDREN_TIMES));
  }

  /** CPUs busy until a moment; undefined: no child has ended unseen. */
  cpu(until: number): number | undefined {
    this.settle();
    this.grown = this.grown.filter(({ time }) => until - time < this.window);
    if (this.grown.length === 0 || this.begin === undefined) return undefined;
    const span = Math.min(this.window, Math.max(1e6, until - this.begin));
    return this.grown.reduce((sum, { ms }) => sum + ms, 0) / (span / 1000);
  }

  private settle(): void {
    for (const [pid, grown] of this.growing) {
      const sampled = Math.min(grown, this.sampled.get(pid) ?? 0);
      if (sampled > 0) this.sampled.set(pid, this.sampled.get(pid)! - sampled);
      this.grown.push({ time: this.tick, ms: grown - sampled });
    }
    this.growing.clear();
  }
}

/** Follows one node. */
export class NodeFollower {
  private readonly node: NodeRecording;
  private readonly tables = new Map<string, TableTail>();
  private readonly reaped: ReapedNow;

  constructor(node: NodeRecording) {
    this.node = node;
    this.reaped = new ReapedNow(node.agent?.interval_seconds ?? 1);
  }

  look(): NodeNow {
    const { scope } = this.node.agent ?? {};
    const isOwn = scope?.members === 'cgroup' && scope.cgroup_shared !== true;
    const names = [
      ...(isOwn ? [cgroupTable.name] : [cpuTable.name, meminfoTable.name]),
      gpuTable.name,
      processTable.name,
    ];
    this.lookAt(names);
    const rowsOf = (name: string): ReadonlyMap<string, Kept> => this.tables.get(name)?.rows ?? new Map<string, Kept>();
    const newest = (all: readonly string[]): number => Math.max(...all.map((name) => newestOf(rowsOf(name))));
    let last = newest(names);
    if (!Number.isFinite(last)) {
      const others = [...listParts(this.node.folder).keys()];
      this.lookAt(others);
      last = newest(others);
    }
    const processes = this.processesOf(rowsOf(processTable.name), last);
    const latest = {
      node: this.node.name,
      ...(Number.isFinite(last) ? { last } : {}),
      gpus: this.gpusOf(rowsOf(gpuTable.name)),
      processes,
    };
    const own = rowsOf(cgroupTable.name).get('.');
    if (own !== undefined) {
      const usage = rate(own, cgroup.usage_us);
      return {
        ...latest,
        scope: 'job',
        ...defined('cpu', usage === undefined ? undefined : usage / 1e6),
        ...defined('memory_bytes', own.cells.get(cgroup.memory_current_bytes.name)),
        ...defined(
          'io_bytes_per_second',
          sumKnown([rate(own, cgroup.io_read_bytes), rate(own, cgroup.io_written_bytes)]),
        ),
      };
    }
    const [cpu, memory] = [
      sumKnown([...processes.map((each) => each.cpu), this.reaped.cpu(last)]),
      sumKnown(processes.map((each) => each.memory_bytes)),
    ];
    if (processes.length > 0)
      return { ...latest, scope: 'job', ...defined('cpu', cpu), ...defined('memory_bytes', memory) };
    const busy = rate(rowsOf(cpuTable.name).get('all'), cpuTable.col.busy_ms);
    const mem = rowsOf(meminfoTable.name).get('')?.cells;
    const [total, free] = [mem?.get(meminfo.MemTotal_bytes.name), mem?.get(meminfo.MemAvailable_bytes.name)];
    return {
      ...latest,
      scope: 'node',
      ...defined('cpu', busy === undefined ? undefined : busy / 1000),
      ...defined('memory_bytes', total === undefined || free === undefined ? undefined : total - free),
    };
  }

  close(): void {
    for (const tail of this.tables.values()) tail.close();
  }

  private lookAt(names: readonly string[]): void {
    for (const name of names) {
      if (!this.tables.has(name)) this.tables.set(name, this.follow(name));
      this.tables.get(name)!.look();
    }
  }

  private follow(name: string): TableTail {
    const tail = new TableTail(this.node.folder, name);
    if (name === processTable.name) tail.onRow = (id, kept) => this.reaped.take(id, kept);
    return tail;
  }

  private gpusOf(rows: ReadonlyMap<string, Kept>): GpuNow[] {
    return [...rows]
      .filter(([, { texts }]) => texts.get(gpu.mine.name) !== 'no')
      .map(([card, { cells }]) => ({
        node: this.node.name,
        gpu: card,
        ...defined('utilization_percent', cells.get(gpu.utilization_percent.name)),
        ...defined('memory_used_bytes', cells.get(gpu.memory_used_bytes.name)),
        ...defined('power_watts', cells.get(gpu.power_watts.name)),
      }));
  }

  private processesOf(rows: ReadonlyMap<string, Kept>, last: number): ProcessNow[] {
    const living: ProcessNow[] = [];
    for (const [id, kept] of rows) {
      const state = kept.texts.get(process.state.name) ?? '';
      if (state === 'X' || last - kept.time > FORGOTTEN) continue;
      const cpu = sumKnown([rate(kept, process.user_ms), rate(kept, process.system_ms)]);
      // a row is written when something changed: none since means that it does nothing
      const isIdle = last - kept.time > 5e6;
      living.push({
        node: this.node.name,
        pid: Number(id.split(' ')[0]),
        name: kept.texts.get(process.name.name) ?? '',
        user: kept.texts.get(process.user.name) ?? '',
        state,
        ...defined('cpu', isIdle ? 0 : cpu === undefined ? undefined : cpu / 1000),
        ...defined('memory_bytes', kept.cells.get(process.rss_bytes.name)),
      });
    }
    return living;
  }
}

const newestOf = (rows: ReadonlyMap<string, Kept>): number => Math.max(...[...rows.values()].map(({ time }) => time));

const defined = <K extends string>(name: K, value: number | undefined): { [N in K]?: number } =>
  (value === undefined || Number.isNaN(value) ? {} : { [name]: value }) as { [N in K]?: number };
