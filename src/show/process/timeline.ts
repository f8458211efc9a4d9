import { formatDuration } from '../../base/duration.ts';
import { greatest } from '../../base/extremes.ts';
import { formatMoment } from '../../base/moment.ts';
import { count } from '../../base/readable.ts';
import { jobLabels } from '../../query/processes/job-labels.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { aliveIn, type TimelineBy, type TimelineRow } from '../../query/processes/timeline.ts';
import { paint } from '../terminal/paint.ts';
import { pad, printable, textWidth } from '../terminal/text-table.ts';
import { cutMiddle } from './cells.ts';
import { listCsv, listJson } from './rows.ts';
import { notesOf, type ProcessTextOptions } from './table.ts';

export interface TimelineTextOptions extends ProcessTextOptions {
  by: TimelineBy;
  /** Rows that are not shown. */
  hidden?: number;
  /** What shows them, too (default: --limit 0). */
  all?: string;
}

const MOST_NAME = 30;

/** From when to when each job is drawn: its own start and end, or its processes' where it does not say. */
function spanOf(set: ProcessSet, rows: readonly TimelineRow[], job: number): [from: number, to: number] {
  const { start, end } = set.jobs[job]!;
  let [from, to] = [start, end];
  for (const row of rows) {
    if (row.job !== job || row.runs.length === 0) continue;
    if (!(row.runs[0]![0] >= from)) from = row.runs[0]![0];
    if (!(row.runs.at(-1)![1] <= to)) to = row.runs.at(-1)![1];
  }
  return [from, to];
}

/**
 * Rows by their start, each with a bar where it went on: `#` is one process, `?` its start when its end
 * is not known, a digit how many at once, `+` ten or more.
 */
export function timelineText(set: ProcessSet, rows: readonly TimelineRow[], options: TimelineTextOptions): string {
  const pen = paint(options.stream ?? {});
  const width = options.width ?? 80;
  const lines: string[] = [];
  const jobs = [...new Set(rows.map((row) => row.job))].sort((a, b) => a - b);
  for (const job of jobs) {
    const own = rows.filter((row) => row.job === job).sort((a, b) => a.runs[0]![0] - b.runs[0]![0]);
    const [from, to] = spanOf(set, own, job);
    const names = own.map((row) => cutMiddle(label(set, row, options.by), MOST_NAME));
    const endless = (row: TimelineRow): boolean => row.members.every((i) => Number.isNaN(set.end[i]!));
    const lasted = own.map((row) => (endless(row) ? 'no end' : formatDuration(row.duration / 1e6)));
    const left = greatest(names.map(textWidth));
    const right = greatest(lasted.map(textWidth));
    const cells = Math.max(10, width - left - right - 4);
    if (jobs.length > 1)
      lines.push(...(lines.length > 0 ? [''] : []), pen.bold(`job ${printable(jobLabels(set.jobs)[job]!)}`));
    lines.push(pen.dim(`${' '.repeat(left + 2)}${scale(to - from, cells)}`.trimEnd()));
    own.forEach((row, k) => {
      const bar = barOf(set, row, from, to, cells, options.by === 'process');
      lines.push(`${pad(names[k]!, left)}  ${bar}  ${pad(lasted[k]!, right, 'right')}`);
    });
    lines.push(pen.dim(`from ${formatMoment(from)}, ${formatDuration((to - from) / 1e6)}`));
  }
  if ((options.hidden ?? 0) > 0)
    lines.push(pen.dim(`${count(options.hidden!, 'more', 'more')}, shorter; ${options.all ?? '--limit 0'} shows all`));
  if (options.by !== 'process') lines.push(pen.dim('digits: processes at once; +: ten or more'));
  for (const note of notesOf(set)) lines.push(pen.dim(note));
  return `${lines.join('\n')}\n`;
}

function label(set: ProcessSet, row: TimelineRow, by: TimelineBy): string {
  return by === 'process' ? printable(`${set.pid[row.members[0]!]} ${row.name}`) : printable(row.name);
}

function barOf(set: ProcessSet, row: TimelineRow, from: number, to: number, cells: number, single: boolean): string {
  const alive = aliveIn(set, row.members, from, to, cells);
  if (single && Number.isNaN(set.end[row.members[0]!])) return Array.from(alive, (n) => (n === 0 ? ' ' : '?')).join('');
  return Array.from(alive, (n) => (n === 0 ? ' ' : single ? '#' : n > 9 ? '+' : String(n))).join('');
}

/** Times after the start, four of them, where they are on the scale. */
function scale(length: number, cells: number): string {
  let line = '';
  for (const fraction of [0, 0.25, 0.5, 0.75]) {
    const text = fraction === 0 ? '|0' : `|${formatDuration((length * fraction) / 1e6)}`;
    const at = Math.floor(fraction * cells);
    if (line.length <= at && at + text.length <= cells) line = line.padEnd(at) + text;
  }
  return line;
}

/** One object a row with its runs, epoch microseconds. */
export function timelineJson(set: ProcessSet, rows: readonly TimelineRow[], by: TimelineBy): string {
  return listJson(
    rows.map((row) => ({
      job: set.jobs[row.job]!.id,
      [by === 'process' ? 'command' : by]: row.name,
      ...(by === 'process' ? { pid: set.pid[row.members[0]!], node: set.node[row.members[0]!] } : {}),
      processes: row.members.length,
      duration: row.duration,
      runs: row.runs,
    })),
  );
}

/** A row a run. */
export function timelineCsv(set: ProcessSet, rows: readonly TimelineRow[], by: TimelineBy): string {
  return listCsv(
    ['job', by, 'pid', 'start', 'end'],
    rows.flatMap((row) =>
      row.runs.map(([start, end]) => [
        set.jobs[row.job]!.id,
        row.name,
        by === 'process' ? set.pid[row.members[0]!]! : '',
        start,
        end,
      ]),
    ),
  );
}
