import { formatDuration } from '../../base/duration.ts';
import { figure } from '../../base/figure.ts';
import type { HogRow } from '../../history/ask/hogs.ts';
import type { WasteRow } from '../../history/ask/waste.ts';
import { ascii, type TextColumn, textTable } from '../terminal/text-table.ts';
import { hoursText, shareText, thousands } from './jobs-text.ts';

const groupText = (group: string): string => (group === '' ? '(none)' : group);

/** What was reserved and not used, for people. */
export function wasteText(rows: readonly WasteRow[], by: string, width?: number): string {
  const columns: TextColumn[] = [
    { head: by, shrinks: true },
    { head: 'user' },
    { head: 'name', most: 24, spare: 2 },
    { head: 'jobs', align: 'right' },
    { head: 'core-hours', align: 'right' },
    { head: 'unused', align: 'right' },
    { head: '', align: 'right' },
    { head: 'GPU-hours', align: 'right' },
    { head: 'unused', align: 'right' },
    { head: 'memory unused', align: 'right', spare: 3 },
    { head: 'not measured', align: 'right', spare: 4 },
    { head: 'jobs of accounting', align: 'right', spare: 5 },
    { head: 'most often', spare: 1 },
  ];
  const cells = rows.map((row) => [
    groupText(row.group),
    row.user ?? '-',
    row.name || '-',
    row.jobs.toLocaleString('en-US'),
    hoursText(row.core_hours),
    hoursText(row.core_hours_wasted),
    row.core_hours_wasted === undefined
      ? '-'
      : shareText(row.core_hours_wasted / (row.core_hours - row.core_hours_unmeasured || 1)),
    hoursText(row.gpu_hours),
    hoursText(row.gpu_hours_wasted),
    row.memory_byte_hours_wasted === undefined ? '-' : `${thousands(row.memory_byte_hours_wasted / 2 ** 30)} GiB-h`,
    row.core_hours_unmeasured === 0 ? '-' : hoursText(row.core_hours_unmeasured),
    row.accounted === undefined ? '-' : row.accounted.toLocaleString('en-US'),
    row.finding ?? '-',
  ]);
  return printable(textTable(columns, cells, width));
}

export function hogsText(rows: readonly HogRow[], by: string, width?: number): string {
  const columns: TextColumn[] = [
    { head: by, shrinks: true },
    { head: 'user' },
    { head: 'jobs', align: 'right' },
    { head: 'nodes', align: 'right' },
    { head: 'core-hours used', align: 'right' },
    { head: 'on full nodes', align: 'right' },
    { head: 'beyond a fair part', align: 'right' },
  ];
  const cells = rows.map((row) => [
    groupText(row.group),
    row.user ?? '-',
    figure(row.jobs),
    figure(row.nodes),
    hoursText(row.core_hours_used),
    formatDuration(row.contended_hours * 3600),
    `${thousands(row.core_hours_hogged)} core-hours`,
  ]);
  return printable(textTable(columns, cells, width));
}

const printable = (lines: readonly string[]): string => {
  const text = `${lines.join('\n')}\n`;
  return process.stdout.isTTY ? text : ascii(text);
};
