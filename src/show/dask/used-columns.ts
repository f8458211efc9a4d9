import { formatDuration } from '../../base/duration.ts';
import { figure } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { UsedFigures } from '../../query/dask/task-use.ts';
import { paint } from '../terminal/paint.ts';
import { type TextColumn, textTable } from '../terminal/text-table.ts';

/** What tasks used, as tables of tasks and of prefixes show it. */
export const USED_COLUMNS = [
  { head: 'CPU', align: 'right' },
  { head: 'memory', align: 'right', spare: 1 },
  { head: 'GPU', align: 'right', spare: 3 },
  { head: 'shared', align: 'right' },
] as const;

export const USED_FIELDS = [
  ...(['cpu_seconds', 'cpu_mean_cores', 'cpu_peak_cores', 'memory_peak_bytes', 'memory_mean_bytes'] as const),
  ...(['gpu_peak_percent', 'gpu_mean_percent', 'gpu_memory_peak_bytes', 'shared'] as const),
] as const;

export const seconds = (value: number | undefined): string => (value === undefined ? '-' : formatDuration(value));
const bytes = (value: number | undefined): string => (value === undefined ? '-' : formatBytes(value));
const percent = (value: number | undefined): string => (value === undefined ? '-' : `${Math.round(value)} %`);

export const usedCells = (use: UsedFigures & { shared: number }): string[] => [
  seconds(use.cpu_seconds),
  bytes(use.memory_peak_bytes),
  percent(use.gpu_mean_percent),
  percent(100 * use.shared),
];

/** The table, and how many rows were left out of it. */
export function shownTable(columns: readonly TextColumn[], rows: string[][], hidden: number, width: number): string {
  const [heads, ...lines] = textTable(columns, rows, width);
  const more = hidden > 0 ? [`${figure(hidden)} more; --limit 0 shows all`] : [];
  return `${[paint(process.stdout).dim(heads!), ...lines, ...more].join('\n')}\n`;
}
