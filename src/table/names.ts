import type { Column, Table } from './table.ts';
import { units } from './unit.ts';

const legal = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]+/g, '_').replaceAll(/^_+|_+$/g, '');

/**
 * The name that Prometheus sees: `tacho_<table>_<column in the base unit>`, with `_total` when it only grows.
 * `time_ms` of `disk`, a counter, is `tacho_disk_time_seconds_total`; texts are labels of `tacho_<table>_info`.
 */
export function prometheusName(table: Table, column: Column): string {
  if (column.type === 'text') return `tacho_${legal(table.name)}_info`;
  const { suffix, base } = units[column.unit];
  let stem = column.name;
  if (suffix !== '' && stem === suffix) stem = '';
  else if (suffix !== '' && stem.endsWith(`_${suffix}`)) stem = stem.slice(0, -suffix.length - 1);
  const words = ['tacho', legal(table.name), legal(stem), base];
  if (column.kind === 'counter') words.push('total');
  return words.filter((word) => word !== '').join('_');
}

/** value in the file × factor = value that Prometheus sees */
export function prometheusFactor(column: Column): number {
  return units[column.unit].factor;
}
