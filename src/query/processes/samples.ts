import type { BatchOf } from '../../recording/read/batch.ts';
import { counted, isOlder, isSampledOnce, lastAlive, peakMemory } from '../../recording/read/process-part.ts';
import type { SeriesOf, Statistics } from '../../recording/sealed/statistics.ts';
import type { Observation } from '../../sources/process/same-process.ts';
import type { processTable } from '../../sources/process/table.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import type { KeyName, NameIn, NumberName, TextName } from '../../table/table.ts';

/** What sampling saw of one process, at the end. */
export interface SampledProcess extends Observation {
  name: string;
  command: string;
  user: string;
  ppid: number;
  uid: number;
  threads: number;
  /** As a list; '': not known. */
  allowedCpus: string;
  /** By the names of process records, in their units. Of what is counted, only what it did in the recording. */
  metrics: Map<ProcessMetric, number>;
  /** What it had counted before, where it is older than the recording. */
  earlier: Map<string, number>;
}

type ProcessBatch = BatchOf<typeof processTable>;
type SampledNumber = NumberName<typeof processTable>;
type SampledText = KeyName<typeof processTable> | TextName<typeof processTable>;

/** Counter of the table `process` → metric of a process record, and the factor between their units. */
export const SAMPLED_METRICS: readonly (readonly [column: SampledNumber, metric: ProcessMetric, factor: number])[] = [
  ['user_ms', 'usertime', 1000],
  ['system_ms', 'systemtime', 1000],
  ['minor_faults', 'minflt', 1],
  ['major_faults', 'majflt', 1],
  ['read_chars', 'rchar', 1],
  ['written_chars', 'wchar', 1],
  ['read_bytes', 'read_bytes', 1],
  ['written_bytes', 'write_bytes', 1],
  ['voluntary_switches', 'vol_ctxsw', 1],
  ['involuntary_switches', 'invol_ctxsw', 1],
  ['wait_ms', 'time_waiting', 1e6],
];

export const SAMPLE_COLUMNS: readonly NameIn<typeof processTable>[] = [
  'name',
  'command',
  'user',
  'state',
  'allowed_cpus',
  'ppid',
  'uid',
  'threads',
  'cpu',
  'rss_bytes',
  'rss_peak_bytes',
  ...SAMPLED_METRICS.map(([column]) => column),
];

/** What is asked of a number column of one process. */
type Seen = Pick<Statistics, 'first' | 'last' | 'max' | 'increase'>;

/** From the rows of the table `process`; `began` is when the node began to be recorded, `lastTick` asks when it ended to be. */
export function samplesOfBatch(
  batch: ProcessBatch,
  began: number,
  lastTick: () => number | undefined = () => undefined,
): SampledProcess[] {
  const sampledProcesses: SampledProcess[] = [];
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const from = batch.series[s]!;
    const to = batch.series[s + 1]!;
    const text = (column: SampledText): string => {
      const texts = batch.texts.get(column);
      if (texts === undefined) return '';
      for (let row = to - 1; row >= from; row--) if (texts.codes[row] !== 0) return texts.values[texts.codes[row]!]!;
      return '';
    };
    const extentOf = (column: SampledNumber): Seen | undefined => seenIn(batch.numbers.get(column), from, to);
    const last = lastAlive(text('state'), batch.time[to - 1]!, lastTick);
    sampledProcesses.push(
      sampled(text, extentOf, batch.time[from]!, last, began, batch.interval_seconds ?? Number.NaN),
    );
  }
  return sampledProcesses;
}

function seenIn(values: Float64Array | undefined, from: number, to: number): Seen | undefined {
  let extent: Required<Seen> | undefined;
  for (let row = from; values !== undefined && row < to; row++) {
    const value = values[row]!;
    if (Number.isNaN(value)) continue;
    if (extent === undefined) {
      extent = { first: value, last: value, max: value, increase: 0 };
      continue;
    }
    // a counter that fell began again at zero
    extent.increase += value >= extent.last ? value - extent.last : value;
    extent.last = value;
    if (value > extent.max) extent.max = value;
  }
  return extent;
}

/** From what `seal` left of the table `process`, or what was computed in its place. */
export function samplesOfStatistics(
  all: readonly SeriesOf<typeof processTable>[],
  began: number,
  intervalSeconds: number,
): SampledProcess[] {
  return all.map(({ keys, texts, columns, start, end }) => {
    const textsAndKeys = { ...texts, ...keys };
    return sampled(
      (column) => textsAndKeys[column] ?? '',
      (column) => columns[column],
      start,
      end,
      began,
      intervalSeconds,
    );
  });
}

function sampled(
  text: (column: SampledText) => string,
  extentOf: (column: SampledNumber) => Seen | undefined,
  first: number,
  end: number,
  began: number,
  intervalSeconds: number,
): SampledProcess {
  const birth = Number(text('start')) * 1000;
  const older = isOlder(birth, began);
  const once = isSampledOnce(text('state'), first, end, intervalSeconds);
  const metrics = new Map<ProcessMetric, number>();
  const earlier = new Map<string, number>();
  for (const [column, metric, factor] of SAMPLED_METRICS) {
    const extent = extentOf(column);
    if (extent === undefined) continue;
    const value = counted(extent, older, once);
    if (value !== undefined) metrics.set(metric, value * factor);
    if (older) earlier.set(metric, Math.max(0, extent.last - (value ?? 0)) * factor);
  }
  const peak = peakMemory(extentOf('rss_peak_bytes'), extentOf('rss_bytes'), older);
  if (peak !== undefined) metrics.set('rssmax', peak / 1024);
  const cpu = extentOf('cpu')?.last;
  if (cpu !== undefined) metrics.set('processor', cpu);
  return {
    pid: Number(text('pid')),
    birth,
    start: first,
    last: end,
    name: text('name'),
    command: text('command'),
    user: text('user'),
    allowedCpus: text('allowed_cpus'),
    ppid: extentOf('ppid')?.last ?? Number.NaN,
    uid: extentOf('uid')?.last ?? Number.NaN,
    threads: extentOf('threads')?.max ?? Number.NaN,
    metrics,
    earlier,
  };
}
