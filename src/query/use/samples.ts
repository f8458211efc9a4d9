import type { NodeRecording } from '../../recording/folder/open.ts';
import { type Batch, seriesKeys, textAt } from '../../recording/read/batch.ts';
import { farthest, grown } from '../../recording/read/edges.ts';
import { hasRows, type ReadBatch, readTable } from '../../recording/read/read.ts';
import {
  agentTable,
  cgroupTable,
  cpuTable,
  diskTable,
  gpuTable,
  lustreTable,
  networkTable,
  nfsTable,
  powerTable,
  processTable,
  processTotalTable,
} from '../../sources/tables.ts';
import type { KeyValues, NameIn, Table, TableColumn } from '../../table/table.ts';
import { ifFinite, type Material, matching, type NodeMaterial } from '../material.ts';
import { SAMPLED_CPU_COLUMNS, type SampledCpu, sampledCpu } from '../processes/sampled-cpu.ts';
import type { TableDamage } from '../summarise.ts';
import { type Curve, through } from './curve.ts';

/** Values and when they were sampled, epoch microseconds; NaN is missing. */
export interface Points {
  times: ArrayLike<number>;
  values: ArrayLike<number>;
  /** Not a counter. */
  isLevel?: boolean;
  /** At which they were sampled, in seconds, if that is known. */
  interval: number;
}

/** What was sampled of one thing (a card, a meter, a cgroup). */
interface SampledSeries {
  keys: Readonly<Record<string, string>>;
  /** What was said last. */
  texts?: Readonly<Record<string, string>>;
  /** By the column's name. */
  points: ReadonlyMap<string, Points>;
}

/** All that was sampled on a node of what is used up. */
export interface NodeSamples {
  /** By the table's name, each read when it is first asked for; undefined: there is none. */
  series: { get(table: string): readonly SampledSeries[] | undefined };
  processes: readonly SampledCpu[];
  /** What could not be read of the tables of CPU time. */
  damage: readonly TableDamage[];
}

const some = <T extends Table>(table: T, ...columns: NameIn<T>[]): [string, readonly string[]] => [table.name, columns];

/** What is used up: the columns that the use of any span of a job is made of, by table; and how memory came to its peak. */
const USED_COLUMNS: ReadonlyMap<string, readonly string[]> = new Map([
  some(cgroupTable, 'usage_us', 'user_us', 'system_us', 'io_read_bytes', 'io_written_bytes', 'memory_peak_bytes'),
  some(agentTable, 'cpu_us', 'written_bytes'),
  some(processTotalTable, 'cpu_us'),
  some(cpuTable, 'busy_ms'),
  some(diskTable, 'class', 'read_bytes', 'written_bytes'),
  some(nfsTable, 'read_bytes', 'written_bytes'),
  some(lustreTable, 'read_bytes', 'written_bytes'),
  some(networkTable, 'class', 'received_bytes', 'sent_bytes'),
  some(powerTable, 'meter', 'within', 'energy_mj', 'power_watts'),
  some(gpuTable, 'mine', 'energy_mj', 'power_watts', 'utilization_percent'),
  some(processTable, ...SAMPLED_CPU_COLUMNS),
]);

/** A table with the columns of what is used up; undefined: it has none, or no rows are at hand. */
export type UsedTable = (table: string) => ReadBatch | undefined;

/** Each table of a node is read once, whoever asks; `to`: what was sampled later is not the job's. */
export function usedTables(node: NodeRecording, to?: number): UsedTable {
  const batches = new Map<string, ReadBatch>();
  return (table) => {
    const columns = USED_COLUMNS.get(table);
    if (columns === undefined || !hasRows(node, table)) return undefined;
    const batch = batches.get(table) ?? readTable(node, table, { columns, ...(to === undefined ? {} : { to }) });
    batches.set(table, batch);
    return batch;
  };
}

/** What was sampled, for all spans of a job. */
export function readSamples(used: UsedTable): NodeSamples {
  const damage: TableDamage[] = [];
  const read = (table: string): ReadBatch | undefined => {
    const batch = used(table);
    if (batch !== undefined) damage.push(...batch.damage.map((each) => ({ ...each, table })));
    return batch;
  };
  const made = new Map<string, readonly SampledSeries[] | undefined>();
  const get = (table: string): readonly SampledSeries[] | undefined => {
    if (!made.has(table)) {
      const batch = read(table);
      made.set(table, batch && sampledSeries(batch));
    }
    return made.get(table);
  };
  for (const { name } of [cgroupTable, agentTable, processTotalTable]) get(name);
  const processes = read(processTable.name);
  return { series: { get }, processes: processes === undefined ? [] : sampledCpu(processes), damage: [...damage] };
}

function sampledSeries(batch: Batch): SampledSeries[] {
  const { table, numbers, time, interval_seconds: interval = Number.NaN } = batch;
  const levels = new Set(table.columns.flatMap(({ name, kind }) => (kind === 'counter' ? [] : name)));
  const texts = table.columns.map(({ name }) => name).filter((name) => batch.texts.has(name));
  return Array.from({ length: Math.max(0, batch.series.length - 1) }, (_, s): SampledSeries => {
    const [from, to] = [batch.series[s]!, batch.series[s + 1]!];
    const times = time.subarray(from, to);
    const textOf = (name: string): string => {
      for (let row = to - 1; row >= from; row--) if (textAt(batch, name, row) !== '') return textAt(batch, name, row);
      return '';
    };
    return {
      keys: seriesKeys(batch, s),
      texts: Object.fromEntries(texts.map((name) => [name, textOf(name)])),
      points: new Map(
        [...numbers].map(([name, all]) => {
          const values = all.subarray(from, to);
          return [name, { times, values, isLevel: levels.has(name), interval }];
        }),
      ),
    };
  });
}

/** One thing that was sampled on a node, and how its counters grew. */
export interface Counters {
  keys: Readonly<Record<string, string | undefined>>;
  texts: Readonly<Record<string, string | undefined>>;
  /** A counter, or the area under a level (unit × seconds), of the column that was asked for or of another; undefined: it has no value. */
  counter(column?: TableColumn): Counter | undefined;
}

export interface Counter {
  curve: Curve;
  /** When it was sampled. */
  moments: ArrayLike<number>;
}

/**
 * What was sampled on a node of the whole job, all of it or what has these keys. Where samples are not at hand, counters go
 * straight from their first to their last value, as statistics tell them.
 */
export function countersOf<K extends string>(
  { samples }: Material,
  node: NodeMaterial,
  asked: TableColumn<string, string, K>,
  keys: KeyValues<NoInfer<K>> = {},
): Counters[] {
  const wanted = Object.entries(keys);
  const sampled = samples?.get(node.node)?.series.get(asked.table);
  if (sampled === undefined)
    return matching(node, asked.table, keys).map(({ keys, texts, start, end, columns }) => ({
      keys,
      texts,
      counter({ name } = asked) {
        const { increase, integral } = columns[name] ?? {};
        const grown = ifFinite(increase ?? integral);
        if (grown === undefined) return undefined;
        return { curve: through([start, end], [0, grown])!, moments: [start, end] };
      },
    }));
  return sampled
    .filter((one) => wanted.every(([key, value]) => one.keys[key] === value))
    .map(({ keys, texts = {}, points }) => ({
      keys,
      texts,
      counter({ name } = asked) {
        const column = points.get(name);
        const curve = column && curveOf(column);
        return curve && { curve, moments: column!.times };
      },
    }));
}

/** The same curve serves all spans of a job. */
const drawn = new WeakMap<Points, Curve | undefined>();

function curveOf(points: Points): Curve | undefined {
  if (!drawn.has(points)) drawn.set(points, draw(points));
  return drawn.get(points);
}

/** How a counter grew, from 0 on (one that fell began again), or the area under a level, as if it went straight between samples. */
function draw({ times, values, interval, isLevel }: Points): Curve | undefined {
  const { length } = times;
  const moments = new Float64Array(length);
  const used = new Float64Array(length);
  const levels = new Float64Array(length);
  // every sample of every card comes by: no lists on the way
  let count = 0;
  let sum = 0;
  for (let i = 0; i < length; i++) {
    const value = values[i]!;
    if (Number.isNaN(value)) continue;
    moments[count] = times[i]!;
    levels[count] = value;
    if (count > 0) {
      const before = levels[count - 1]!;
      const seconds = (moments[count]! - moments[count - 1]!) / 1e6;
      sum += isLevel ? ((before + value) / 2) * seconds : grown(before, value);
    }
    used[count++] = sum;
  }
  const farAway = farthest(interval * 1e6);
  if (isLevel !== true) return through(moments.subarray(0, count), used, farAway);
  return through(moments.subarray(0, count), used, farAway, (share, next) => {
    const [begin, end] = [levels[next - 1]!, levels[next]!];
    return begin + end > 0 ? (share * (2 * begin + (end - begin) * share)) / (begin + end) : share;
  });
}
