import { append } from '../../base/extremes.ts';
import type { Recording } from '../../recording/folder/open.ts';
import type { BatchOf, TextColumn } from '../../recording/read/batch.ts';
import { readDefined } from '../../recording/read/read.ts';
import { threadEndTable } from '../../sources/records/tables.ts';
import type { NameIn } from '../../table/table.ts';
import { cumulative, type RecordName } from './images.ts';
import type { Damaged } from './processes.ts';
import { CPU_TIMES, missing, type ProcessColumns, type ProcessId, type ProcessSet, type ThreadColumns } from './set.ts';
import { threadNumber } from './thread-name.ts';

type ThreadBatch = BatchOf<typeof threadEndTable>;

const IDENTITY = new Set<string>(['thread_start', 'ppid', 'pgid', 'sid', 'uid'] satisfies RecordName[]);

/** Threads of many processes: those of one come together, in the order of the processes. */
export interface AllThreads extends ThreadColumns {
  /** Each one's process, as a place in the set. */
  process: Uint32Array;
}

/** The threads that told of their end, by their start; none when the recording has no records of threads. */
export function readThreads(recording: Recording, process: ProcessId): ThreadColumns {
  const batch = threadBatch(recording, process.node);
  if (batch === undefined) return empty();
  const rows = threadRows(batch, Float64Array.of(process.pid), Float64Array.of(process.start));
  return withValues(threadColumns(batch, rows));
}

/** Without the metrics that none of the threads has: nodes differ in what they can count. */
export function withValues<T extends ThreadColumns>(threads: T): T {
  const there = [...threads.metrics].filter(([, values]) => values.some((value) => !Number.isNaN(value)));
  return { ...threads, metrics: new Map(there) };
}

/** The threads of all processes of a recording. */
export function readAllThreads(recording: Recording, processes: ProcessColumns, damaged?: Damaged): AllThreads {
  const threadSets: AllThreads[] = [];
  eachNode(processes, (name, from, to) => {
    const batch = threadBatch(recording, name, damaged);
    if (batch !== undefined) threadSets.push(threadsOf(batch, processes, from, to));
  });
  return withValues(join(threadSets));
}

/** The threads that say what their processes do not, and which processes have another one. */
export interface OwnThreads {
  threads: AllThreads;
  /** By process, 1: it has one thread, which has its number, times and metrics. */
  lone: Uint8Array;
  /** The metrics that threads have, whether they are among `threads` or not. */
  metrics: string[];
}

export interface OwnThreadsOptions {
  /** Whether the processes of a node have the figures of their end records. */
  isAsRecorded: (node: string) => boolean;
  /** Metrics that only processes have. */
  ofProcesses: readonly string[];
  damaged?: Damaged;
}

/** The threads of all processes, without making rows of those that the recording does not have, either (`implied_by`). */
export function readOwnThreads(recording: Recording, processes: ProcessSet, options: OwnThreadsOptions): OwnThreads {
  const threadSets: AllThreads[] = [];
  const lone = new Uint8Array(processes.length);
  const metrics = new Set<string>();
  eachNode(processes, (name, from, to) => {
    const batch = options.isAsRecorded(name) ? ownBatch(recording, name, processes, options.ofProcesses) : undefined;
    const all = batch ?? threadBatch(recording, name, options.damaged);
    if (all === undefined) return;
    const threads = withValues(threadsOf(all, processes, from, to));
    threadSets.push(threads);
    if (batch !== undefined) {
      lone.fill(1, from, to);
      for (const process of threads.process) lone[process] = 0;
      for (const { name: metric } of batch.table.columns) {
        const values = processes.metrics.get(metric);
        const isOfLone = values?.some((value, i) => lone[i] === 1 && !Number.isNaN(value));
        if (isOfLone === true || threads.metrics.has(metric)) metrics.add(metric);
      }
    }
    for (const metric of threads.metrics.keys()) metrics.add(metric);
  });
  return { threads: withValues(join(threadSets)), lone, metrics: [...metrics] };
}

function eachNode({ length, node }: ProcessColumns, use: (name: string, from: number, to: number) => void): void {
  for (let from = 0, to = 0; from < length; from = to) {
    while (to < length && node[to] === node[from]) to++;
    use(node[from]!, from, to);
  }
}

function threadsOf(batch: ThreadBatch, { pid, start }: ProcessColumns, from: number, to: number): AllThreads {
  const rows = threadRows(batch, pid.subarray(from, to), start.subarray(from, to));
  return { ...threadColumns(batch, rows), process: Uint32Array.from(rows.process, (k) => from + k) };
}

function threadBatch(recording: Recording, name: string, damaged?: Damaged): ThreadBatch | undefined {
  const node = recording.nodes.find((one) => one.name === name);
  const { name: table } = threadEndTable;
  if (!node?.tables.has(table)) return undefined;
  const batch = readDefined(node, threadEndTable);
  for (const damage of batch.damage) damaged?.(node, { ...damage, table });
  return batch;
}

/** The rows that a node has of threads; undefined: there are no others, or others are not what the processes say. */
function ownBatch(
  recording: Recording,
  name: string,
  { metrics, troubles }: ProcessSet,
  ofProcesses: readonly string[],
): ThreadBatch | undefined {
  const node = recording.nodes.find((one) => one.name === name);
  if (troubles.length > 0 || !node?.tables.has(threadEndTable.name)) return undefined;
  const batch = readDefined(node, threadEndTable, { implied: false });
  if (batch.table.implied_by === undefined || batch.damage.length > 0) return undefined;
  // what a first thread had counted in an earlier program would be taken off
  const columns = new Set(batch.table.columns.map((column) => column.name));
  if (columns.has('starttime' satisfies RecordName)) return undefined;
  const others = [...metrics.keys()].filter((metric) => !columns.has(metric));
  const lacking = [...columns].some((column) => !NO_METRICS.has(column) && !metrics.has(column));
  if (lacking || others.some((metric) => !ofProcesses.includes(metric))) return undefined;
  // of a process either part of its CPU time counts alone, of a thread only both
  const [user, system] = CPU_TIMES.map((time) => metrics.get(time));
  return user?.every((value, i) => Number.isNaN(value) === Number.isNaN(system?.[i])) ? batch : undefined;
}

const NO_METRICS = new Set<string>(['thread_start', 'ended'] satisfies NameIn<typeof threadEndTable>[]);

interface ThreadRows {
  /** Rows of the table; `process` and `earlier` go along with it. */
  rows: number[];
  process: number[];
  /** The first thread of the image that the process was before it executed the present one; −1: none. */
  earlier: number[];
}

/** The rows of the threads of processes, those of one by their start. */
function threadRows(batch: ThreadBatch, pids: Float64Array, starts: Float64Array): ThreadRows {
  const images = threadImages(batch);
  const tid = batch.texts.get('tid')!;
  const began = batch.numbers.get('thread_start');
  const begins = beginsOf(batch);
  const threadRows: ThreadRows = { rows: [], process: [], earlier: [] };
  for (let k = 0; k < pids.length; k++) {
    const all = images.get(pids[k]!);
    const own = all?.find(({ start }) => start === starts[k]);
    if (all === undefined || own === undefined) continue;
    // images of one pid come by their start
    const before = all.findLast((image) => image.start < own.start && firstThread(batch, image, tid) >= 0);
    const earlier = before === undefined ? -1 : firstThread(batch, before, tid);
    const first = threadRows.rows.length;
    const last = batch.series[own.to]! - 1;
    for (let s = own.from, row = batch.series[s]!; row <= last; row++) {
      if (row + 1 === batch.series[s + 1]!) s++;
      // the number of a thread that has ended is given to others
      else if (began === undefined || !(began[row + 1]! > began[row]!)) continue;
      threadRows.rows.push(row);
      threadRows.process.push(k);
      threadRows.earlier.push(earlier);
    }
    if (threadRows.rows.length - first < 2) continue;
    const sorted = threadRows.rows.splice(first).sort((a, b) => begins(a) - begins(b) || a - b);
    append(threadRows.rows, sorted);
  }
  return threadRows;
}

/** The threads of one image: series of the table, one after the other because it is sorted by pid and start. */
interface ThreadImage {
  start: number;
  from: number;
  to: number;
}

function threadImages(batch: ThreadBatch): Map<number, ThreadImage[]> {
  const pid = batch.texts.get('pid')!;
  const start = batch.texts.get('start')!;
  const images = new Map<number, ThreadImage[]>();
  const codeOf = ({ codes }: TextColumn, s: number): number => codes[batch.series[s]!]!;
  const count = batch.series.length - 1;
  for (let from = 0, to = 0; from < count; from = to) {
    while (to < count && codeOf(pid, to) === codeOf(pid, from) && codeOf(start, to) === codeOf(start, from)) to++;
    const of = Number(pid.values[codeOf(pid, from)]);
    const image = { start: Number(start.values[codeOf(start, from)]), from, to };
    const same = images.get(of);
    if (same === undefined) images.set(of, [image]);
    else same.push(image);
  }
  return images;
}

/** The row of the thread that has its process's number; −1: it has none. */
function firstThread(batch: ThreadBatch, { from, to }: ThreadImage, tid: TextColumn): number {
  const pid = batch.texts.get('pid')!;
  for (let s = from; s < to; s++) {
    const row = batch.series[s + 1]! - 1;
    if (tid.values[tid.codes[row]!] === pid.values[pid.codes[row]!]) return row;
  }
  return -1;
}

function beginsOf(batch: ThreadBatch): (row: number) => number {
  const start = batch.texts.get('start')!;
  const own = batch.numbers.get('thread_start');
  return (row) => own?.[row] ?? Number(start.values[start.codes[row]!]);
}

function threadColumns(batch: ThreadBatch, { rows, earlier }: ThreadRows): ThreadColumns {
  const pid = batch.texts.get('pid')!;
  const tid = batch.texts.get('tid')!;
  const counters = cumulative(batch);
  const starttime = batch.numbers.get('starttime');
  // what the first thread had counted before its process executed another program is not this image's
  const before = rows.map((row, k) => {
    const other = earlier[k]!;
    const first = tid.values[tid.codes[row]!] === pid.values[pid.codes[row]!];
    return other >= 0 && first && starttime !== undefined && starttime[row] === starttime[other] ? other : -1;
  });
  const length = rows.length;
  const metrics = new Map<string, Float64Array>();
  for (const [name, values] of batch.numbers) {
    if (IDENTITY.has(name)) continue;
    const own = new Float64Array(length);
    const counts = counters.has(name);
    for (let k = 0; k < length; k++) {
      const value = values[rows[k]!]!;
      const counted = counts && before[k]! >= 0 ? values[before[k]!]! : 0;
      own[k] = value >= counted ? value - counted : value;
    }
    metrics.set(name, own);
  }
  const [user, system] = CPU_TIMES.map((name) => metrics.get(name));
  return {
    length,
    tid: Float64Array.from(rows, (row) => threadNumber(tid.values[tid.codes[row]!]!)),
    start: Float64Array.from(rows, beginsOf(batch)),
    end: Float64Array.from(rows, (row) => batch.time[row]!),
    cpu_time: Float64Array.from(rows, (_, i) => (user?.[i] ?? Number.NaN) + (system?.[i] ?? Number.NaN)),
    metrics,
  };
}

function join(threadSets: readonly AllThreads[]): AllThreads {
  if (threadSets.length === 1) return threadSets[0]!;
  const length = threadSets.reduce((sum, threadSet) => sum + threadSet.length, 0);
  const joined: AllThreads = { ...empty(length), process: new Uint32Array(length) };
  let at = 0;
  for (const threadSet of threadSets) {
    for (const name of ['tid', 'start', 'end', 'cpu_time', 'process'] as const) joined[name].set(threadSet[name], at);
    for (const [name, values] of threadSet.metrics) {
      let all = joined.metrics.get(name);
      if (all === undefined) {
        all = missing(length);
        joined.metrics.set(name, all);
      }
      all.set(values, at);
    }
    at += threadSet.length;
  }
  return joined;
}

function empty(length = 0): ThreadColumns {
  const columns = { tid: missing(length), start: missing(length), end: missing(length), cpu_time: missing(length) };
  return { length, ...columns, metrics: new Map() };
}
