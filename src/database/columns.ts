import { PAPIEX_METRICS } from '../import/epmt/tables.ts';
import { NUMBERS, TEXTS } from '../query/processes/set.ts';
import { PROCESS_METRICS } from '../sources/records/tables.ts';
import { type CopyWriter, storable } from './copy-write.ts';

/** How a column's values are kept: whole numbers, any numbers, epoch microseconds as a time, text, JSON. */
export type Kind = 'integer' | 'bigint' | 'double' | 'time' | 'text' | 'json';

/** Metrics that have a column of their own in `processes` and `threads`; others are in `more`. */
export const METRICS: readonly string[] = [...PROCESS_METRICS, ...PAPIEX_METRICS].map(({ name }) => name);

/** SQL has no capital letters unless one quotes them: a metric's column. */
export const metricColumn = (metric: string): string => metric.toLowerCase();

/** Texts of a process: name in the set, and column. */
export const PROCESS_TEXTS = TEXTS.map((name) => [name, name === 'user' ? 'user_name' : name] as const);

const MOMENTS: readonly string[] = ['start', 'end', 'birth'];

/** Name in the set, column, and kind. */
function numberOf<N extends string>(name: N): readonly [name: N, column: string, kind: 'bigint' | 'double' | 'time'] {
  if (MOMENTS.includes(name)) return [name, `${name}_time`, 'time'];
  return [name, name, name === 'cpu_time' ? 'double' : 'bigint'];
}

/** Its numbers, without that of its job, and those of a thread. */
export const PROCESS_NUMBERS = NUMBERS.filter((name) => name !== 'job' && name !== 'sampled_birth').map(numberOf);
export const THREAD_NUMBERS = (['tid', 'start', 'end', 'cpu_time'] as const).map(numberOf);

/** One column of rows that are to be written, or several: their names, and how their values in a row are written. */
export interface Written {
  readonly columns: readonly string[];
  write(to: CopyWriter, row: number): void;
}

type Numbers = { readonly [row: number]: number };

export function numberColumn(column: string, kind: Exclude<Kind, 'text' | 'json'>, values: Numbers): Written {
  switch (kind) {
    case 'double':
      return { columns: [column], write: (to, row) => to.double(values[row]!) };
    case 'bigint':
      return { columns: [column], write: (to, row) => to.bigint(values[row]!) };
    case 'time':
      return { columns: [column], write: (to, row) => to.time(values[row]!) };
    case 'integer':
      return { columns: [column], write: (to, row) => to.integer(values[row]!) };
  }
}

export function textColumn(column: string, values: readonly string[]): Written {
  const write = repeatedText();
  return { columns: [column], write: (to, row) => write(to, values[row]!) };
}

/** Writes texts, of which many are like the one before: that is in bytes already. */
function repeatedText(): (to: CopyWriter, text: string) => void {
  let last = '';
  let bytes: Uint8Array | undefined;
  return (to, text) => {
    if (text !== last || bytes === undefined) {
      // the first time it may be the only one
      bytes = text === last && text !== '' ? Buffer.from(storable(text)) : undefined;
      last = text;
    }
    if (bytes === undefined) to.text(text);
    else to.bytes(bytes);
  };
}

/** Whether a column says nothing of any row: then it need not be written. */
export function isEmpty(values: Numbers | readonly string[], rows: number): boolean {
  for (let row = 0; row < rows; row++) {
    const value = values[row]!;
    if (value !== '' && !Number.isNaN(value)) return false;
  }
  return true;
}

/** The metrics that are there: those with a column, and `more` for the rest. */
export function metricColumns(metrics: ReadonlyMap<string, Float64Array>): Written[] {
  const isFilled = (values: Float64Array | undefined): boolean =>
    values !== undefined && !isEmpty(values, values.length);
  const filledMetrics = METRICS.filter((metric) => isFilled(metrics.get(metric)));
  const values = filledMetrics.map((metric) => metrics.get(metric)!);
  // most of a row: without a call for each of them
  const own: Written = { columns: filledMetrics.map(metricColumn), write: (to, row) => to.doubles(values, row) };
  const others = [...metrics].filter(([name]) => !METRICS.includes(name));
  if (others.length === 0) return [own];
  const more: Written = {
    columns: ['more'],
    write(to, row) {
      const metricValues: Record<string, number> = {};
      let any = false;
      for (const [name, values] of others) {
        const value = values[row]!;
        if (!Number.isFinite(value)) continue;
        metricValues[name] = value;
        any = true;
      }
      to.json(any ? JSON.stringify(metricValues) : undefined);
    },
  };
  return [own, more];
}
