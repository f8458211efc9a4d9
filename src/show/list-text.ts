import { formatDuration } from '../base/duration.ts';
import { formatMoment } from '../base/moment.ts';
import { formatBytes } from '../base/size.ts';
import type { Listed } from '../recording/list.ts';
import { printable, type TextColumn, textTable, textWidth } from './text-table.ts';

/**
 * Paths are last, because they may be long, and always whole: they are what one types next. They have the job's id in them,
 * which goes before who it was and how large.
 */
const COLUMNS: readonly TextColumn[] = [
  { head: 'job', spare: 4, middle: true },
  { head: 'name', spare: 5, shrinks: true },
  { head: 'user', spare: 1 },
  { head: 'began' },
  { head: 'lasted', align: 'right', spare: 6 },
  { head: 'ended', spare: 3 },
  { head: 'nodes', align: 'right', spare: 7 },
  { head: 'size', align: 'right', spare: 2 },
  { head: 'state' },
  { head: 'recording', whole: true },
];

/** Recordings for people, one a line. A terminal's `width` shortens names and leaves out what matters less. */
export function listText(found: readonly Listed[], width?: number, now = Date.now() * 1000): string {
  const rows = found.map((each) => [
    each.restart === undefined ? each.job : `${each.job}r${each.restart}`,
    each.name,
    each.user,
    each.start === undefined ? 'unknown' : began(each.start, width),
    each.start === undefined ? '' : lasted(each, now),
    // the same word as in the title of its report
    each.job_state === 'running' ? '' : each.job_state.replaceAll('_', ' ').toUpperCase(),
    String(each.nodes),
    each.bytes === undefined ? '' : formatBytes(each.bytes),
    each.state,
    each.path,
  ]);
  const lines = textTable(COLUMNS, rows, width);
  if (width === undefined || lines.every((line) => textWidth(line) <= width)) return `${lines.join('\n')}\n`;
  // a path that does not fit beside the rest stands below it, whole
  const [heads, ...short] = textTable(COLUMNS.slice(0, -1), rows, width);
  return `${[heads, ...short.flatMap((line, i) => [line, `  ${printable(found[i]!.path)}`])].join('\n')}\n`;
}

/** When a job began; on a narrow page without seconds and zone. */
export function began(start: number, width = Number.POSITIVE_INFINITY): string {
  const text = formatMoment(start);
  return width < 120 ? text.slice(0, 'YYYY-MM-DD HH:MM'.length) : text;
}

function lasted(each: Listed, now: number): string {
  if (each.end === undefined && each.state !== 'running') return 'unknown';
  return formatDuration(Math.max(0, (each.end ?? now) - each.start!) / 1e6);
}
