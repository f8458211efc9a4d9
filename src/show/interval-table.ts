import { cell } from '../base/csv.ts';
import type { Drawing } from '../charts/draw.ts';
import { keysOf } from '../charts/metric-charts.ts';
import { withUnit } from '../charts/value-text.ts';
import { textTable } from './terminal/text-table.ts';

/** Values of some columns of a table in each interval, one row for each series that has any there. */
export interface IntervalTable {
  job: string;
  table: string;
  /** Seconds. */
  interval: number;
  keys: string[];
  columns: { name: string; unit: string }[];
  rows: IntervalRow[];
  /** Of all intervals, by series. */
  averages: Omit<IntervalRow, 'time'>[];
}

export interface IntervalRow {
  /** Epoch microseconds. */
  time: number;
  node: string;
  keys: string[];
  /** Means, of counters for each second; null: not measured. */
  values: (number | null)[];
}

/** Drawings of columns of one table, all of the same steps. */
export function intervalTable(job: string, table: string, drawings: readonly Drawing[]): IntervalTable {
  const [{ chart, from, step, steps }] = drawings as [Drawing];
  const lanes = new Map<string, { node: string; keys: string[]; means: (Float64Array | undefined)[] }>();
  for (const [i, drawing] of drawings.entries())
    for (const { node, key, mean } of drawing.series) {
      const id = `${node}\0${key ?? ''}`;
      const keys = keysOf(drawing.chart, key).map(([, value]) => value);
      const lane = lanes.get(id) ?? { node, keys, means: drawings.map(() => undefined) };
      lane.means[i] = mean;
      lanes.set(id, lane);
    }
  const valueAt = (mean: Float64Array | undefined, at: number): number | null =>
    mean === undefined || Number.isNaN(mean[at]!) ? null : mean[at]!;
  const rows: IntervalRow[] = [];
  for (let at = 0; at < steps; at++)
    for (const { node, keys, means } of lanes.values()) {
      const values = means.map((mean) => valueAt(mean, at));
      if (values.some((value) => value !== null)) rows.push({ time: from + at * step, node, keys, values });
    }
  return {
    job,
    table,
    interval: step / 1e6,
    keys: keysOf(chart, undefined).map(([name]) => name),
    columns: drawings.map((drawing) => ({ name: drawing.chart.id.split('.')[1]!, unit: drawing.chart.unit })),
    rows,
    averages: [...lanes.values()].map(({ node, keys, means }) => ({ node, keys, values: means.map(meanOf) })),
  };
}

function meanOf(values: Float64Array | undefined): number | null {
  const numbers = [...(values ?? [])].filter((value) => !Number.isNaN(value));
  return numbers.length === 0 ? null : numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}

/** As text: intervals one after the other, then the averages. Columns that do not fit are named below. */
export function intervalText(table: IntervalTable, width: number, timeOf: (micros: number) => string): string {
  const { keys, columns, rows, averages } = table;
  const heads = [
    { head: 'time' },
    { head: 'node' },
    ...keys.map((head) => ({ head })),
    ...columns.map(({ name }, i) => ({ head: name, align: 'right' as const, ...(i === 0 ? {} : { spare: i }) })),
  ];
  const cells = ({ node, keys: own, values }: Omit<IntervalRow, 'time'>): string[] => [
    node,
    ...own,
    ...values.map((value, i) => (value === null ? '-' : withUnit(value, columns[i]!.unit))),
  ];
  const texts = [
    ...rows.map((row) => [timeOf(row.time), ...cells(row)]),
    ...averages.map((row) => ['average', ...cells(row)]),
  ];
  const leftOut: string[] = [];
  const lines = textTable(heads, texts, width, leftOut);
  lines.splice(lines.length - averages.length, 0, '');
  const more = leftOut.length === 0 ? [] : ['', `Left out: ${leftOut.join(', ')}; --columns chooses.`];
  return `${[...lines, ...more].join('\n')}\n`;
}

export function intervalCsv({ keys, columns, rows }: IntervalTable): string {
  const head = [
    'time',
    'node',
    ...keys,
    ...columns.map(({ name, unit }) => (unit === '' ? name : `${name} (${unit})`)),
  ];
  const lines = rows.map(({ time, node, keys: own, values }) =>
    [
      new Date(time / 1000).toISOString(),
      node,
      ...own,
      ...values.map((value) => (value === null ? '' : String(exact(value)))),
    ]
      .map(cell)
      .join(','),
  );
  return `${[head.map(cell).join(','), ...lines].join('\n')}\n`;
}

const exact = (value: number): number => Number(value.toPrecision(9));

export function intervalJson({ job, table, interval, keys, columns, rows, averages }: IntervalTable): string {
  const named = ({ node, keys: own, values }: Omit<IntervalRow, 'time'>): object => ({
    node,
    ...Object.fromEntries(keys.map((key, i) => [key, own[i]])),
    ...Object.fromEntries(columns.map(({ name }, i) => [name, values[i] === null ? null : exact(values[i]!)])),
  });
  const intervalTables = {
    job,
    table,
    interval_seconds: interval,
    units: Object.fromEntries(columns.map(({ name, unit }) => [name, unit])),
    rows: rows.map((row) => ({ time: row.time, ...named(row) })),
    averages: averages.map(named),
  };
  return `${JSON.stringify(intervalTables, null, 2)}\n`;
}
