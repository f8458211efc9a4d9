import type { Column, Table } from './table.ts';
import { units } from './unit.ts';

const legal = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]+/g, '_').replaceAll(/^_+|_+$/g, '');

/**
 * The name that Prometheus sees: `tacho_<table>_<column in the base unit>`, with `_total` when it only grows.
 * `time_ms` of `disk`, a counter, is `tacho_disk_time_seconds_total`; texts are labels of `tacho_<table>_info`.
 */
export function prometheusName(table: Table, column: Column): string {
  if (column.type === 'text') return infoName(table);
  const { suffix, base } = units[column.unit];
  let stem = column.name;
  if (suffix !== '' && stem === suffix) stem = '';
  else if (suffix !== '' && stem.endsWith(`_${suffix}`)) stem = stem.slice(0, -suffix.length - 1);
  const nameParts = ['tacho', legal(table.name), legal(stem), base];
  if (column.kind === 'counter') nameParts.push('total');
  return nameParts.filter((word) => word !== '').join('_');
}

/** value in the file × factor = value that Prometheus sees */
export function prometheusFactor(column: Column): number {
  return units[column.unit].factor;
}

/** A value in the base unit; dividing by a whole number keeps 1501 ms at 1.501 s, where multiplying would not. */
export function inBaseUnit(value: number, factor: number): number {
  return factor < 1 ? value / Math.round(1 / factor) : value * factor;
}

/** A value in the column's own unit again. */
export function inOwnUnit(value: number, factor: number): number {
  return factor < 1 ? value * Math.round(1 / factor) : value / factor;
}

/** The info metric that has a table's texts as labels. */
export function infoName(table: Table): string {
  return `tacho_${legal(table.name)}_info`;
}

/** Labels that every series may have; a key or text of a table that is called the same gets another name. */
const OWN_LABELS: readonly string[] = ['node', 'job', 'user', 'restart', 'recorded_by'];

/** The label that holds a key or a text column. */
export function labelName(name: string): string {
  const label = legal(name);
  if (OWN_LABELS.includes(label)) return `${label}_key`;
  return /^[0-9]/.test(label) || label === '' ? `key_${label}` : label;
}

/** Texts that change all the time, or hold what only the job's user should read, are no labels. */
export const NO_LABELS: Readonly<Record<string, readonly string[]>> = { process: ['command', 'state', 'allowed_cpus'] };

/** The text columns that are labels of the table's info metric. */
export function labelTexts(table: Table): Column[] {
  return table.columns.filter((c) => c.type === 'text' && NO_LABELS[table.name]?.includes(c.name) !== true);
}

/** One number column as Prometheus sees it. */
export interface Metric {
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  /** The base unit as OpenMetrics wants it: the last word of the name before `_total`; '' = a plain number. */
  readonly unit: string;
  readonly help: string;
  readonly factor: number;
}

/** For each column of the table its metric; undefined for texts. Columns whose names differ only in signs are numbered. */
export function metricsOf(table: Table): (Metric | undefined)[] {
  const taken = new Set<string>();
  /** How far those that would be called the same are numbered. */
  const numbered = new Map<string, number>();
  return table.columns.map((column) => {
    if (column.type === 'text') return undefined;
    let name = prometheusName(table, column);
    const withNumber = (n: number): string =>
      prometheusName(table, { ...column, unit: 'count', name: `${column.name}_${n}` });
    if (taken.has(name)) {
      const first = withNumber(1);
      let n = numbered.get(first) ?? 1;
      do name = withNumber(++n);
      while (taken.has(name));
      numbered.set(first, n);
    }
    taken.add(name);
    const { base, factor } = units[column.unit];
    const unit = base.slice(base.lastIndexOf('_') + 1);
    const type = column.kind === 'counter' ? 'counter' : 'gauge';
    const suffix = type === 'counter' ? `_${unit}_total` : `_${unit}`;
    return { name, type, unit: unit !== '' && name.endsWith(suffix) ? unit : '', help: column.help, factor };
  });
}
