import type { Batch } from '../recording/batch.ts';
import type { SeriesStatistics } from '../recording/statistics.ts';

/** What sampling saw of one process, at the end. */
export interface SampledProcess {
  pid: number;
  /** When the kernel started it; when it was seen first and last. Epoch microseconds. */
  start: number;
  first: number;
  last: number;
  name: string;
  command: string;
  user: string;
  ppid: number;
  uid: number;
  threads: number;
  /** By the names of process records, in their units. */
  metrics: Map<string, number>;
}

/** Column of the table `process` → metric of a process record, and the factor between their units. */
const METRICS: readonly (readonly [column: string, metric: string, factor: number])[] = [
  ['user_ms', 'usertime', 1000],
  ['system_ms', 'systemtime', 1000],
  ['rss_peak_bytes', 'rssmax', 1 / 1024],
  ['minor_faults', 'minflt', 1],
  ['major_faults', 'majflt', 1],
  ['read_chars', 'rchar', 1],
  ['written_chars', 'wchar', 1],
  ['read_bytes', 'read_bytes', 1],
  ['written_bytes', 'write_bytes', 1],
  ['voluntary_switches', 'vol_ctxsw', 1],
  ['involuntary_switches', 'invol_ctxsw', 1],
  ['wait_ms', 'time_waiting', 1e6],
  ['cpu', 'processor', 1],
];

export const SAMPLE_COLUMNS = [
  'name',
  'command',
  'user',
  'ppid',
  'uid',
  'threads',
  'rss_bytes',
  ...METRICS.map(([column]) => column),
];

/** From the rows of the table `process`. */
export function samplesOfBatch(batch: Batch): SampledProcess[] {
  const found: SampledProcess[] = [];
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const from = batch.series[s]!;
    const to = batch.series[s + 1]!;
    const text = (column: string): string => {
      const texts = batch.texts.get(column);
      if (texts === undefined) return '';
      for (let row = to - 1; row >= from; row--) if (texts.codes[row] !== 0) return texts.values[texts.codes[row]!]!;
      return '';
    };
    const last = (column: string): number => {
      const values = batch.numbers.get(column);
      for (let row = to - 1; values !== undefined && row >= from; row--)
        if (!Number.isNaN(values[row])) return values[row]!;
      return Number.NaN;
    };
    const most = (column: string): number => {
      const values = batch.numbers.get(column);
      let found = Number.NaN;
      for (let row = from; values !== undefined && row < to; row++) {
        if (values[row]! > found || Number.isNaN(found)) found = values[row]!;
      }
      return found;
    };
    found.push(sampled(text, last, most, batch.time[from]!, batch.time[to - 1]!));
  }
  return found;
}

/** From what `seal` left of the table `process`, or what was computed in its place. */
export function samplesOfStatistics(all: readonly SeriesStatistics[]): SampledProcess[] {
  return all.map((series) =>
    sampled(
      (column) => series.keys[column] ?? series.texts[column] ?? '',
      (column) => series.columns[column]?.last ?? Number.NaN,
      (column) => series.columns[column]?.max ?? Number.NaN,
      series.start,
      series.end,
    ),
  );
}

function sampled(
  text: (column: string) => string,
  last: (column: string) => number,
  most: (column: string) => number,
  first: number,
  end: number,
): SampledProcess {
  const metrics = new Map<string, number>();
  for (const [column, metric, factor] of METRICS) {
    const value = column === 'rss_peak_bytes' ? peak(most) : last(column);
    if (!Number.isNaN(value)) metrics.set(metric, value * factor);
  }
  return {
    pid: Number(text('pid')),
    start: Number(text('start')) * 1000,
    first,
    last: end,
    name: text('name'),
    command: text('command'),
    user: text('user'),
    ppid: last('ppid'),
    uid: last('uid'),
    threads: most('threads'),
    metrics,
  };
}

/** The kernel's own mark of the highest resident set, else the highest sample. */
function peak(most: (column: string) => number): number {
  const mark = most('rss_peak_bytes');
  const seen = most('rss_bytes');
  return mark >= seen || Number.isNaN(seen) ? mark : seen;
}
