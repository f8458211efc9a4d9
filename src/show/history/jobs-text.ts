import { formatDuration } from '../../base/duration.ts';
import { figure } from '../../base/figure.ts';
import { formatMoment } from '../../base/moment.ts';
import { formatBytes } from '../../base/size.ts';
import type { JobSums } from '../../history/ask/job-sums.ts';
import { jobsTable } from '../../history/tables/jobs.ts';
import type { JobSummary } from '../../history/tables/summary.ts';
import { byName } from '../../table/table.ts';
import type { Unit } from '../../table/unit.ts';
import { type TextColumn, textTable } from '../terminal/text-table.ts';

export const shareText = (share: number | undefined): string =>
  share === undefined ? '-' : `${Math.round(share * 100)} %`;
export const hoursText = (hours: number | undefined): string => (hours === undefined ? '-' : thousands(hours));
const durationText = (seconds: number | undefined): string => (seconds === undefined ? '-' : formatDuration(seconds));
const bytesText = (bytes: number | undefined): string => (bytes === undefined ? '-' : formatBytes(bytes));

/** 1,024; below ten with a digit more. */
export function thousands(value: number): string {
  if (value === 0) return '0';
  if (Math.abs(value) < 10) return figure(value);
  return Math.round(value).toLocaleString('en-US');
}

/** Minutes are enough in a list. 0: accounting does not say when. */
export const whenText = (moment: number | undefined): string =>
  moment === undefined || moment === 0 ? '-' : formatMoment(moment).slice(0, 'YYYY-MM-DD HH:MM'.length);

/** The columns of jobs that their usual list shows. */
export const JOB_LIST_COLUMNS = [
  'job',
  'user',
  'name',
  'program',
  'state',
  'origin',
  'time',
  'wall_seconds',
  'nodes',
  'cpus',
  'cpu_use',
  'memory_use',
  'gpus',
  'gpu_use',
  'core_hours',
  'core_hours_wasted',
  'findings',
] as const satisfies (keyof JobSummary)[];

/** Jobs for people, one a line; columns that no job has a value of are left out, and what can be spared on a narrow terminal. */
export function jobsText(jobs: readonly Pick<JobSummary, (typeof JOB_LIST_COLUMNS)[number]>[], width?: number): string {
  const columns: TextColumn[] = [
    { head: 'job', middle: true },
    { head: 'user' },
    { head: 'name', shrinks: true, most: 24, spare: 2 },
    { head: 'program', most: 20, spare: 4 },
    { head: 'state' },
    { head: 'from' },
    { head: 'start', spare: 3 },
    { head: 'elapsed', align: 'right' },
    { head: 'nodes', align: 'right', spare: 6 },
    { head: 'CPUs', align: 'right', spare: 5 },
    { head: 'CPU', align: 'right' },
    { head: 'memory', align: 'right' },
    { head: 'GPUs', align: 'right', spare: 5 },
    { head: 'GPU', align: 'right' },
    { head: 'core-h', align: 'right' },
    { head: 'unused', align: 'right', spare: 7 },
    { head: 'findings', shrinks: true, most: 40, spare: 1 },
  ];
  const rows = jobs.map((job) => [
    job.job,
    job.user,
    job.name ?? '-',
    job.program ?? '-',
    job.state ?? '-',
    job.origin === undefined || job.origin === 'recorded' ? '-' : job.origin,
    whenText(job.time),
    durationText(job.wall_seconds),
    figure(job.nodes),
    figure(job.cpus),
    shareText(job.cpu_use),
    shareText(job.memory_use),
    job.gpus === undefined ? '-' : String(job.gpus),
    shareText(job.gpu_use),
    hoursText(job.core_hours),
    hoursText(job.core_hours_wasted),
    job.findings?.replaceAll(',', ' ') ?? '-',
  ]);
  return `${textTable(columns, rows, width).join('\n')}\n`;
}

const defined = byName(jobsTable.columns);

/** Chosen columns, in the order in which they were chosen. */
export function jobColumnsText(jobs: readonly JobSummary[], names: readonly string[], width?: number): string {
  const columns = names.map((name): TextColumn => {
    const type = defined.get(name as never)?.type;
    return { head: name, ...(type === 'text' || type === undefined ? { most: 60 } : { align: 'right' as const }) };
  });
  const rows = jobs.map((job) =>
    names.map((name) =>
      cellText(job[name as keyof JobSummary], name === 'time' ? 'epoch' : defined.get(name as never)?.unit),
    ),
  );
  return `${textTable(columns, rows, width).join('\n')}\n`;
}

function cellText(value: string | number | undefined, unit: Unit | undefined): string {
  if (value === undefined || value === '') return '-';
  if (typeof value === 'string') return value;
  if (unit === 'epoch') return whenText(value);
  if (unit === 'bytes') return formatBytes(value);
  if (unit === 'seconds') return formatDuration(value);
  if (unit === 'share') return shareText(value);
  return thousands(value);
}

export function sumsText(sums: readonly JobSums[], by: string, width?: number): string {
  const columns: TextColumn[] = [
    { head: by, shrinks: true },
    { head: 'jobs', align: 'right' },
    { head: 'failed', align: 'right' },
    { head: 'of accounting', align: 'right', spare: 4 },
    { head: 'core-hours', align: 'right' },
    { head: 'CPU', align: 'right' },
    { head: 'unused', align: 'right' },
    { head: 'GPU-hours', align: 'right' },
    { head: 'GPU', align: 'right' },
    { head: 'memory at most', align: 'right', spare: 2 },
    { head: 'kWh', align: 'right', spare: 3 },
    { head: 'mean wait', align: 'right', spare: 1 },
  ];
  const rows = sums.map((sum) => [
    sum.group === '' ? '(none)' : sum.group,
    sum.jobs.toLocaleString('en-US'),
    String(sum.failed),
    sum.accounted === undefined ? '-' : sum.accounted.toLocaleString('en-US'),
    hoursText(sum.core_hours),
    shareText(sum.cpu_use),
    hoursText(sum.core_hours_wasted),
    hoursText(sum.gpu_hours),
    shareText(sum.gpu_use),
    bytesText(sum.memory_peaks_bytes),
    sum.energy_joules === undefined ? '-' : thousands(sum.energy_joules / 3.6e6),
    durationText(sum.wait_seconds),
  ]);
  return `${textTable(columns, rows, width).join('\n')}\n`;
}
