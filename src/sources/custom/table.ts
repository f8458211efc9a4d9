import type { Frame } from '../../table/frame.ts';
import type { Column, Table } from '../../table/table.ts';
import { type Unit, units } from '../../table/unit.ts';
import { CustomFailure } from './custom.ts';

/** One sample as a command printed it. */
export interface LooseSample {
  metric: string;
  labels: Record<string, string>;
  value: number;
  kind: 'gauge' | 'counter';
  help: string;
}

/** A sample belongs to a row; a table cannot grow while it is written. */
const MOST_COLUMNS = 500;
const MOST_ROWS = 10_000;

/** Suffixes of Prometheus' conventions and Tacho's own, the longest first. */
const SUFFIXES = (Object.entries(units) as [Unit, (typeof units)[Unit]][])
  .filter(([, facts]) => facts.suffix !== '' && facts.suffix !== 'time')
  .sort(([, a], [, b]) => b.suffix.length - a.suffix.length);

export function unitOf(metric: string): Unit {
  const name = metric.replace(/_total$/, '');
  return SUFFIXES.find(([, { suffix }]) => name === suffix || name.endsWith(`_${suffix}`))?.[0] ?? 'count';
}

/** The table of what a command printed first: labels are keys, metrics are columns. */
export function tableOf(name: string, help: string, samples: readonly LooseSample[]): Table {
  const keys = new Set<string>();
  const columns = new Map<string, Column>();
  for (const { metric, labels, kind, help: helpText } of samples) {
    for (const label of Object.keys(labels)) keys.add(label);
    const column = columnName(metric);
    if (columns.has(column)) continue;
    columns.set(column, {
      name: column,
      type: 'float',
      unit: unitOf(metric),
      kind,
      help: helpText || `${metric}.`,
      exact: true,
    });
  }
  if (columns.size === 0) throw new CustomFailure('printed no metric');
  if (columns.size > MOST_COLUMNS)
    throw new CustomFailure(`printed ${columns.size} metrics; at most ${MOST_COLUMNS} fit a table`);
  const clash = [...keys].find((key) => columns.has(key));
  if (clash !== undefined) throw new CustomFailure(`uses ${clash} both as a label and as a metric`);
  return {
    name,
    help,
    scope: 'node',
    keys: [...keys].sort().map((key) => ({ name: keyName(key), help: `Label ${key}.` })),
    columns: [...columns.values()],
  };
}

/** Every table's files have these already: when, and in which folder. */
const RESERVED = new Set(['time', 'node']);
const keyName = (label: string): string => (RESERVED.has(label) ? `${label}_label` : label);
const columnName = (metric: string): string => (RESERVED.has(metric) ? `${metric}_value` : metric);

/** Puts samples into rows, one for each set of labels. Returns what had no place. */
export function fillFrame(frame: Frame, samples: readonly LooseSample[]): string[] {
  const keys = frame.table.keys.map((key) => key.name);
  const rows = new Map<string, number>();
  const strange = new Set<string>();
  for (const { metric, labels, value } of samples) {
    const at = frame.indexes[frame.table.columns.findIndex((column) => column.name === columnName(metric))];
    if (at === undefined) {
      strange.add(metric);
      continue;
    }
    const unknown = Object.keys(labels).find((label) => !keys.includes(keyName(label)));
    if (unknown !== undefined) {
      strange.add(`${metric}{${unknown}}`);
      continue;
    }
    const keyValues = keys.map(() => '');
    for (const [label, word] of Object.entries(labels)) keyValues[keys.indexOf(keyName(label))] = word;
    const id = JSON.stringify(keyValues);
    let row = rows.get(id);
    if (row === undefined) {
      if (rows.size >= MOST_ROWS) throw new CustomFailure(`printed more than ${MOST_ROWS} sets of labels`);
      row = frame.row();
      rows.set(id, row);
      for (const [i, word] of keyValues.entries()) frame.texts[row * frame.textWidth + i] = word;
    }
    frame.numbers[row * frame.numberWidth + at] = value;
  }
  return [...strange];
}
