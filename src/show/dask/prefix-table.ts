import { line } from '../../base/csv.ts';
import { figure } from '../../base/readable.ts';
import type { PrefixUse } from '../../query/dask/prefixes.ts';
import { seconds, shownTable, USED_COLUMNS, USED_FIELDS, usedCells } from './used-columns.ts';

const COLUMNS = [
  { head: 'prefix', most: 28, shrinks: true },
  { head: 'tasks', align: 'right' },
  { head: 'failed', align: 'right', spare: 2 },
  { head: 'again', align: 'right', spare: 4 },
  { head: 'time', align: 'right' },
  { head: 'median', align: 'right' },
  { head: 'longest', align: 'right', spare: 5 },
  { head: 'transfer', align: 'right', spare: 6 },
  ...USED_COLUMNS,
] as const;

/** The prefixes in columns. */
export function prefixTable(prefixes: readonly PrefixUse[], limit: number, width: number): string {
  const shown = limit === 0 ? prefixes : prefixes.slice(0, limit);
  const rows = shown.map((use) => [
    use.prefix,
    figure(use.tasks),
    use.erred + use.lost === 0 ? '' : figure(use.erred + use.lost),
    use.recomputed === 0 ? '' : figure(use.recomputed),
    seconds(use.seconds),
    seconds(use.median_seconds),
    seconds(use.max_seconds),
    seconds(use.transfer_seconds),
    ...usedCells(use),
  ]);
  return shownTable(COLUMNS, rows, prefixes.length - shown.length, width);
}

const FIELDS = [
  ...(['prefix', 'tasks', 'erred', 'lost', 'recomputed', 'seconds', 'mean_seconds', 'median_seconds'] as const),
  ...(['max_seconds', 'transfer_seconds', 'disk_seconds', 'bytes', ...USED_FIELDS] as const),
] as const;

export const prefixCsv = (prefixes: readonly PrefixUse[]): string =>
  [line(FIELDS), ...prefixes.map((use) => line(FIELDS.map((field) => String(use[field] ?? ''))))].join('');
