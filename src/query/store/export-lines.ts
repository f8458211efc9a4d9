import { Fault } from '../../base/fault.ts';

/** Samples of one series as VictoriaMetrics exports them; NaN where it has none. */
export interface StoredSeries {
  /** With __name__. */
  labels: Record<string, string>;
  values: Float64Array;
  /** Epoch milliseconds. */
  times: Float64Array;
}

/** One line of /api/v1/export: {"metric":{"__name__":"up"},"values":[1,null],"timestamps":[1772438400000,1772438401000]} */
export function parseExportLine(line: string): StoredSeries {
  let found: { metric?: unknown; values?: unknown; timestamps?: unknown };
  try {
    found = JSON.parse(line) as typeof found;
  } catch {
    throw bad(line, 'it is not JSON');
  }
  const { metric, values, timestamps } = found ?? {};
  if (!isLabels(metric)) throw bad(line, 'it has no labels');
  if (!Array.isArray(values) || !Array.isArray(timestamps)) throw bad(line, 'it has no values or no timestamps');
  if (values.length !== timestamps.length) {
    throw bad(line, `it has ${values.length} values and ${timestamps.length} timestamps`);
  }
  return {
    labels: metric,
    values: Float64Array.from(values, numberOf),
    times: Float64Array.from(timestamps, (time) => {
      if (typeof time !== 'number' || !Number.isFinite(time)) throw bad(line, 'a timestamp is not a number');
      return time;
    }),
  };
}

/** JSON has no words for these: VictoriaMetrics writes null, "NaN" or "Infinity". */
function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
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
