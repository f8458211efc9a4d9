import { line } from '../../base/csv.ts';
import { formatDuration } from '../../base/duration.ts';
import { formatBytes } from '../../base/size.ts';
import { figure } from '../../base/words.ts';
import type { PrefixUse } from '../../query/dask/prefixes.ts';
import { paint } from '../terminal/paint.ts';
import { textTable } from '../terminal/text-table.ts';

const COLUMNS = [
  { head: 'prefix', most: 28, shrinks: true },
  { head: 'tasks', align: 'right' },
  { head: 'failed', align: 'right', spare: 2 },
  { head: 'again', align: 'right', spare: 4 },
  { head: 'time', align: 'right' },
  { head: 'median', align: 'right' },
  { head: 'longest', align: 'right', spare: 5 },
  { head: 'transfer', align: 'right', spare: 6 },
  { head: 'CPU', align: 'right' },
  { head: 'memory', align: 'right', spare: 1 },
  { head: 'GPU', align: 'right', spare: 3 },
  { head: 'shared', align: 'right' },
] as const;

const seconds = (value: number | undefined): string => (value === undefined ? '-' : formatDuration(value));
const bytes = (value: number | undefined): string => (value === undefined ? '-' : formatBytes(value));
const percent = (value: number | undefined): string => (value === undefined ? '-' : `${Math.round(value)} %`);

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
    seconds(use.cpu_seconds),
    bytes(use.memory_peak_bytes),
    percent(use.gpu_mean_percent),
    percent(100 * use.shared),
  ]);
  const [heads, ...lines] = textTable(COLUMNS, rows, width);
  const hidden = prefixes.length - shown.length;
  const more = hidden > 0 ? [`${hidden} more; --limit 0 shows all`] : [];
  return `${[paint(process.stdout).dim(heads!), ...lines, ...more].join('\n')}\n`;
}

const FIELDS = [
  ...(['prefix', 'tasks', 'erred', 'lost', 'recomputed', 'seconds', 'mean_seconds', 'median_seconds'] as const),
  ...(['max_seconds', 'transfer_seconds', 'disk_seconds', 'bytes', 'cpu_seconds', 'memory_peak_bytes'] as const),
  ...(['memory_mean_bytes', 'gpu_peak_percent', 'gpu_mean_percent', 'gpu_memory_peak_bytes', 'shared'] as const),
];

export const prefixCsv = (prefixes: readonly PrefixUse[]): string =>
  [line(FIELDS), ...prefixes.map((use) => line(FIELDS.map((field) => String(use[field] ?? ''))))].join('');
