import { unquoted, wordsOf } from '../../base/shell-words.ts';
import { type Batch, type TextColumn, textAt } from '../../recording/read/batch.ts';
import {
  HIGHER_PEAK,
  joinObservations,
  type Observation,
  RECORD_DELAY,
  SAMPLE_CLOCK,
} from '../../sources/process/same-process.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import {
  birthOf,
  cumulative,
  type EndBatch,
  type Images,
  imagesOf,
  isCopy,
  isReportedByParent,
  type RecordName,
  type StartBatch,
} from './images.ts';
import { takeSampledOut } from './sampled-children.ts';
import type { SampledProcess } from './samples.ts';
import { CPU_TIMES, makeColumns, type ProcessColumns, type ProcessJob } from './set.ts';
import { findEarlierBirths } from './tree.ts';

/** Everything that is known of the processes of one job on one node. */
export interface NodeProcesses {
  job: ProcessJob;
  node: string;
  ends: EndBatch | undefined;
  starts: StartBatch | undefined;
  samples: readonly SampledProcess[];
  /** User id → name, where it is known. */
  users: ReadonlyMap<number, string>;
  /** Called when each process is one end record, with all of its figures. */
  asRecorded?: () => void;
}

const ID_NUMBERS = ['ppid', 'pgid', 'sid', 'uid', 'ranks'] as const;

/** Columns that identify a process or describe its end: they are no metrics. */
const IDENTITY: ReadonlySet<string> = new Set<RecordName>([
  ...ID_NUMBERS,
  ...(['exitcode', 'exitsignal', 'numtids', 'threads_counted', 'rank', 'step', 'thread_start'] as const),
]);

/**
 * One row a process: those that told of their end, those that only told of their start (filled with what sampling saw
 * last), and those that only sampling saw. Counters that go on counting across exec become each image's own part.
 */
export function mergeProcesses(given: NodeProcesses): ProcessColumns {
  const { ends, starts, samples } = given;
  const images = imagesOf(ends, starts);
  const names = new Set([...metricsOf(ends), ...samples.flatMap((one) => [...one.metrics.keys()])]);
  // at most every image, a program without records after it, and every sampled process
  const most = images.length + 2 * samples.length;
  const columns = makeColumns(most, names, [given.job]);
  const rows = new Int32Array(most).fill(-1);
  const before = new Int32Array(most);
  const unnamed = new Int32Array(most).fill(-1);
  const into: Writer = {
    ...given,
    images,
    columns,
    at: 0,
    rows,
    before,
    sampled: new Map(),
    older: new Map(),
    unnamed,
  };
  const processes = images.processes.length - 1;
  const recorded = Array.from({ length: samples.length === 0 ? 0 : processes }, (_, p) => observationOf(images, p));
  const same = joinObservations(recorded, samples);
  const sampleOf = new Map(Array.from(same, ([sample, process]) => [process, sample]));
  for (let p = 0; p < processes; p++)
    addProcess(into, images.processes[p]!, images.processes[p + 1]!, sampleOf.get(recorded[p]!));
  for (const sample of samples) if (!same.has(sample)) addSample(into, sample, sample.birth, sample.birth, -1);
  columns.length = into.at;
  addIdentities(into);
  addRecorded(into);
  if (samples.length === 0 && starts === undefined && !hasEarlierImages(into)) given.asRecorded?.();
  if (starts === undefined && ends !== undefined) findEarlierBirths(columns);
  takeSampledOut(columns);
  for (const [i, seenSample] of into.sampled) fillFrom(into, i, seenSample);
  addCpuTime(columns);
  return columns;
}

/** Whether a process executed another program that is here, too: then what that one had counted is no part of its figures. */
function hasEarlierImages({ before, at }: Writer): boolean {
  for (let i = 0; i < at; i++) if (before[i]! >= 0) return true;
  return false;
}

interface Writer extends NodeProcesses {
  images: Images;
  columns: ProcessColumns;
  /** Where the next process goes. */
  at: number;
  /** For each process, its row among the end records and that of the image before it; −1: none. */
  rows: Int32Array;
  before: Int32Array;
  /** What sampling saw of processes that only their parents told of. */
  sampled: Map<number, Seen>;
  /** What sampling saw of processes that are older than the recording, and became what recorded itself. */
  older: Map<number, SampledProcess>;
  /** For each process whose identity is filled in column by column, its image; −1: it is there already. */
  unnamed: Int32Array;
}

interface Seen {
  sample: SampledProcess;
  /** The highest memory of what the process was before this program, in KiB; 0: it was nothing else, Infinity: not known. */
  peak: number;
}

/** The metrics that end records have. */
export function metricsOf(ends: Batch | undefined): string[] {
  return [...(ends?.numbers.keys() ?? [])].filter((name) => !IDENTITY.has(name));
}

/** A process as its records have it. */
function observationOf(images: Images, p: number): Observation {
  const [first, end] = [images.processes[p]!, images.processes[p + 1]!];
  const endRow = images.endRow[end - 1]!;
  return {
    pid: images.pid[first]!,
    birth: birthOf(images, first, end),
    start: images.start[first]!,
    last: endRow < 0 ? images.start[end - 1]! : images.ends!.time[endRow]!,
  };
}

/** The images from `first` to before `end` are one process; the first tells when it began and who its parent was. */
function addProcess(into: Writer, first: number, end: number, sample: SampledProcess | undefined): void {
  const { columns, images } = into;
  const ppid = firstNumber(into, first, 'ppid');
  const born = bornOf(into, first, end);
  let before = -1;
  let peak = 0;
  for (let k = first; k < end; k++) {
    // what was a copy, or told of, and then spoke as another image, was never anything else
    const passed = k === first ? isCopy(images, k) : false;
    if (k + 1 < end && (passed || isReportedByParent(images, k))) {
      peak = Number.POSITIVE_INFINITY;
      continue;
    }
    const i = into.at++;
    const row = images.endRow[k]!;
    // what sampling saw of a process may complete it at once
    if (sample === undefined) into.unnamed[i] = k;
    else addIdentity(into, i, k);
    columns.birth[i] = born;
    if (sample !== undefined) {
      columns.sampled_birth[i] = sample.birth;
      columns.allowed_cpus[i] = sample.allowedCpus;
    }
    if (!Number.isNaN(ppid)) columns.ppid[i] = ppid;
    if (row >= 0) {
      into.rows[i] = row;
      into.before[i] = before;
      if (sample !== undefined && textAt(into.ends!, 'told_by', row) === 'parent')
        into.sampled.set(i, { sample, peak });
      if (sample !== undefined && before < 0 && sample.earlier.size > 0) into.older.set(i, sample);
      before = row;
      peak = Math.max(peak, recordedPeak(into.ends!, row));
      continue;
    }
    columns.source[i] = 'start';
    peak = Number.POSITIVE_INFINITY;
    // what it used is in the numbers of the image that it became
    if (k + 1 < end) columns.end[i] = images.start[k + 1]!;
    else if (sample !== undefined && sample.last >= images.start[k]!) {
      columns.end[i] = sample.last;
      addSampled(into, i, sample, before);
      if (isCopy(images, k)) addProgram(columns, i, sample);
    }
  }
  const last = images.endRow[end - 1]!;
  if (sample === undefined || last < 0 || textAt(into.ends!, 'ended', last) !== 'exec') return;
  // records may end before the process does: the program that it executed leaves none
  const left = into.ends!.time[last]!;
  if (sample.last > left + SAMPLE_CLOCK) addSample(into, sample, left, born, before);
}

/** When a process began: with its first image, unless the kernel says that it was something else long before. */
function bornOf({ images }: Writer, first: number, end: number): number {
  const start = images.start[first]!;
  const kernel = birthOf(images, first, end);
  return kernel < start - RECORD_DELAY ? kernel : start;
}

function recordedPeak(ends: EndBatch, row: number): number {
  const peak = ends.numbers.get('rssmax')?.[row] ?? Number.NaN;
  return Number.isNaN(peak) ? Number.POSITIVE_INFINITY : peak;
}

/** As the process began: an orphan has another parent at its end. */
function firstNumber({ images, starts, ends }: Writer, k: number, name: (typeof ID_NUMBERS)[number]): number {
  const [startRow, endRow] = [images.startRow[k]!, images.endRow[k]!];
  const startValue = startRow < 0 ? undefined : starts?.numbers.get(name)?.[startRow];
  if (startValue !== undefined && !Number.isNaN(startValue)) return startValue;
  return endRow < 0 ? Number.NaN : (ends?.numbers.get(name)?.[endRow] ?? Number.NaN);
}

const ID_TEXTS = ['exename', 'argv0', 'path', 'args', 'directory', 'tags', 'world'] as const;

const LABELS = ['rank', 'step'] as const;

/** The identities of processes that sampling did not see: of many, column by column is quicker. */
function addIdentities(into: Writer): void {
  const { columns, images, unnamed } = into;
  const { length } = columns;
  const rowsIn = (isEnd: boolean): Int32Array => {
    const { endRow, startRow } = images;
    return unnamed
      .subarray(0, length)
      .map((k) => (k < 0 || endRow[k]! >= 0 !== isEnd ? -1 : isEnd ? endRow[k]! : startRow[k]!));
  };
  for (const [batch, isEnd] of [
    [into.ends, true],
    [into.starts, false],
  ] as const) {
    if (batch === undefined) continue;
    const rows = rowsIn(isEnd);
    for (const name of ID_NUMBERS) {
      const ppid = name === 'ppid' ? columns.ppid.slice(0, length) : undefined;
      copy(columns[name], batch.numbers.get(name), rows, length);
      // the parent at the beginning counts
      if (ppid !== undefined) for (let i = 0; i < length; i++) if (!Number.isNaN(ppid[i]!)) columns.ppid[i] = ppid[i]!;
    }
    for (const name of ID_TEXTS) copyTexts(columns[name], batch.texts.get(name), rows, length);
    for (const name of LABELS) {
      const numbers = batch.numbers.get(name);
      if (numbers === undefined) copyTexts(columns[name], batch.texts.get(name), rows, length);
      else
        for (let i = 0; i < length; i++) {
          const number = rows[i]! < 0 ? Number.NaN : numbers[rows[i]!]!;
          if (!Number.isNaN(number)) columns[name][i] = String(number);
        }
    }
  }
  const { job, node, pid, start, exename, path, uid, user } = columns;
  for (let i = 0; i < length; i++) {
    const k = unnamed[i]!;
    if (k < 0) continue;
    job[i] = 0;
    node[i] = into.node;
    pid[i] = images.pid[k]!;
    start[i] = images.start[k]!;
    if (exename[i] === '') exename[i] = path[i]!.slice(path[i]!.lastIndexOf('/') + 1);
    user[i] = into.users.get(uid[i]!) ?? (Number.isNaN(uid[i]!) ? into.job.user : String(uid[i]!));
  }
}

function copyTexts(into: string[], from: TextColumn | undefined, rows: Int32Array, length: number): void {
  if (from === undefined) return;
  const { values, codes } = from;
  for (let i = 0; i < length; i++) if (rows[i]! >= 0) into[i] = values[codes[rows[i]!]!] ?? '';
}

function addIdentity(into: Writer, i: number, k: number): void {
  const { columns, images } = into;
  const endRow = images.endRow[k]!;
  const [batch, row] = endRow >= 0 ? [into.ends!, endRow] : [into.starts!, images.startRow[k]!];
  columns.job[i] = 0;
  columns.node[i] = into.node;
  columns.pid[i] = images.pid[k]!;
  columns.start[i] = images.start[k]!;
  for (const name of ID_NUMBERS) columns[name][i] = batch.numbers.get(name)?.[row] ?? Number.NaN;
  for (const name of ID_TEXTS) columns[name][i] = textAt(batch, name, row);
  for (const name of LABELS) {
    const number = batch.numbers.get(name)?.[row];
    columns[name][i] = number === undefined ? textAt(batch, name, row) : Number.isNaN(number) ? '' : String(number);
  }
  if (columns.exename[i] === '') columns.exename[i] = columns.path[i]!.slice(columns.path[i]!.lastIndexOf('/') + 1);
  const uid = columns.uid[i]!;
  columns.user[i] = into.users.get(uid) ?? (Number.isNaN(uid) ? into.job.user : String(uid));
}

/** What the end records say, column by column. */
function addRecorded({ columns, ends, rows, before, older }: Writer): void {
  if (ends === undefined) return;
  const { length } = columns;
  for (let i = 0; i < length; i++) {
    const row = rows[i]!;
    if (row < 0) continue;
    columns.source[i] = textAt(ends, 'told_by', row) === 'parent' ? 'parent' : 'record';
    columns.end[i] = ends.time[row]!;
    columns.ended[i] = textAt(ends, 'ended', row);
  }
  copy(columns.exitcode, ends.numbers.get('exitcode'), rows, length);
  copy(columns.exitsignal, ends.numbers.get('exitsignal'), rows, length);
  copy(columns.threads, ends.numbers.get('numtids'), rows, length);
  const counters = cumulative(ends);
  const { numbers }: Batch = ends;
  for (const [name, values] of columns.metrics) {
    const recorded = numbers.get(name);
    copy(values, recorded, rows, length);
    if (recorded === undefined || !counters.has(name)) continue;
    for (let i = 0; i < length; i++) {
      if (rows[i]! >= 0 && before[i]! >= 0) values[i] = ownPart(values[i]!, recorded[before[i]!]!);
    }
    for (const [i, { earlier }] of older) values[i] = ownPart(values[i]!, earlier.get(name) ?? 0);
  }
}

function copy(into: Float64Array, from: Float64Array | undefined, rows: Int32Array, length: number): void {
  if (from === undefined) return;
  for (let i = 0; i < length; i++) if (rows[i]! >= 0) into[i] = from[rows[i]!]!;
}

/** What a counter counted since the image before. */
function ownPart(value: number, before: number): number {
  return value >= before ? value - before : value;
}

/** Fills a process with what sampling saw last, less what the end record in the row `before` has counted already. */
function addSampled(into: Writer, i: number, sample: SampledProcess, before: number): void {
  const { columns, ends } = into;
  columns.threads[i] = sample.threads;
  if (columns.user[i] === '') columns.user[i] = sample.user;
  for (const [name, value] of ownSampled(sample, ends, before)) columns.metrics.get(name)![i] = value;
}

function ownSampled(sample: SampledProcess, ends: Batch | undefined, before: number): Map<string, number> {
  const counters = cumulative(before < 0 ? undefined : ends);
  const own = new Map<string, number>();
  for (const [name, value] of sample.metrics) {
    const counted = counters.has(name) ? (ends!.numbers.get(name)?.[before] ?? Number.NaN) : Number.NaN;
    const whole = value + (sample.earlier.get(name) ?? 0);
    // sampling is coarser than records: it may know less than they have said
    own.set(name, Number.isNaN(counted) ? value : Math.max(0, whole - counted));
  }
  return own;
}

const PEAK: ProcessMetric = 'rssmax';

/** What a parent cannot know of its child; how many threads it had in all, samples do not know either. */
function fillFrom({ columns, ends, before }: Writer, i: number, { sample, peak }: Seen): void {
  const own = ownSampled(sample, ends, before[i]!);
  const cpuTime = (of: (name: string) => number | undefined): number =>
    CPU_TIMES.reduce((sum, name) => sum + (of(name) ?? Number.NaN), 0);
  // it may not have waited for a child that was taken out
  const more = cpuTime((name) => own.get(name)) > cpuTime((name) => columns.metrics.get(name)?.[i]);
  // seen as what it was before, too: what may be that one's alone is not known of this one
  const wasOther = peak > 0 && sample.start < columns.start[i]!;
  const counters = cumulative(ends);
  const isOwn = (name: string, value: number): boolean =>
    name === PEAK ? value > peak * HIGHER_PEAK : counters.has(name) && value > 0;
  for (const [name, value] of own) {
    const values = columns.metrics.get(name)!;
    if (Number.isNaN(values[i]!)) {
      if (!wasOther || isOwn(name, value)) values[i] = value;
    } else if (more && CPU_TIMES.some((time) => time === name)) values[i] = value;
  }
}

function addSample(into: Writer, sample: SampledProcess, start: number, birth: number, before: number): void {
  const { columns } = into;
  const i = into.at++;
  columns.job[i] = 0;
  columns.node[i] = into.node;
  columns.pid[i] = sample.pid;
  columns.ppid[i] = sample.ppid;
  columns.uid[i] = sample.uid;
  columns.user[i] = sample.user;
  columns.start[i] = start;
  columns.birth[i] = birth;
  columns.sampled_birth[i] = sample.birth;
  columns.allowed_cpus[i] = sample.allowedCpus;
  columns.end[i] = Math.max(sample.last, start);
  columns.source[i] = 'sample';
  addCommand(columns, i, sample);
  addSampled(into, i, sample, before);
}

/** A copy of its parent that was seen as another program had executed that, and it leaves no records. */
function addProgram(columns: ProcessColumns, i: number, sample: SampledProcess): void {
  if (sample.name === '' || columns.exename[i]!.startsWith(sample.name)) return;
  addCommand(columns, i, sample);
  columns.path[i] = '';
  columns.source[i] = 'sample';
}

function addCommand(columns: ProcessColumns, i: number, { name, command }: SampledProcess): void {
  const [first = '', ...others] = wordsOf(command);
  const [, program, title] = TITLE.exec(unquoted(first)) ?? [first, unquoted(first), ''];
  columns.argv0[i] = program!;
  columns.exename[i] = name === '' ? program!.slice(program!.lastIndexOf('/') + 1) : name;
  columns.args[i] = title === '' ? others.join(' ') : title!;
}

/** Servers write what each of their processes does in the place of its first argument: `postgres: checkpointer `. */
const TITLE = /^(\S+): +(\S.*?) *$/;

function addCpuTime(columns: ProcessColumns): void {
  columns.cpu_time.set(cpuTimes(columns.metrics, columns.length));
}

/** CPU time of so many processes, from its two parts; one that is missing is left out. */
export function cpuTimes(metrics: ReadonlyMap<string, Float64Array>, length: number): Float64Array {
  const [user, system] = CPU_TIMES.map((name) => metrics.get(name));
  const times = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    const u = user?.[i] ?? Number.NaN;
    const s = system?.[i] ?? Number.NaN;
    times[i] = Number.isNaN(u) ? s : Number.isNaN(s) ? u : u + s;
  }
  return times;
}
