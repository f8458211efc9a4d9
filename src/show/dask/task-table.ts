import { line } from '../../base/csv.ts';
import { type TaskRow, taskUse } from '../../query/dask/task-list.ts';
import { seconds, shownTable, USED_COLUMNS, USED_FIELDS, usedCells } from './used-columns.ts';

const COLUMNS = [
  { head: 'task', most: 44, shrinks: true },
  { head: 'worker', most: 24, shrinks: true },
  { head: 'outcome', spare: 2 },
  { head: 'time', align: 'right' },
  { head: 'transfer', align: 'right', spare: 6 },
  ...USED_COLUMNS,
] as const;

/** Tasks in columns. */
export function taskTable(all: readonly TaskRow[], limit: number, width: number): string {
  const shown = limit === 0 ? all : all.slice(0, limit);
  const rows = shown
    .map(taskUse)
    .map((use) => [
      use.key,
      use.name === '' ? use.worker : use.name,
      use.outcome,
      seconds(use.seconds),
      seconds(use.transfer_seconds),
      ...usedCells(use),
    ]);
  return shownTable(COLUMNS, rows, all.length - shown.length, width);
}

const FIELDS = [
  ...(['key', 'prefix', 'worker', 'name', 'thread', 'job', 'dag', 'outcome', 'error', 'start', 'stop'] as const),
  ...(['seconds', 'transfer_seconds', 'disk_seconds', 'bytes', ...USED_FIELDS] as const),
] as const;

/** Lines, as there may be millions. */
export function* taskCsv(rows: readonly TaskRow[]): Generator<string> {
  yield line(FIELDS);
  for (const row of rows) {
    const use = taskUse(row);
    yield line(FIELDS.map((field) => String(use[field] ?? '')));
  }
}

export function* taskJson(rows: readonly TaskRow[]): Generator<string> {
  if (rows.length === 0) yield '[]';
  for (const [i, row] of rows.entries()) yield `${i === 0 ? '[' : ','}\n${JSON.stringify(taskUse(row))}`;
  if (rows.length > 0) yield '\n]';
  yield '\n';
}
