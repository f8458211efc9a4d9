import { type Batch, type BatchOf, textAt } from '../../recording/read/batch.ts';
import { type ImageRecord, isNextImage } from '../../sources/process/same-process.ts';
import type { processEndTable, processStartTable, threadEndTable } from '../../sources/records/tables.ts';
import type { NameIn } from '../../table/table.ts';

export type EndBatch = BatchOf<typeof processEndTable>;
/** A key or column of what processes record of themselves. */
export type RecordName = NameIn<typeof processEndTable | typeof threadEndTable>;
export type StartBatch = BatchOf<typeof processStartTable>;

/**
 * Program images of a node as columns, by pid and start: each from its end record, else from its start record. The
 * images of one process of the kernel come one after the other, each executed the next.
 */
export interface Images {
  ends: EndBatch | undefined;
  starts: StartBatch | undefined;
  length: number;
  pid: Float64Array;
  /** Epoch microseconds. */
  start: Float64Array;
  /** Rows of the two tables; −1 where there is none. */
  endRow: Int32Array;
  startRow: Int32Array;
  /** Where each process begins; one more entry ends the last. */
  processes: Uint32Array;
  /** When the machine started, as its records have it; NaN when they do not say. */
  boot: number;
}

/** Kernel ticks a second, on every Linux that there is. */
const TICK = 1e4;

/** Counters go on counting when a process executes another program; other columns are each image's own. */
export function cumulative(batch: Batch | undefined): ReadonlySet<string> {
  return new Set(batch?.table.columns.filter((column) => column.kind === 'counter').map((column) => column.name));
}

/** The images that the tables `process_end` and `process_start` of a node tell of. */
export function imagesOf(ends: EndBatch | undefined, starts: StartBatch | undefined): Images {
  const [a, b] = [lastRows(ends), lastRows(starts)];
  const most = a.rows.length + b.rows.length;
  const images: Images = {
    ends,
    starts,
    length: 0,
    pid: new Float64Array(most),
    start: new Float64Array(most),
    endRow: new Int32Array(most).fill(-1),
    startRow: new Int32Array(most).fill(-1),
    processes: new Uint32Array(0),
    boot: Number.NaN,
  };
  for (let i = 0, k = 0; i < a.rows.length || k < b.rows.length; images.length++) {
    const difference =
      k === b.rows.length ? -1 : i === a.rows.length ? 1 : a.pid[i]! - b.pid[k]! || a.start[i]! - b.start[k]!;
    const [from, at] = difference <= 0 ? [a, i] : [b, k];
    images.pid[images.length] = from.pid[at]!;
    images.start[images.length] = from.start[at]!;
    if (difference <= 0) images.endRow[images.length] = a.rows[i++]!;
    if (difference >= 0) images.startRow[images.length] = b.rows[k++]!;
  }
  images.boot = bootOf(images);
  images.processes = processesOf(images);
  return images;
}

const WHOLE = /^\d{1,16}$/;
const wholeNumber = (text: string): number => (WHOLE.test(text) ? Number(text) : Number.NaN);

/**
 * The last row of each image, by pid and start: a program that failed to execute another has an end record too many.
 */
function lastRows(batch: Batch | undefined): { pid: Float64Array; start: Float64Array; rows: Uint32Array } {
  const pid = batch?.texts.get('pid');
  const start = batch?.texts.get('start');
  if (batch === undefined || pid === undefined || start === undefined) {
    return { pid: new Float64Array(0), start: new Float64Array(0), rows: new Uint32Array(0) };
  }
  const pids = Float64Array.from(pid.values, wholeNumber);
  const starts = Float64Array.from(start.values, wholeNumber);
  const compare = (a: number, b: number): number =>
    pids[pid.codes[a]!]! - pids[pid.codes[b]!]! || starts[start.codes[a]!]! - starts[start.codes[b]!]!;
  // a damaged line may have anything for a number, and then it tells of no process
  const rows = batch.series.slice(1).filter((end) => {
    const row = end - 1;
    return Number.isFinite(pids[pid.codes[row]!]! + starts[start.codes[row]!]!);
  });
  let sorted = true;
  for (let s = 0; s < rows.length; s++) {
    rows[s]!--;
    sorted &&= s === 0 || compare(rows[s - 1]!, rows[s]!) < 0;
  }
  // keys of very different lengths are not in the order of their numbers
  if (!sorted) rows.sort(compare);
  const [ownPids, ownStarts] = [new Float64Array(rows.length), new Float64Array(rows.length)];
  for (let s = 0; s < rows.length; s++) {
    ownPids[s] = pids[pid.codes[rows[s]!]!]!;
    ownStarts[s] = starts[start.codes[rows[s]!]!]!;
  }
  return { pid: ownPids, start: ownStarts, rows };
}

/** The kernel's start of an image's process, in ticks; NaN when its record does not say. */
function ticksOf({ ends, endRow }: Images, i: number): number {
  return endRow[i]! < 0 ? Number.NaN : (ends?.numbers.get('starttime')?.[endRow[i]!] ?? Number.NaN);
}

/** The first image of a process starts right after the process itself: most of them together tell when time began. */
function bootOf(images: Images): number {
  if (!images.ends?.numbers.has('starttime')) return Number.NaN;
  const bootTimes = new Float64Array(images.length);
  let count = 0;
  for (let i = 0; i < images.length; i++) {
    if (i > 0 && images.pid[i] === images.pid[i - 1]) continue;
    const ticks = ticksOf(images, i);
    if (!Number.isNaN(ticks)) bootTimes[count++] = images.start[i]! - ticks * TICK;
  }
  return count === 0 ? Number.NaN : bootTimes.subarray(0, count).sort()[count >> 1]!;
}

function processesOf(images: Images): Uint32Array {
  const begins = new Uint32Array(images.length + 1);
  let count = 0;
  for (let i = 0; i < images.length; i++) {
    const same =
      i > 0 &&
      images.pid[i] === images.pid[i - 1] &&
      isNextImage(recordOf(images, begins[count - 1]!, i), recordOf(images, i, i + 1));
    if (!same) begins[count++] = i;
  }
  begins[count] = images.length;
  return begins.slice(0, count + 1);
}

/** What the records of the images from `first` to before `end`, all of one process, say together. */
function recordOf(images: Images, first: number, end: number): ImageRecord {
  const { ends, starts } = images;
  const last = end - 1;
  const [endRow, startRow] = [images.endRow[last]!, images.startRow[last]!];
  let ticks = Number.NaN;
  for (let k = first; k < end && Number.isNaN(ticks); k++) ticks = ticksOf(images, k);
  return {
    start: images.start[last]!,
    ticks,
    birth: images.boot + ticks * TICK,
    end: endRow < 0 ? Number.NaN : ends!.time[endRow]!,
    isExec: endRow >= 0 && textAt(ends!, 'ended', endRow) === 'exec',
    isReported: isReportedByParent(images, last),
    ppid: startRow < 0 ? Number.NaN : (starts?.numbers.get('ppid')?.[startRow] ?? Number.NaN),
  };
}

/** A child that was forked only to execute another program ends without a record: it has nothing to tell of its own. */
export function isCopy(images: Images, i: number): boolean {
  return images.endRow[i]! < 0 && !['exec', 'told'].includes(beganAs(images, i));
}

/** A program that its parent told of, and that has told nothing of its own. */
export function isReportedByParent(images: Images, i: number): boolean {
  return images.endRow[i]! < 0 && beganAs(images, i) === 'told';
}

function beganAs(images: Images, i: number): string {
  const row = images.startRow[i]!;
  return row < 0 ? '' : textAt(images.starts!, 'began', row);
}

/** When the kernel started the process with the images from `first` to before `end`, epoch microseconds, to a tick. */
export function birthOf(images: Images, first: number, end: number): number {
  for (let i = first; i < end && !Number.isNaN(images.boot); i++) {
    const ticks = ticksOf(images, i);
    if (!Number.isNaN(ticks)) return images.boot + ticks * TICK;
  }
  return images.start[first]!;
}
