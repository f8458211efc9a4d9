import type { Batch, TextBytes, TextColumn } from '../../recording/read/batch.ts';
import { PERF_EVENTS } from '../../sources/records/perf-events.ts';
import { type ProcessMetric, processEndTable, threadEndTable } from '../../sources/records/tables.ts';
import { type Column, counter, gauge, type NameIn, type Table } from '../../table/table.ts';
import { PROCESS_NUMBERS, type ProcessRows, TEXTS } from './rows.ts';

/** Metrics that papiex alone has. */
export const PAPIEX_METRICS = [
  gauge('vsize', 'bytes', 'Virtual memory at the end.'),
  counter('cminflt', 'count', 'Page faults, without a disk, of children that were waited for.'),
  counter('cmajflt', 'count', 'Page faults, with a disk, of children that were waited for.'),
];

type Metric = ProcessMetric | (typeof PAPIEX_METRICS)[number]['name'];
type ThreadTexts = [NameIn<typeof threadEndTable>, TextColumn][];

/** papiex counts the fields of a line of the kernel wrongly from the twentieth on: these are not what they are called. */
export const MISLABELLED: readonly string[] = [
  'num_threads',
  'starttime',
  'processor',
  'delayacct_blkio_time',
  'guest_time',
] satisfies ProcessMetric[];
/** What the kernel keeps for the whole process and says again for each of its threads. */
const OF_PROCESS: readonly string[] = ['rssmax', 'vsize', 'cminflt', 'cmajflt', 'cutime', 'cstime'] satisfies Metric[];
/** Of a process it is that of its first thread, which lives as long as the process does. */
const OF_FIRST: readonly string[] = ['rdtsc_duration'] satisfies Metric[];
/** A thread has none of its own. */
export const NOT_OF_THREADS: readonly string[] = ['cminflt', 'cmajflt', 'cutime', 'cstime'] satisfies Metric[];

/** The metrics of all threads by the names that Tacho gives to them. */
export interface Metrics {
  columns: Map<string, Float64Array>;
  /** Values that cannot be (negative, or beyond 2^53) and were left out, by column. */
  impossible: Map<string, number>;
}

/** Without what means nothing. */
export function metricsOf(rows: ProcessRows): Metrics {
  const metrics: Metrics = { columns: new Map(), impossible: new Map() };
  for (const [name, raw] of rows.numbers) {
    if (notMetric(name)) continue;
    if (name === 'starttime') metrics.columns.set('vsize', raw.subarray(0, rows.threads).map(virtualSize));
    else if (!MISLABELLED.includes(name))
      metrics.columns.set(name, possible(raw, name, rows.threads, metrics.impossible));
  }
  return metrics;
}

/** What becomes of the processes of a node. */
export interface NodeTables {
  processes: Batch;
  /** Without those that are all of their process: its row says the same (`implied_by`). */
  threads: Batch;
  /** How many threads there are with those. */
  threadCount: number;
  /** Columns of whole numbers, of which none is too large to be exact. */
  whole: ReadonlySet<string>;
  /** When each process began, as its row says. */
  start: Float64Array;
  /** Processes that begin a microsecond later than their row said. */
  moved: number;
}

/** The processes of a node, and their threads, as the tables of a recording; `chosen` are their numbers. */
export function tablesOf(rows: ProcessRows, metrics: Metrics, chosen: Uint32Array): NodeTables {
  const order = withoutTwins(rows, inOrder(rows, chosen));
  const first = pickCodes(rows.first, order);
  const identity: Identity = {
    pid: pickNumbers(rows.column('pid'), first),
    start: pickNumbers(rows.column('start'), first),
    end: pickNumbers(rows.column('end'), first),
  };
  const moved = moveApart(identity);
  const written = withThreads(rows, order, identity.pid);
  const threads = threadsOf(rows, pickCodes(order, written));
  const process = new Map<string, Float64Array>();
  const thread = new Map<string, Float64Array>();
  for (const [column, each] of metrics.columns) {
    process.set(column, combined(column, each, rows, order, first));
    if (!NOT_OF_THREADS.includes(column)) thread.set(column, pickNumbers(each, threads));
  }
  const { ppid, pgid, sid, exitcode, numtids, threads_counted, exitsignal } = processEndTable.col;
  for (const { name } of [ppid, pgid, sid, exitcode, numtids]) process.set(name, pickNumbers(rows.column(name), first));
  process.set(threads_counted.name, new Float64Array(order.length));
  const { ended, signals } = endings(rows, first);
  if (signals !== undefined) process.set(exitsignal.name, signals);
  const texts = new Map<string, TextColumn>([
    ['pid', numbersAsTexts(identity.pid)],
    ['start', numbersAsTexts(identity.start)],
    ['ended', ended],
  ] satisfies [NameIn<typeof processEndTable>, TextColumn][]);
  if (rows.numbers.has('mpirank')) {
    const rank = ranks(rows, order);
    texts.set(processEndTable.col.rank.name, numbersAsTexts(rank));
    const size = pickNumbers(rows.column('mpinumranks'), first);
    process.set(
      processEndTable.col.ranks.name,
      size.map((value, i) => (Number.isNaN(rank[i]!) ? Number.NaN : value)),
    );
  }
  for (const name of TEXTS) {
    if (name !== 'hostname') texts.set(name, textsOf(rows, name, order));
  }
  const owner: Owner = {
    order: pickCodes(order, written),
    pid: pickNumbers(identity.pid, written),
    start: pickNumbers(identity.start, written),
    end: pickNumbers(identity.end, written),
    ended: { codes: pickCodes(ended.codes, written), values: ended.values },
  };
  return {
    processes: batch(processEndTable, identity.end, process, texts),
    threads: threadBatch(rows, threads, thread, owner),
    threadCount: threads.length + order.length - written.length,
    // sums over threads may be larger than what was looked at
    whole: new Set(rows.threads === rows.processes ? metrics.columns.keys() : []),
    start: identity.start,
    moved,
  };
}

/** Which of these processes have threads of their own: several, or one with another id. */
function withThreads({ first, numbers }: ProcessRows, order: Uint32Array, pid: Float64Array): Uint32Array {
  const tid = numbers.get('tid');
  const has = (p: number, i: number): boolean => {
    const row = first[p]!;
    return first[p + 1]! - row > 1 || (tid !== undefined && tid[row]! > 0 && tid[row] !== pid[i]);
  };
  const rowsWithThreads = new Uint32Array(order.length);
  let count = 0;
  for (let i = 0; i < order.length; i++) if (has(order[i]!, i)) rowsWithThreads[count++] = i;
  return rowsWithThreads.slice(0, count);
}

interface Identity {
  pid: Float64Array;
  start: Float64Array;
  end: Float64Array;
}

/**
 * A process is known by its pid and its start: of two that have both in common (one executed the other at once), the
 * second begins a microsecond later. Returns how many were moved.
 */
function moveApart({ pid, start, end }: Identity): number {
  let moved = 0;
  for (let i = 1; i < pid.length; i++) {
    if (pid[i] !== pid[i - 1] || start[i]! > start[i - 1]!) continue;
    start[i] = start[i - 1]! + 1;
    end[i] = Math.max(end[i]!, start[i]!);
    moved++;
  }
  return moved;
}

function endings(rows: ProcessRows, first: Uint32Array): { ended: TextColumn; signals: Float64Array | undefined } {
  const codes = new Uint32Array(first.length);
  const ended = { codes, values: ['exit', 'signal'] };
  const column = rows.numbers.get('exitsignal');
  if (column === undefined) return { ended, signals: undefined };
  const signals = pickNumbers(column, first);
  signals.forEach((signal, i) => {
    if (!(signal > 0)) return;
    codes[i] = 1;
    // papiex says only that there was a signal: 1
    if (signal === 1) signals[i] = Number.NaN;
  });
  return { ended, signals };
}

const notMetric = (name: string): boolean =>
  PROCESS_NUMBERS.includes(name) || ['tid', 'mpirank', 'start', 'end'].includes(name);

/** By pid, start and end, as sealed tables are, and then by program: what is there twice stands together. */
function inOrder(rows: ProcessRows, chosen: Uint32Array): Uint32Array {
  const first = pickCodes(rows.first, chosen);
  const [pid, start, end] = ['pid', 'start', 'end'].map((name) => pickNumbers(rows.column(name), first));
  const order = placesInOrder(pid!);
  const { codes } = rows.texts.get('exename')!;
  const later = (a: number, b: number): number =>
    start![a]! - start![b]! || end![a]! - end![b]! || codes[chosen[a]!]! - codes[chosen[b]!]! || a - b;
  for (let from = 0, to = 1; from < order.length; from = to++) {
    while (to < order.length && pid![order[to]!] === pid![order[from]!]) to++;
    if (to - from > 1) order.subarray(from, to).sort(later);
  }
  return pickCodes(chosen, order);
}

const MOST_PLACES = 2 ** 20;

/** Where the least id is, the next, … */
function placesInOrder(ids: Float64Array): Uint32Array {
  const order = new Uint32Array(ids.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  if (ids.length > MOST_PLACES) return order.sort((a, b) => ids[a]! - ids[b]!);
  // an id and its place are one whole number below 2^53: numbers alone are put in order without a call for each two
  const both = new Float64Array(ids.length);
  for (let i = 0; i < both.length; i++) both[i] = ids[i]! * MOST_PLACES + i;
  both.sort();
  for (let i = 0; i < both.length; i++) order[i] = both[i]! % MOST_PLACES;
  return order;
}

/** A process that is in two files, collated and not, is one. */
function withoutTwins(rows: ProcessRows, order: Uint32Array): Uint32Array {
  const { first } = rows;
  const [pid, start] = [rows.column('pid'), rows.column('start')];
  const columns = [...rows.numbers.values()];
  const texts = [...rows.texts.values()];
  const same = (a: number, b: number): boolean =>
    columns.every((column) => Object.is(column[first[a]!], column[first[b]!])) &&
    texts.every(({ codes }) => codes[a] === codes[b]);
  let twins = 0;
  const kept = order.slice();
  for (let i = 1; i < order.length; i++) {
    const p = order[i]!;
    const before = order[i - 1]!;
    const alike = pid[first[p]!] === pid[first[before]!] && start[first[p]!] === start[first[before]!];
    if (alike && same(p, before)) twins++;
    else kept[i - twins] = p;
  }
  return kept.subarray(0, order.length - twins);
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

function possible(raw: Float64Array, name: string, count: number, impossible: Map<string, number>): Float64Array {
  let each = raw;
  let wrong = 0;
  for (let t = 0; t < count; t++) {
    const value = raw[t]!;
    if (!(value < 0) && !(value > Number.MAX_SAFE_INTEGER)) continue;
    if (wrong++ === 0) each = raw.slice(0, count);
    each[t] = Number.NaN;
  }
  if (wrong > 0) impossible.set(name, wrong);
  return each;
}

/** "starttime" is the virtual memory's size, taken for ticks and turned into microseconds. */
export function virtualSize(starttime: number): number {
  const bytes = Math.round(starttime / 10_000);
  const exact = Math.abs(starttime - bytes * 10_000) <= starttime * 1e-15;
  return exact && bytes % 4096 === 0 && bytes <= Number.MAX_SAFE_INTEGER ? bytes : Number.NaN;
}

function combined(
  column: string,
  each: Float64Array,
  rows: ProcessRows,
  order: Uint32Array,
  firstRows: Uint32Array,
): Float64Array {
  const { first } = rows;
  if (OF_FIRST.includes(column) || rows.threads === rows.processes) return pickNumbers(each, firstRows);
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
function ranks(rows: ProcessRows, order: Uint32Array): Float64Array {
  const all = rows.numbers.get('mpinumranks');
  const rank = rows.numbers.get('mpirank');
  const values = new Float64Array(order.length).fill(Number.NaN);
  order.forEach((p, i) => {
    const t = rows.first[p]!;
    if (all !== undefined && rank !== undefined && all[t]! > 1 && rank[t]! >= 0) values[i] = rank[t]!;
  });
  return values;
}

/** Files with a line a process do not name its threads: the first has the process' own id, the third is called #3. */
function threadIds(rows: ProcessRows, threads: Uint32Array, { order, pid }: Owner): string[] {
  const tid = rows.numbers.get('tid');
  const ids = new Array<string>(threads.length);
  let at = 0;
  for (let i = 0; i < order.length; i++) {
    const main = rows.first[order[i]!]!;
    const count = rows.first[order[i]! + 1]! - main;
    for (let n = 1; n <= count; n++, at++) {
      const t = threads[at]!;
      const threadId = tid !== undefined && tid[t]! > 0 ? tid[t]! : t === main ? pid[i]! : undefined;
      ids[at] = threadId === undefined ? `#${n}` : String(threadId);
    }
  }
  return ids;
}

/** Processes whose threads have rows of their own: where they are in the data, and what their rows say. */
interface Owner extends Identity {
  order: Uint32Array;
  ended: TextColumn;
}

function threadBatch(rows: ProcessRows, threads: Uint32Array, numbers: Map<string, Float64Array>, owner: Owner): Batch {
  const start = rows.column('start');
  const end = rows.column('end');
  const rowOfThread = new Uint32Array(threads.length);
  const time = new Float64Array(threads.length);
  const began = new Float64Array(threads.length);
  let at = 0;
  for (let i = 0; i < owner.order.length; i++) {
    const p = owner.order[i]!;
    const count = rows.first[p + 1]! - rows.first[p]!;
    for (let n = 0; n < count; n++, at++) {
      const t = threads[at]!;
      rowOfThread[at] = i;
      // when it is not known when a thread ended, its process' end is the latest
      time[at] = end[t]! > 0 ? end[t]! : owner.end[i]!;
      began[at] = start[t]! > 0 ? start[t]! : Number.NaN;
    }
  }
  numbers.set(threadEndTable.col.thread_start.name, began);
  const tids = threadIds(rows, threads, owner);
  const texts = new Map<string, TextColumn>([
    ['pid', numbersAsTexts(pickNumbers(owner.pid, rowOfThread))],
    ['start', numbersAsTexts(pickNumbers(owner.start, rowOfThread))],
    ['tid', { codes: Uint32Array.from(tids, (_, i) => i), values: tids }],
    ['ended', { codes: pickCodes(owner.ended.codes, rowOfThread), values: owner.ended.values }],
  ] satisfies ThreadTexts);
  return batch({ ...threadEndTable, implied_by: processEndTable.name }, time, numbers, texts);
}

/** Columns that no file had are not there at all; those of papiex that Tacho has none of come behind its own. */
function batch(
  table: Table,
  time: Float64Array,
  numbers: Map<string, Float64Array>,
  texts: Map<string, TextColumn>,
): Batch {
  const filledColumns = table.columns.filter(({ name }) => numbers.has(name) || texts.has(name));
  const names = new Set(filledColumns.map(({ name }) => name));
  const more = [...numbers.keys()].filter((name) => !names.has(name)).map(describe);
  // readers find the series themselves: nobody needs them here
  const series = new Uint32Array(0);
  return { table: { ...table, columns: [...filledColumns, ...more] }, rows: time.length, time, numbers, texts, series };
}

function describe(name: string): Column {
  const metricColumn = PAPIEX_METRICS.find((column) => column.name === name);
  if (metricColumn !== undefined) return metricColumn;
  const event = PERF_EVENTS.get(name);
  return event === undefined ? counter(name, 'count', 'As papiex counted it.') : counter(name, event.unit, event.help);
}

/** Who writes them needs no strings: those are made for who asks. */
function textsOf(rows: ProcessRows, name: string, order: Uint32Array): TextColumn {
  return {
    codes: pickCodes(rows.texts.get(name)!.codes, order),
    bytes: rows.textBytes(name),
    get values() {
      return rows.values(name);
    },
  };
}

/** Digits of the largest whole number that is exact. */
const MOST_DIGITS = 16;

/** Whole numbers from 0 on, in decimals. Neighbours that are equal share their text. */
function numbersAsTexts(values: Float64Array): TextColumn {
  const codes = new Uint32Array(values.length);
  const starts = new Uint32Array(values.length + 1);
  const bytes = Buffer.allocUnsafeSlow(values.length * MOST_DIGITS);
  let count = 0;
  let at = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (i === 0 || value !== values[i - 1]) {
      at = writeDigits(bytes, at, value);
      starts[++count] = at;
    }
    codes[i] = count - 1;
  }
  const texts: TextBytes = { bytes: bytes.subarray(0, at), starts: starts.subarray(0, count + 1) };
  return {
    codes,
    bytes: texts,
    get values() {
      return Array.from(texts.starts.subarray(1), (end, i) => texts.bytes.toString('latin1', texts.starts[i], end));
    },
  };
}

/** Returns where they end; a number that is missing has none. */
function writeDigits(bytes: Buffer, from: number, value: number): number {
  if (Number.isNaN(value)) return from;
  let length = 1;
  for (let power = 10; power <= value; power *= 10) length++;
  const end = from + length;
  // in halves of whole numbers that are small, which are divided in no time
  const high = Math.floor(value / HALF);
  const low = (value - high * HALF) | 0;
  let at = end;
  if (length > HALF_DIGITS) {
    at = writeFour(bytes, writeFour(bytes, at, low % 10_000), (low / 10_000) | 0);
    length -= HALF_DIGITS;
  }
  for (let rest = (at === end ? low : high) | 0; length > 0; rest = (rest / 10_000) | 0) {
    const digits = DIGITS[rest % 10_000]!;
    for (let shift = 0; shift < 32 && length > 0; shift += 8, length--) bytes[--at] = digits >>> shift;
  }
  return end;
}

/** Four digits, the last of them before `end`; returns where they begin. */
function writeFour(bytes: Buffer, end: number, value: number): number {
  const digits = DIGITS[value]!;
  bytes[end - 1] = digits;
  bytes[end - 2] = digits >>> 8;
  bytes[end - 3] = digits >>> 16;
  bytes[end - 4] = digits >>> 24;
  return end - 4;
}

const HALF_DIGITS = 8;
const HALF = 10 ** HALF_DIGITS;
/** Of each number below 10,000 its four digits, a byte each, the last one lowest. */
const DIGITS = new Uint32Array(10_000);
for (let i = 0; i < DIGITS.length; i++)
  DIGITS[i] =
    0x30303030 +
    ((((i / 1000) | 0) % 10) << 24) +
    ((((i / 100) | 0) % 10) << 16) +
    ((((i / 10) | 0) % 10) << 8) +
    (i % 10);

// one function for both would have to ask each time
function pickNumbers(values: Float64Array, order: Uint32Array): Float64Array {
  const picked = new Float64Array(order.length);
  for (let i = 0; i < order.length; i++) picked[i] = values[order[i]!]!;
  return picked;
}

function pickCodes(values: Uint32Array, order: Uint32Array): Uint32Array {
  const picked = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i++) picked[i] = values[order[i]!]!;
  return picked;
}
