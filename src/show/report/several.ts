import { basename } from 'node:path';
import { formatDuration } from '../../base/duration.ts';
import { energy, percent } from '../../base/words.ts';
import type { Report } from '../../judge/report-schema.ts';
import { title } from './head.ts';
import type { Rows } from './rows.ts';

/** Several jobs in one table, before their cards. */
export function severalRows(reports: readonly Report[]): Rows {
  const titles = reports.map(title);
  const alike = new Set(titles).size < titles.length;
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
    rows: reports.map((r, i) => {
      const { summary: s } = r;
      const memory =
        s.memory_peak_bytes === undefined || s.memory_limit_bytes === undefined
          ? undefined
          : s.memory_peak_bytes / s.memory_limit_bytes;
      return [
        titles[i]!,
        ...(alike ? [basename(r.recording)] : []),
        r.job.state.replaceAll('_', ' '),
        formatDuration(s.wall_seconds),
        String(s.nodes),
        percent(s.cpu_utilization),
        percent(memory),
        percent(s.gpu_utilization),
        energy(s.energy_joules),
        String(r.findings.filter((f) => f.severity !== 'info').length),
      ];
    }),
  };
}
