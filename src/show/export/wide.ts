import { line } from '../../base/csv.ts';
import { putFloat, putNumber, putTime, putWhole, WIDEST } from '../../base/number-text.ts';
import { byName } from '../../recording/folder/open.ts';
import { tickOf } from '../../recording/read/buckets.ts';
import type { Column, Table } from '../../table/table.ts';
import { keysOf, type NodeBatch } from './node-batch.ts';
import type { Output } from './output.ts';
import { TextBuffer } from './text-buffer.ts';

/** One series of the export: a GPU of a node, a disk, or a whole node when the table has no keys. */
export interface Lane {
  job: string;
  recording?: string;
  node: string;
  keys: string[];
}

export interface WideForm {
  table: Table;
  /** Number columns, in the order in which they shall stand. */
  metrics: readonly Column[];
  lanes: readonly Lane[];
  /** Microseconds between rows: samples that were taken in the same tick stand in the same row. */
  interval: number;
  /** Names of the header's rows: metric, job where there are several, recording where a job has several, node, the keys. */
  levels: readonly string[];
  /** Which of a lane's names stand in the header below the metric. */
  names(lane: Lane): string[];
  /** Name of the column of times. */
  index: string;
  time: 'iso' | 'naive' | 'epoch';
  /** Every number with a decimal point. */
  floats?: boolean;
}

/** The series of some pieces, in the order people expect: node 2 before node 10. */
export function lanesOf(nodeBatches: readonly NodeBatch[], knownLanes: readonly Lane[] = []): Lane[] {
  const lanes = new Map<string, Lane>(knownLanes.map((lane) => [nameOf(lane), lane]));
  for (const { batch, ...whose } of nodeBatches) {
    for (let s = 0; s + 1 < batch.series.length; s++) {
      const lane: Lane = { ...whose, keys: keysOf(batch, s) };
      lanes.set(nameOf(lane), lane);
    }
  }
  return [...lanes.values()].sort(compareLanes);
}

function compareLanes(a: Lane, b: Lane): number {
  const order = byName(a.job, b.job) || byName(a.recording ?? '', b.recording ?? '') || byName(a.node, b.node);
  if (order !== 0) return order;
  for (let k = 0; k < a.keys.length; k++) {
    const difference = byName(a.keys[k]!, b.keys[k] ?? '');
    if (difference !== 0) return difference;
  }
  return 0;
}

const nameOf = ({ job, recording = '', node, keys }: Lane): string => [job, recording, node, ...keys].join('\0');

/** The header: a row a level, and one that names the column of times, as pandas reads and writes them. */
function wideHeader(form: WideForm): string {
  const { metrics, lanes, levels } = form;
  const rows = levels.map((level) => [level]);
  for (const metric of metrics) {
    for (const lane of lanes) {
      rows[0]!.push(metric.name);
      form.names(lane).forEach((name, i) => {
        rows[i + 1]!.push(name);
      });
    }
  }
  return [...rows, [form.index, ...new Array<string>(metrics.length * lanes.length).fill('')]].map(line).join('');
}

/**
 * A wide CSV file: a row a tick, a column a metric and series. `windows` hands over the samples, one stretch of time
 * after the other, so that no more than a stretch is in memory.
 */
export async function writeWide(output: Output, form: WideForm, windows: AsyncIterable<NodeBatch[]>): Promise<number> {
  const text = new TextBuffer(output);
  text.put(wideHeader(form));
  let rows = 0;
  for await (const nodeBatches of windows) rows += writeWindow(text, form, nodeBatches);
  text.flush();
  return rows;
}

/** Where the samples of a lane lie, how far they have been written, and the tick of the next one. */
interface Cursor {
  time: Float64Array;
  next: number;
  end: number;
  tick: number;
}

function moveTo(cursor: Cursor, next: number, interval: number): void {
  cursor.next = next;
  cursor.tick = next < cursor.end ? tickOf(cursor.time[next]!, interval) : Number.POSITIVE_INFINITY;
}

function writeWindow(text: TextBuffer, form: WideForm, nodeBatches: readonly NodeBatch[]): number {
  const { metrics, lanes, interval } = form;
  const width = lanes.length;
  const cursors: (Cursor | undefined)[] = new Array(width).fill(undefined);
  const values: (Float64Array | undefined)[] = new Array(width * metrics.length).fill(undefined);
  const indexOfLane = new Map(lanes.map((lane, i) => [nameOf(lane), i]));
  for (const { batch, ...whose } of nodeBatches) {
    for (let s = 0; s + 1 < batch.series.length; s++) {
      const lane = indexOfLane.get(nameOf({ ...whose, keys: keysOf(batch, s) }));
      if (lane === undefined) continue;
      const cursor = { time: batch.time, next: 0, end: batch.series[s + 1]!, tick: 0 };
      moveTo(cursor, batch.series[s]!, interval);
      cursors[lane] = cursor;
      metrics.forEach((metric, m) => {
        values[m * width + lane] = batch.numbers.get(metric.name);
      });
    }
  }
  const decimals = metrics.map((metric) => metric.decimals ?? 3);
  const put = form.floats ? putFloat : putNumber;
  const fraction = interval % 1e6 === 0 ? 0 : interval % 1e3 === 0 ? 3 : 6;
  const need = WIDEST + values.length * (WIDEST + 1) + 1;
  const rowOf = new Int32Array(width).fill(-1);
  let rows = 0;
  for (;;) {
    const tick = advance(cursors, rowOf, interval, form.table.sparse === true);
    if (tick === undefined) return rows;
    text.room(need);
    const { bytes } = text;
    let at = text.at;
    const time = tick * interval;
    if (form.time === 'epoch') at = putWhole(bytes, at, time);
    else at = putTime(bytes, at, time, form.time === 'iso' ? 84 : 32, fraction);
    if (form.time === 'iso') bytes[at++] = 90;
    for (let m = 0, v = 0; m < decimals.length; m++) {
      const digits = decimals[m]!;
      for (let l = 0; l < width; l++, v++) {
        bytes[at++] = 44;
        const row = rowOf[l]!;
        const column = values[v];
        if (row >= 0 && column !== undefined) at = put(bytes, at, column[row]!, digits);
      }
    }
    bytes[at++] = 10;
    text.at = at;
    rows++;
  }
}

/**
 * Finds the next tick at which any lane has a sample, and each lane's row in it (−1: none; the newest, if there are
 * several). In sparse tables a sample holds until the next one.
 */
function advance(
  cursors: (Cursor | undefined)[],
  rowOf: Int32Array,
  interval: number,
  sparse: boolean,
): number | undefined {
  let tick = Number.POSITIVE_INFINITY;
  for (let l = 0; l < cursors.length; l++) {
    const cursor = cursors[l];
    if (cursor !== undefined && cursor.tick < tick) tick = cursor.tick;
  }
  if (tick === Number.POSITIVE_INFINITY) return undefined;
  for (let l = 0; l < cursors.length; l++) {
    const cursor = cursors[l];
    const held = rowOf[l]!;
    rowOf[l] = -1;
    if (cursor === undefined) continue;
    if (cursor.tick === tick) {
      do moveTo(cursor, cursor.next + 1, interval);
      while (cursor.tick <= tick);
      rowOf[l] = cursor.next - 1;
    } else if (sparse && held >= 0 && cursor.next < cursor.end) rowOf[l] = held;
  }
  return tick;
}
