import { formatDuration } from '../../base/duration.ts';
import { formatMoment } from '../../base/moment.ts';
import { figure, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { ColumnKind, ProcessColumn } from '../../query/processes/columns.ts';
import type { ProcessSet } from '../../query/processes/set.ts';

export { cutMiddle } from '../terminal/text-table.ts';

/** A value for people; what is missing is a dash. */
export function cellOf(kind: ColumnKind, value: number): string {
  if (Number.isNaN(value)) return '-';
  switch (kind) {
    case 'microseconds':
      return formatDuration(value / 1e6);
    case 'nanoseconds':
      return formatDuration(value / 1e9);
    case 'ticks':
      return formatDuration(value / 100);
    case 'bytes':
      return formatBytes(value);
    case 'kibibytes':
      return formatBytes(value * 1024);
    case 'moment':
      return formatMoment(value);
    case 'share':
      return percent(value);
    default:
      return figure(value);
  }
}

/** Ids are no quantities: their digits are not grouped. */
const IDS = new Set(['pid', 'ppid', 'pgid', 'sid', 'uid', 'parent', 'exitcode', 'exitsignal', 'processor']);

export function columnCell(column: ProcessColumn, i: number): string {
  if (column.kind === 'text' || IDS.has(column.name)) return column.text(i) || '-';
  return cellOf(column.kind, column.number(i));
}

/** How a process ended, in a word: its exit code, its signal, what came after it, or what is known instead. */
export function endingOf(set: ProcessSet, i: number): string {
  if (set.source[i] === 'sample') return 'sampled';
  if (set.source[i] === 'start') return 'no end';
  if (set.ended[i] === 'exec') return 'exec';
  if (set.exitsignal[i]! > 0) return `signal ${set.exitsignal[i]}`;
  return Number.isNaN(set.exitcode[i]) ? '-' : String(set.exitcode[i]);
}
