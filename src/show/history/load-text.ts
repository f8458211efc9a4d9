import { formatDuration } from '../../base/duration.ts';
import { figure } from '../../base/figure.ts';
import { formatBytes } from '../../base/size.ts';
import type { LoadRow } from '../../history/ask/load.ts';
import type { UptimeSpan } from '../../history/ask/uptime.ts';
import { type TextColumn, textTable } from '../terminal/text-table.ts';
import { shareText, thousands, whenText } from './jobs-text.ts';

const bytes = (value: number | undefined): string => (value === undefined ? '-' : formatBytes(value));

/** What nodes did, for people. */
export function loadText(rows: readonly LoadRow[], width?: number): string {
  const columns: TextColumn[] = [
    { head: 'from', whole: true },
    { head: 'cluster', spare: 5 },
    { head: 'node' },
    { head: 'recorded', align: 'right', spare: 4 },
    { head: 'CPUs', align: 'right', spare: 3 },
    { head: 'CPU', align: 'right' },
    { head: 'given', align: 'right', spare: 2 },
    { head: 'load', align: 'right' },
    { head: 'memory', align: 'right' },
    { head: '', align: 'right', spare: 1 },
    { head: 'GPUs', align: 'right' },
    { head: 'GPU', align: 'right' },
    { head: 'GPU memory', align: 'right', spare: 2 },
    { head: 'lost GPUs', align: 'right' },
    { head: 'kWh', align: 'right', spare: 3 },
    { head: 'jobs', align: 'right' },
  ];
  const cells = rows.map((row) => [
    whenText(row.time),
    row.cluster === '' ? '-' : row.cluster,
    row.node,
    formatDuration(row.seconds),
    figure(row.cpus),
    shareText(row.cpu_use),
    row.cpus_allocated === undefined ? '-' : figure(row.cpus_allocated),
    row.load_mean === undefined ? '-' : figure(row.load_mean),
    bytes(row.memory_used_mean_bytes),
    row.memory_used_mean_bytes === undefined || !row.memory_total_bytes
      ? '-'
      : shareText(row.memory_used_mean_bytes / row.memory_total_bytes),
    row.gpus === undefined ? '-' : String(row.gpus),
    shareText(row.gpu_use),
    bytes(row.gpu_memory_used_bytes),
    row.gpus_failed ? String(row.gpus_failed) : '-',
    row.energy_joules === undefined ? '-' : thousands(row.energy_joules / 3.6e6),
    figure(row.jobs),
  ]);
  return `${textTable(columns, cells, width).join('\n')}\n`;
}

export function uptimeText(spans: readonly UptimeSpan[], width?: number): string {
  const columns: TextColumn[] = [
    { head: 'cluster', spare: 1 },
    { head: 'node' },
    { head: 'what' },
    { head: 'state' },
    { head: 'from', whole: true },
    { head: 'to', whole: true },
    { head: 'duration', align: 'right' },
  ];
  const cells = spans.map((span) => [
    span.cluster === '' ? '-' : span.cluster,
    span.node,
    span.what === 'GPUs' ? `${span.failed} of ${span.gpus} GPUs` : span.what,
    span.state,
    whenText(span.start),
    whenText(span.end),
    formatDuration((span.end - span.start) / 1e6),
  ]);
  return `${textTable(columns, cells, width).join('\n')}\n`;
}
