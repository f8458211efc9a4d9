import { Fault } from '../../base/fault.ts';

/** Samples of one series as VictoriaMetrics exports them; NaN where it has none. */
export interface StoredSeries {
  /** With __name__. */
  labels: Record<string, string>;
  values: Float64Array;
  /** Epoch milliseconds. */
  times: Float64Array;
}

/** Lines come by the name of the metric, those of many nodes in turn. */
const MOST_SHARED = 64;

const TIMESTAMPS = ',"timestamps":[';

/**
 * Reads lines of /api/v1/export: {"metric":{"__name__":"up"},"values":[1,null],"timestamps":[1772438400000,1772438401000]}
 * Columns of a table were sampled at the same moments: these are parsed once, and shared.
 */
export function exportLineParser(): (line: string) => StoredSeries {
  const shared = new Map<string, Float64Array>();
  return (line) => {
    // a quote inside a label is escaped: this is found only where the list begins
    const at = line.lastIndexOf(TIMESTAMPS);
    const text = at < 0 || !line.endsWith(']}') ? '' : line.slice(at + TIMESTAMPS.length - 1, -1);
    const { metric, values, timestamps } = parsed(line, text === '' ? line : `${line.slice(0, at)}}`);
    if (!isLabels(metric)) throw bad(line, 'it has no labels');
    if (!Array.isArray(values)) throw bad(line, 'it has no values or no timestamps');
    const times = shared.get(text) ?? timesOf(line, text === '' ? timestamps : parsed(line, text));
    if (shared.size >= MOST_SHARED) shared.clear();
    if (text !== '') shared.set(text, times);
    if (values.length !== times.length)
      throw bad(line, `it has ${values.length} values and ${times.length} timestamps`);
    return { labels: metric, values: numbersOf(values), times };
  };
}

interface ExportLine {
  metric?: unknown;
  values?: unknown;
  timestamps?: unknown;
}

function parsed(line: string, text: string): ExportLine {
  try {
    return (JSON.parse(text) as ExportLine | null) ?? {};
  } catch {
    throw bad(line, 'it is not JSON');
  }
}

function timesOf(line: string, timestamps: unknown): Float64Array {
  if (!Array.isArray(timestamps)) throw bad(line, 'it has no values or no timestamps');
  const times = new Float64Array(timestamps.length);
  for (let i = 0; i < times.length; i++) {
    const time: unknown = timestamps[i];
    if (typeof time !== 'number' || !Number.isFinite(time)) throw bad(line, 'a timestamp is not a number');
    times[i] = time;
  }
  return times;
}

/** Nearly always all of them are numbers. */
function numbersOf(values: readonly unknown[]): Float64Array {
  const numbers = new Float64Array(values.length);
  for (let i = 0; i < numbers.length; i++) {
    const value = values[i];
    numbers[i] = typeof value === 'number' ? value : numberOf(value);
  }
  return numbers;
}

/** JSON has no words for these: VictoriaMetrics writes null, "NaN" or "Infinity". */
function numberOf(value: unknown): number {
  if (value === 'Infinity' || value === '+Inf') return Number.POSITIVE_INFINITY;
  if (value === '-Infinity' || value === '-Inf') return Number.NEGATIVE_INFINITY;
  return Number.NaN;
}

export const isLabels = (metric: unknown): metric is Record<string, string> =>
  typeof metric === 'object' &&
  metric !== null &&
  !Array.isArray(metric) &&
  Object.values(metric).every((value) => typeof value === 'string');

const bad = (line: string, why: string): Fault =>
  new Fault(`a line of the export cannot be read, ${why}: ${line.slice(0, 120)}`, {
    hint: 'lines are those of /api/v1/export: {"metric":{…},"values":[…],"timestamps":[…]}',
  });
