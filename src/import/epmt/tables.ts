import type { Batch, TextColumn } from '../../recording/batch.ts';
import { PERF_EVENTS } from '../../sources/perf-events.ts';
import { processEndTable, threadEndTable } from '../../sources/process-records.ts';
import { type Column, counter, gauge, type Table } from '../../table/table.ts';
import { PROCESS_NUMBERS, type ProcessRows, TEXTS } from './rows.ts';

/** papiex counts the fields of a line of the kernel wrongly from the twentieth on: these are not what they are called. */
export const MISLABELLED: readonly string[] = [
  'num_threads',
  'starttime',
  'processor',
  'delayacct_blkio_time',
  'guest_time',
];
/** What the kernel keeps for the whole process and says again for each of its threads. */
const OF_PROCESS: readonly string[] = ['rssmax', 'vsize', 'cminflt', 'cmajflt', 'cutime', 'cstime'];
/** Of a process it is that of its first thread, which lives as long as the process does. */
const OF_FIRST: readonly string[] = ['rdtsc_duration'];
/** A thread has none of its own. */
const NOT_OF_THREADS: readonly string[] = ['cminflt', 'cmajflt', 'cutime', 'cstime'];

const MORE: readonly Column[] = [
  gauge('vsize', 'bytes', 'Virtual memory at the end.'),
  counter('cminflt', 'count', 'Page faults, without a disk, of children that were waited for.'),
  counter('cmajflt', 'count', 'Page faults, with a disk, of children that were waited for.'),
];

export interface Tables {
  processes: Batch;
  threads: Batch;
  /** Values that cannot be (negative, or beyond 2^53) and were left out, by column. */
  impossible: Map<string, number>;
}

/** The processes of a node, and their threads, as the tables of a recording; `chosen` are their numbers. */
export function tablesOf(rows: ProcessRows, chosen: Uint32Array): Tables {
  const order = inOrder(rows, chosen);
  const threads = threadsOf(rows, order);
  const impossible = new Map<string, number>();
  const metrics = [...rows.numbers.keys()].filter((name) => !notMetric(name));
  const process = new Map<string, Float64Array>();
  const thread = new Map<string, Float64Array>();
  // where each process has one thread, its numbers are that thread's: the same column serves both tables
  const single = threads.length === order.length;
  for (const name of metrics) {
    const values = cleaned(rows, name, impossible);
    if (values === undefined) continue;
    const { column, each } = values;
    const ofThreads = pick(each, threads);
    process.set(column, single ? ofThreads : combined(column, each, rows, order));
    if (!NOT_OF_THREADS.includes(column)) thread.set(column, ofThreads);
  }
  const numbers = (name: string): Float64Array | undefined => rows.numbers.get(name);
  const ofProcess = (name: string): Float64Array => pickFirst(numbers(name)!, rows, order);
  for (const name of ['ppid', 'pgid', 'sid', 'exitcode', 'numtids']) process.set(name, ofProcess(name));
  process.set('threads_counted', new Float64Array(order.length));
  const signals = numbers('exitsignal') === undefined ? undefined : ofProcess('exitsignal');
  const ended = new Uint32Array(order.length);
  if (signals !== undefined) {
    signals.forEach((signal, i) => {
      if (!(signal > 0)) return;
      ended[i] = 1;
      // papiex says only that there was a signal: 1
      if (signal === 1) signals[i] = Number.NaN;
    });
    process.set('exitsignal', signals);
  }
  const endedText: TextColumn = { codes: ended, values: ['exit', 'signal'] };
  const pids = ofProcess('pid');
  const starts = ofProcess('start');
  const texts = new Map<string, TextColumn>([
    ['pid', numbersAsTexts(pids)],
    ['start', numbersAsTexts(starts)],
    ['rank', ranks(rows, order)],
    ['ended', endedText],
  ]);
  for (const name of TEXTS) {
    if (name === 'hostname') continue;
    const { codes, pool } = rows.texts.get(name)!;
    texts.set(name, { codes: pick(codes, order), values: pool.values() });
  }
  return {
    processes: batch(processEndTable, ofProcess('end'), process, texts),
    threads: threadBatch(rows, order, threads, thread, { pids, starts, ended: endedText }),
    impossible,
  };
}

const notMetric = (name: string): boolean =>
  PROCESS_NUMBERS.includes(name) || ['tid', 'mpirank', 'start', 'end'].includes(name);

/** By pid, start and end, as sealed tables are. */
function inOrder(rows: ProcessRows, chosen: Uint32Array): Uint32Array {
  const [pid, start, end] = ['pid', 'start', 'end'].map((name) => pickFirst(rows.column(name), rows, chosen));
  const places = Uint32Array.from(chosen, (_, i) => i);
  places.sort((a, b) => pid![a]! - pid![b]! || start![a]! - start![b]! || end![a]! - end![b]! || a - b);
  return pick(chosen, places);
}

/** The rows of the processes' threads, by thread id within a process. */
function threadsOf(rows: ProcessRows, order: Uint32Array): Uint32Array {
  const { first } = rows;
  let count = 0;
  for (const p of order) count += first[p + 1]! - first[p]!;
  const threads = new Uint32Array(count);
  const tid = rows.numbers.get('tid');
  let at = 0;
  for (const p of order) {
    const begin = at;
    for (let t = first[p]!; t < first[p + 1]!; t++) threads[at++] = t;
    if (at - begin > 1 && tid !== undefined) threads.subarray(begin, at).sort((a, b) => tid[a]! - tid[b]! || a - b);
  }
  return threads;
}

/** A metric of all threads under the name that Tacho gives it; undefined when it means nothing. */
function cleaned(
  rows: ProcessRows,
  name: string,
  impossible: Map<string, number>,
): { column: string; each: Float64Array } | undefined {
  const raw = rows.numbers.get(name)!;
  if (name === 'starttime') return { column: 'vsize', each: raw.subarray(0, rows.threads).map(virtualSize) };
  if (MISLABELLED.includes(name)) return undefined;
  let each = raw;
  let wrong = 0;
  for (let t = 0; t < rows.threads; t++) {
    const value = raw[t]!;
    if (!(value < 0) && !(value > Number.MAX_SAFE_INTEGER)) continue;
    if (wrong++ === 0) each = raw.slice(0, rows.threads);
    each[t] = Number.NaN;
  }
  if (wrong > 0) impossible.set(name, (impossible.get(name) ?? 0) + wrong);
  return { column: name, each };
}

/** "starttime" is the virtual memory's size, taken for ticks and turned into microseconds. */
export function virtualSize(starttime: number): number {
  const bytes = Math.round(starttime / 10_000);
  const exact = Math.abs(starttime - bytes * 10_000) <= starttime * 1e-15;
  return exact && bytes % 4096 === 0 && bytes <= Number.MAX_SAFE_INTEGER ? bytes : Number.NaN;
}

function combined(column: string, each: Float64Array, rows: ProcessRows, order: Uint32Array): Float64Array {
  const { first } = rows;
  if (OF_FIRST.includes(column)) return pickFirst(each, rows, order);
  const largest = OF_PROCESS.includes(column);
  const values = new Float64Array(order.length);
  for (let i = 0; i < order.length; i++) {
    const p = order[i]!;
    let value = each[first[p]!]!;
    for (let t = first[p]! + 1; t < first[p + 1]!; t++) value = largest ? Math.max(value, each[t]!) : value + each[t]!;
    values[i] = value;
  }
  return values;
}

/** The rank of MPI processes: with one rank only, or none, there is nothing to tell apart. */
function ranks(rows: ProcessRows, order: Uint32Array): TextColumn {
  const all = rows.numbers.get('mpinumranks');
  const rank = rows.numbers.get('mpirank');
  const values = new Float64Array(order.length).fill(Number.NaN);
  order.forEach((p, i) => {
    const t = rows.first[p]!;
    if (all !== undefined && rank !== undefined && all[t]! > 1 && rank[t]! >= 0) values[i] = rank[t]!;
  });
  return numbersAsTexts(values);
}

function threadBatch(
  rows: ProcessRows,
  order: Uint32Array,
  threads: Uint32Array,
  numbers: Map<string, Float64Array>,
  process: { pids: Float64Array; starts: Float64Array; ended: TextColumn },
): Batch {
  const { first } = rows;
  const tid = rows.numbers.get('tid');
  const start = rows.column('start');
  const end = rows.column('end');
  const place = new Uint32Array(threads.length);
  const time = new Float64Array(threads.length);
  const began = new Float64Array(threads.length);
  const names: string[] = [];
  let at = 0;
  order.forEach((p, i) => {
    const main = first[p]!;
    const last = end[main]!;
    for (let n = 0; n < first[p + 1]! - main; n++, at++) {
      const t = threads[at]!;
      place[at] = i;
      // TSV files say neither when a thread ran nor what its id was; the first one has the process' own
      time[at] = end[t]! > 0 ? end[t]! : last;
      began[at] = start[t]! > 0 ? start[t]! : Number.NaN;
      names.push(
        tid !== undefined && tid[t]! > 0 ? String(tid[t]) : t === main ? String(process.pids[i]) : `#${n + 1}`,
      );
    }
  });
  numbers.set('thread_start', began);
  const texts = new Map<string, TextColumn>([
    ['pid', numbersAsTexts(pick(process.pids, place))],
    ['start', numbersAsTexts(pick(process.starts, place))],
    ['tid', { codes: Uint32Array.from(names, (_, i) => i), values: names }],
    ['ended', { codes: pick(process.ended.codes, place), values: process.ended.values }],
  ]);
  return batch(threadEndTable, time, numbers, texts);
}

/** Columns that no file had are not there at all; those of papiex that Tacho has none of come behind its own. */
function batch(
  table: Table,
  time: Float64Array,
  numbers: Map<string, Float64Array>,
  texts: Map<string, TextColumn>,
): Batch {
  const known = table.columns.filter(({ name }) => numbers.has(name) || texts.has(name));
  const names = new Set(known.map(({ name }) => name));
  const more = [...numbers.keys()].filter((name) => !names.has(name)).map(describe);
  // readers find the series themselves: nobody needs them here
  const series = new Uint32Array(0);
  return { table: { ...table, columns: [...known, ...more] }, rows: time.length, time, numbers, texts, series };
}

function describe(name: string): Column {
  const known = MORE.find((column) => column.name === name);
  if (known !== undefined) return known;
  const event = PERF_EVENTS.get(name);
  return event === undefined ? counter(name, 'count', 'As papiex counted it.') : counter(name, event.unit, event.help);
}

/** Neighbours that are equal share their text. */
function numbersAsTexts(values: Float64Array): TextColumn {
  const codes = new Uint32Array(values.length);
  const texts: string[] = [];
  let previous: number | undefined;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (previous === undefined || !Object.is(value, previous)) texts.push(Number.isNaN(value) ? '' : String(value));
    previous = value;
    codes[i] = texts.length - 1;
  }
  return { codes, values: texts };
}

function pick<T extends Float64Array | Uint32Array>(values: T, places: Uint32Array): T {
  const picked = (
    values instanceof Float64Array ? new Float64Array(places.length) : new Uint32Array(places.length)
  ) as T;
  for (let i = 0; i < places.length; i++) picked[i] = values[places[i]!]!;
  return picked;
}

function pickFirst(values: Float64Array, rows: ProcessRows, order: Uint32Array): Float64Array {
  const picked = new Float64Array(order.length);
  for (let i = 0; i < order.length; i++) picked[i] = values[rows.first[order[i]!]!]!;
  return picked;
}
