import { basename, relative } from 'node:path';
import { formatDuration } from '../../base/duration.ts';
import { energy, figure, percent } from '../../base/readable.ts';
import type { Report } from '../../judge/report-schema.ts';
import { title } from './head.ts';
import type { Rows } from './rows.ts';

/** What the table of several jobs says of one. */
export interface JobRow {
  title: string;
  /** The title without an id that the folder's name ends with. */
  name: string;
  recording: string;
  /** The folder as one would type it here. */
  path: string;
  cells: string[];
}

export function jobRow(report: Report): JobRow {
  const { summary: s, job, findings } = report;
  const memory =
    s.memory_peak_bytes === undefined || s.memory_limit_bytes === undefined
      ? undefined
      : s.memory_peak_bytes / s.memory_limit_bytes;
  return {
    title: title(report),
    name: nameBeside(report),
    recording: basename(report.recording),
    path: typed(report.recording),
    cells: [
      job.state.replaceAll('_', ' '),
      formatDuration(s.wall_seconds),
      figure(s.nodes),
      percent(s.cpu_utilization),
      percent(memory),
      percent(s.gpu_utilization),
      energy(s.energy_joules),
      figure(findings.filter((f) => f.severity !== 'info').length),
    ],
  };
}

function nameBeside(report: Report): string {
  const [whole, id] = [title(report), report.job.id];
  if (id === '' || !basename(report.recording).endsWith(id)) return whole;
  return whole === id ? '' : whole.startsWith(`${id} `) ? whole.slice(id.length + 1) : whole;
}

const typed = (folder: string): string => {
  const here = relative('', folder);
  return here === '' || here.length > folder.length ? folder : here;
};

/** More jobs than this have a table only, unless all is asked for. */
export const MOST_CARDS = 3;

/** Many jobs in one table. What one types next, to see one of them, is never cut. */
export function manyRows(jobs: readonly JobRow[]): Rows {
  return {
    columns: [
      { head: 'recording', whole: true },
      { head: 'job', most: 40, shrinks: true, command: true, spare: 1.5 },
      { head: 'state', spare: 1 },
      { head: 'ran', align: 'right' },
      { head: 'nodes', align: 'right', spare: 4 },
      { head: 'CPU', align: 'right' },
      { head: 'memory', align: 'right', spare: 2 },
      { head: 'GPU', align: 'right', spare: 3 },
      { head: 'energy', align: 'right', spare: 5 },
      { head: 'findings', align: 'right' },
    ],
    rows: jobs.map(({ name, path, cells }) => [path, name, ...cells]),
  };
}

/** Several jobs in one table, before their cards. */
export function severalRows(jobs: readonly JobRow[]): Rows {
  const alike = new Set(jobs.map((job) => job.title)).size < jobs.length;
  return {
    columns: [
      { head: 'job', most: 32, shrinks: true, middle: true },
      // jobs that look the same are told apart by their folders
      ...(alike ? [{ head: 'recording', most: 32, shrinks: true, middle: true }] : []),
      { head: 'state' },
      { head: 'ran', align: 'right' },
      { head: 'nodes', align: 'right', spare: 1 },
      { head: 'CPU', align: 'right' },
      { head: 'memory', align: 'right' },
      { head: 'GPU', align: 'right' },
      { head: 'energy', align: 'right', spare: 2 },
      { head: 'findings', align: 'right' },
    ],
    rows: jobs.map(({ title, recording, cells }) => [title, ...(alike ? [recording] : []), ...cells]),
  };
}
