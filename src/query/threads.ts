import type { Batch } from '../recording/batch.ts';
import type { Recording } from '../recording/open.ts';
import { readTable } from '../recording/read.ts';
import { cumulative } from './process-images.ts';
import type { ProcessColumns, ProcessId, ThreadColumns } from './process-set.ts';

const IDENTITY = new Set(['thread_start', 'ppid', 'pgid', 'sid', 'uid']);

/** Threads of many processes: those of one come together, in the order of the processes. */
export interface AllThreads extends ThreadColumns {
  /** Each one's process, as a place in the set. */
  process: Uint32Array;
}

/** The threads that told of their end, by their start; none when the recording has no records of threads. */
export function readThreads(recording: Recording, process: ProcessId): ThreadColumns {
  const batch = threadBatch(recording, process.node);
  return batch === undefined ? empty() : withValues(threadColumns(batch, threadRows(batch, [process])));
}

/** Without the metrics that none of the threads has: nodes differ in what they can count. */
export function withValues<T extends ThreadColumns>(threads: T): T {
  const there = [...threads.metrics].filter(([, values]) => values.some((value) => !Number.isNaN(value)));
  return { ...threads, metrics: new Map(there) };
}

/** The threads of all processes of a recording. */
export function readAllThreads(recording: Recording, processes: ProcessColumns): AllThreads {
  const parts: AllThreads[] = [];
  for (let from = 0, to = 0; from < processes.length; from = to) {
    while (to < processes.length && processes.node[to] === processes.node[from]) to++;
    const batch = threadBatch(recording, processes.node[from]!);
    if (batch === undefined) continue;
    const wanted = Array.from({ length: to - from }, (_, k) => ({
      pid: processes.pid[from + k]!,
      start: processes.start[from + k]!,
    }));
    const rows = threadRows(batch, wanted);
    parts.push({ ...threadColumns(batch, rows), process: Uint32Array.from(rows.process, (k) => from + k) });
  }
  return withValues(join(parts));
}

function threadBatch(recording: Recording, name: string): Batch | undefined {
  const node = recording.nodes.find((one) => one.name === name);
  return node?.tables.has('thread_end') ? readTable(node, 'thread_end') : undefined;
}

interface ThreadRows {
  /** Rows of the table; `process` and `earlier` go along with it. */
  rows: number[];
  process: number[];
  /** The first thread of the image that the process was before it executed the present one; −1: none. */
  earlier: number[];
}

/** The rows of the threads of processes, those of one by their start. */
function threadRows(batch: Batch, processes: readonly Pick<ProcessId, 'pid' | 'start'>[]): ThreadRows {
  const pid = batch.texts.get('pid')!;
  const start = batch.texts.get('start')!;
  const tid = batch.texts.get('tid')!;
  const wanted = new Set(processes.map((process) => String(process.pid)));
  const images = new Map<string, Map<number, number[]>>();
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const row = batch.series[s + 1]! - 1;
    const of = pid.values[pid.codes[row]!]!;
    if (!wanted.has(of)) continue;
    let starts = images.get(of);
    if (starts === undefined) {
      starts = new Map();
      images.set(of, starts);
    }
    const began = Number(start.values[start.codes[row]!]);
    const rows = starts.get(began);
    if (rows === undefined) starts.set(began, [row]);
    else rows.push(row);
  }
  const begins = beginsOf(batch);
  const found: ThreadRows = { rows: [], process: [], earlier: [] };
  processes.forEach((process, k) => {
    const name = String(process.pid);
    const starts = images.get(name);
    const rows = starts?.get(process.start);
    if (starts === undefined || rows === undefined) return;
    let earlier = -1;
    let latest = Number.NEGATIVE_INFINITY;
    for (const [began, others] of starts.size > 1 ? starts : []) {
      if (began >= process.start || began < latest) continue;
      const first = others.findLast((row) => tid.values[tid.codes[row]!] === name);
      if (first === undefined) continue;
      earlier = first;
      latest = began;
    }
    if (rows.length > 1) rows.sort((a, b) => begins(a) - begins(b) || a - b);
    for (const row of rows) {
      found.rows.push(row);
      found.process.push(k);
      found.earlier.push(earlier);
    }
  });
  return found;
}

function beginsOf(batch: Batch): (row: number) => number {
  const start = batch.texts.get('start')!;
  const own = batch.numbers.get('thread_start');
  return (row) => own?.[row] ?? Number(start.values[start.codes[row]!]);
}

function threadColumns(batch: Batch, { rows, earlier }: ThreadRows): ThreadColumns {
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
  const user = metrics.get('usertime');
  const system = metrics.get('systemtime');
  return {
    length,
    tid: Float64Array.from(rows, (row) => Number(tid.values[tid.codes[row]!])),
    start: Float64Array.from(rows, beginsOf(batch)),
    end: Float64Array.from(rows, (row) => batch.time[row]!),
    cpu_time: Float64Array.from(rows, (_, i) => (user?.[i] ?? Number.NaN) + (system?.[i] ?? Number.NaN)),
    metrics,
  };
}

function join(parts: readonly AllThreads[]): AllThreads {
  if (parts.length === 1) return parts[0]!;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const joined: AllThreads = { ...empty(length), process: new Uint32Array(length) };
  let at = 0;
  for (const part of parts) {
    for (const name of ['tid', 'start', 'end', 'cpu_time', 'process'] as const) joined[name].set(part[name], at);
    for (const [name, values] of part.metrics) {
      let all = joined.metrics.get(name);
      if (all === undefined) {
        all = missing(length);
        joined.metrics.set(name, all);
      }
      all.set(values, at);
    }
    at += part.length;
  }
  return joined;
}

function empty(length = 0): ThreadColumns {
  const columns = { tid: missing(length), start: missing(length), end: missing(length), cpu_time: missing(length) };
  return { length, ...columns, metrics: new Map() };
}

const missing = (length: number): Float64Array => new Float64Array(length).fill(Number.NaN);
