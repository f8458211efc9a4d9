import { hasFailed, type ProcessSet } from '../../query/processes/set.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import type { Report } from '../report-schema.ts';

/** What the values of a metric are: it decides how they are written. */
export type MetricKind = 'microseconds' | 'bytes' | 'share' | 'joules' | 'watts' | 'celsius' | 'count';

/** One figure of every job, in their order; undefined where it was not measured. */
export interface MetricRow {
  name: string;
  kind: MetricKind;
  values: (number | undefined)[];
}

type Named = readonly [name: string, kind: MetricKind, value: (report: Report) => number | undefined];

const microseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.round(seconds * 1e6);

const FROM_REPORT: readonly Named[] = [
  ['duration', 'microseconds', (r) => microseconds(r.summary.wall_seconds)],
  ['CPU time', 'microseconds', (r) => microseconds(r.summary.cpu_seconds)],
  ['CPUs', 'count', (r) => r.summary.cpus],
  ['CPU use', 'share', (r) => r.summary.cpu_utilization],
  ['memory peak', 'bytes', (r) => r.summary.memory_peak_bytes],
  ['GPUs', 'count', (r) => r.summary.gpus],
  ['GPU use', 'share', (r) => r.summary.gpu_utilization],
  ['GPU memory peak', 'bytes', (r) => r.summary.gpu_memory_peak_bytes],
  ['GPU power', 'watts', (r) => r.summary.gpu_power_mean_watts],
  ['energy', 'joules', (r) => r.summary.energy_joules],
  ['nodes', 'count', (r) => r.summary.nodes],
  [
    'queue wait',
    'microseconds',
    (r) => (r.job.submit === undefined ? undefined : Math.round(r.job.start - r.job.submit)),
  ],
];

type Summed = readonly [name: string, kind: MetricKind, metric: ProcessMetric, factor: number];

const FROM_PROCESSES: readonly Summed[] = [
  ['user time', 'microseconds', 'usertime', 1],
  ['system time', 'microseconds', 'systemtime', 1],
  ['read by calls', 'bytes', 'rchar', 1],
  ['written by calls', 'bytes', 'wchar', 1],
  ['read from disk', 'bytes', 'read_bytes', 1],
  ['written to disk', 'bytes', 'write_bytes', 1],
  ['major page faults', 'count', 'majflt', 1],
  ['waiting for a CPU', 'microseconds', 'time_waiting', 1e-3],
  ['involuntary switches', 'count', 'invol_ctxsw', 1],
];

/** The figures of the report cards, then sums over processes; those that no job has are left out. */
export function metricRows(reports: readonly Report[], set: ProcessSet | undefined): MetricRow[] {
  const rows: MetricRow[] = FROM_REPORT.map(([name, kind, value]) => ({ name, kind, values: reports.map(value) }));
  const flows = new Set(reports.flatMap((r) => r.flows.map((flow) => flow.what)));
  for (const what of flows) {
    for (const [way, direction] of [
      ['in_bytes', 'in'],
      ['out_bytes', 'out'],
    ] as const) {
      const values = reports.map((r) => r.flows.find((flow) => flow.what === what)?.[way]);
      rows.push({ name: `${what} ${direction}`, kind: 'bytes', values });
    }
  }
  if (set !== undefined) rows.push(...processRows(reports, set));
  return rows.filter(({ values }) => values.some((value) => value !== undefined && value !== 0));
}

function processRows(reports: readonly Report[], set: ProcessSet): MetricRow[] {
  const add = (of: (i: number) => number): (number | undefined)[] => {
    const sums: (number | undefined)[] = reports.map(() => undefined);
    for (let i = 0; i < set.length; i++) {
      const value = of(i);
      if (!Number.isNaN(value)) sums[set.job[i]!] = (sums[set.job[i]!] ?? 0) + value;
    }
    return sums;
  };
  return [
    { name: 'processes', kind: 'count', values: add(() => 1) },
    { name: 'threads', kind: 'count', values: add((i) => set.threads[i]!) },
    { name: 'failed processes', kind: 'count', values: add((i) => Number(hasFailed(set, i))) },
    ...FROM_PROCESSES.flatMap(([name, kind, metric, factor]): MetricRow[] => {
      const column = set.metrics.get(metric);
      if (column === undefined) return [];
      const values = add((i) => column[i]! * factor);
      return [{ name, kind, values: values.map((value) => (value === undefined ? value : Math.round(value))) }];
    }),
  ];
}
