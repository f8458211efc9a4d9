import {
  cgroupTable,
  cpuTable,
  diskTable,
  gpuTable,
  lustreTable,
  meminfoTable,
  nfsTable,
  processMemoryTable,
  processTable,
} from '../../sources/tables.ts';
import type { Column, TableColumn } from '../../table/table.ts';
import type { Batch } from '../read/batch.ts';
import { farthest, grown } from '../read/edges.ts';
import { isOlder } from '../read/process-part.ts';
import type { SeriesStatistics } from './statistics.ts';

/**
 * What a few columns did over time on a node, in at most `MOST_POINTS` steps: the curves of the report card, which reads no
 * samples. Steps begin at whole multiples of their length since 1970, and are a power of two of sampling intervals long.
 */
export interface TableCurve {
  /** When the first step begins, and how long each is; microseconds. */
  from: number;
  step: number;
  /** The mean of each step in the column's unit, of counters for each second; null: nobody knows. */
  values: (number | null)[];
}

const MOST_POINTS = 128;
/** Enough for any picture. */
const DIGITS = 4;

interface CurveColumn {
  column: TableColumn;
  /** Which series of the node count. */
  counts?: (series: Pick<SeriesStatistics, 'keys' | 'texts'>) => boolean;
  /** How its series become one. Lives begin and end: what each adds in a step is spread over all of it. */
  joined: 'sum' | 'mean' | 'lives';
}

const inJob = ({ keys }: Pick<SeriesStatistics, 'keys'>): boolean => keys.cgroup === '.';
const isDisk = ({ texts }: Pick<SeriesStatistics, 'texts'>): boolean => (texts.class ?? 'disk') === 'disk';

const COLUMNS: readonly CurveColumn[] = [
  ...[cgroupTable.col.usage_us, cgroupTable.col.memory_current_bytes].map(ofJob),
  ...[cgroupTable.col.io_read_bytes, cgroupTable.col.io_written_bytes].map(ofJob),
  { column: cpuTable.col.busy_ms, counts: ({ keys }) => keys.cpu === 'all', joined: 'sum' },
  { column: diskTable.col.read_bytes, counts: isDisk, joined: 'sum' },
  { column: diskTable.col.written_bytes, counts: isDisk, joined: 'sum' },
  { column: gpuTable.col.utilization_percent, counts: ({ texts }) => texts.mine !== 'no', joined: 'mean' },
  ...[lustreTable.col.read_bytes, lustreTable.col.written_bytes].map(ofNode),
  ...[nfsTable.col.read_bytes, nfsTable.col.written_bytes].map(ofNode),
  ...[meminfoTable.col.MemAvailable_bytes, meminfoTable.col.MemTotal_bytes].map(ofNode),
  ofNode(processMemoryTable.col.pss_bytes),
  ...[processTable.col.user_ms, processTable.col.system_ms, processTable.col.rss_bytes].map(
    (column): CurveColumn => ({ column, joined: 'lives' }),
  ),
];

function ofJob(column: TableColumn): CurveColumn {
  return { column, counts: inJob, joined: 'sum' };
}

function ofNode(column: TableColumn): CurveColumn {
  return { column, joined: 'sum' };
}

const BY_TABLE = new Map(
  [...Map.groupBy(COLUMNS, ({ column }) => column.table)].map(([table, all]) => [
    table,
    new Map(all.map((each) => [each.column.name, each])),
  ]),
);

/** Of a process that changes nothing a row is written once a minute: until then the last one holds. */
const LIFE_HOLDS = 61e6;

interface Extent {
  start: number;
  end: number;
}

/** The curve of a column; undefined: none is kept of it. */
export function curveOfColumn(
  batch: Batch,
  column: Column,
  values: Float64Array,
  extent: Extent,
  series: readonly SeriesStatistics[],
  seriesIndexes: readonly number[],
): TableCurve | undefined {
  const wanted = BY_TABLE.get(batch.table.name)?.get(column.name);
  if (wanted === undefined || Number.isNaN(extent.start)) return undefined;
  const seconds = batch.interval_seconds ?? 0;
  const interval = Number.isFinite(seconds) && seconds > 0 ? Math.max(1, seconds * 1e6) : 1e6;
  const isLives = wanted.joined === 'lives';
  const begin =
    isLives && batch.edges === undefined ? Math.min(extent.start, batch.began ?? extent.start) : extent.start;
  const grid = gridOf(begin, extent.end, interval);
  const chosen = isLives
    ? Array.from({ length: batch.series.length - 1 }, (_, s) => s)
    : seriesIndexes.filter((_, i) => wanted.counts?.(series[i]!) !== false);
  const total = new Float64Array(grid.steps).fill(Number.NaN);
  const count = new Uint32Array(grid.steps);
  const own = new Steps(grid);
  for (const s of chosen) {
    if (!isLives) own.clear();
    if (column.kind === 'counter') own.addCounter(batch, values, s, interval);
    else own.addLevel(batch, values, s, interval);
    if (!isLives) own.into(total, count);
  }
  if (isLives) own.spreadOver(total, begin, extent.end + interval);
  return {
    from: grid.from,
    step: grid.step,
    values: Array.from(total, (sum, i) => rounded(wanted.joined === 'mean' ? sum / count[i]! : sum)),
  };
}

function rounded(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : null;
}

interface Grid {
  from: number;
  step: number;
  steps: number;
}

function gridOf(start: number, end: number, interval: number): Grid {
  let step = Math.round(interval);
  const stepsWith = (): number => Math.floor(end / step) - Math.floor(start / step) + 1;
  while (stepsWith() > MOST_POINTS) step *= 2;
  return { from: Math.floor(start / step) * step, step, steps: stepsWith() };
}

/** The area under a level or rate in each step, and for how much of its time that is known. */
class Steps {
  private readonly grid: Grid;
  private readonly amount: Float64Array;
  private readonly coveredTime: Float64Array;

  constructor(grid: Grid) {
    this.grid = grid;
    this.amount = new Float64Array(grid.steps);
    this.coveredTime = new Float64Array(grid.steps);
  }

  clear(): void {
    this.amount.fill(0);
    this.coveredTime.fill(0);
  }

  /** A level, or what grew in each second, from one moment to another. */
  private add(rate: number, from: number, to: number): void {
    const { from: begin, step, steps } = this.grid;
    const first = Math.max(0, Math.floor((from - begin) / step));
    for (let i = first; i < steps && begin + i * step < to; i++) {
      const time = Math.min(to, begin + (i + 1) * step) - Math.max(from, begin + i * step);
      this.amount[i]! += rate * time;
      this.coveredTime[i]! += time;
    }
  }

  addCounter(
    { time, series, table, texts, began, edges }: Batch,
    values: Float64Array,
    s: number,
    interval: number,
  ): void {
    const isSparse = table.sparse === true;
    const longest = isSparse ? Number.POSITIVE_INFINITY : farthest(interval);
    let [before, at] = [Number.NaN, Number.NaN];
    const starts = isSparse ? texts.get('start') : undefined;
    for (let row = series[s]!; row < series[s + 1]!; row++) {
      const [value, now] = [values[row]!, time[row]!];
      if (Number.isNaN(value)) continue;
      if (!Number.isNaN(before) && now > at && now - at <= longest) {
        // a row of a process is written at the tick after something changed
        const from = isSparse ? Math.max(at, now - interval) : at;
        // and what did not change used nothing, as long as somebody looked
        if (from > at && now - at <= LIFE_HOLDS) this.add(0, at, from);
        this.add((grown(before, value) * 1e6) / (now - from), from, now);
      } else if (Number.isNaN(before) && starts !== undefined) {
        const birth = Number(starts.values[starts.codes[row]!]) * 1000;
        const isNew = edges === undefined && !isOlder(birth, began ?? Number.NaN);
        if (isNew) this.add((value * 1e6) / Math.max(1, now - birth), Math.min(birth, now - 1), now);
      }
      [before, at] = [value, now];
    }
  }

  addLevel({ time, series, table }: Batch, values: Float64Array, s: number, interval: number): void {
    const longest = table.sparse === true ? LIFE_HOLDS : Math.max(farthest(interval), this.grid.step);
    const end = series[s + 1]!;
    for (let row = series[s]!; row < end; row++) {
      if (Number.isNaN(values[row]!)) continue;
      let next = row + 1;
      while (next < end && Number.isNaN(values[next]!)) next++;
      const until = next < end ? time[next]! : time[row]! + interval;
      const isHeld = until - time[row]! <= longest;
      this.add(values[row]!, time[row]!, isHeld ? until : time[row]! + interval);
    }
  }

  /** Adds the mean of each step that is known. */
  into(total: Float64Array, count: Uint32Array): void {
    for (let i = 0; i < total.length; i++) {
      if (!(this.coveredTime[i]! > 0)) continue;
      total[i] = (total[i] || 0) + this.amount[i]! / this.coveredTime[i]!;
      count[i]!++;
    }
  }

  /** The same of lives: a step in which none is known is not. */
  spreadOver(total: Float64Array, start: number, end: number): void {
    const { from, step } = this.grid;
    for (let i = 0; i < total.length; i++) {
      const length = Math.min(end, from + (i + 1) * step) - Math.max(start, from + i * step);
      if (this.coveredTime[i]! > 0) total[i] = this.amount[i]! / Math.max(length, 1);
    }
  }
}
