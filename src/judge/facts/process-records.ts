import type { Material } from '../../query/material.ts';
import { operationsOf } from '../../query/processes/operations.ts';
import { hasFailed } from '../../query/processes/set.ts';
import type { NodeReport, OperationReport, RecordsReport } from '../report-schema.ts';

/** undefined when processes were not to record themselves. */
export function recordsOf({ processes }: Material, nodes: readonly NodeReport[]): RecordsReport | undefined {
  if (processes === undefined) return undefined;
  const recordsReport: RecordsReport = {
    records: 0,
    starts: 0,
    samples: 0,
    by_parent: 0,
    threads: 0,
    failed: 0,
    cpu_seconds: 0,
    sampled_cpu_seconds: 0,
  };
  for (let i = 0; i < processes.length; i++) {
    const source = processes.source[i];
    const spent = (processes.cpu_time[i]! || 0) / 1e6;
    if (source === 'record') recordsReport.threads += processes.threads[i]! || 0;
    if (source === 'parent') recordsReport.by_parent++;
    if (source === 'record' || source === 'parent') {
      recordsReport.records++;
      recordsReport.cpu_seconds += spent;
      if (hasFailed(processes, i)) recordsReport.failed++;
    } else {
      recordsReport[source === 'start' ? 'starts' : 'samples']++;
      recordsReport.sampled_cpu_seconds += spent;
    }
  }
  const counted = nodes.filter((node) => node.status !== 'never recorded');
  const isExact = counted.every((node) => node.cpu_source === 'cgroup' || node.cpu_source === 'wait4');
  const whole = counted.reduce((sum, node) => sum + (node.cpu_seconds ?? 0), 0);
  // sums in another order differ in their last digits
  const lost = Math.round((whole - recordsReport.cpu_seconds) * 1e6) / 1e6;
  if (isExact && whole > 0) recordsReport.unexplained = Math.max(0, lost / whole);
  return recordsReport;
}

/** Number of operations in a report. */
const MOST = 20;

/** The operations that took longest; those without the tag are none. */
export function operationReports({ processes }: Material): OperationReport[] | undefined {
  if (processes === undefined) return undefined;
  const operations = operationsOf(processes)
    .filter(({ name }) => name !== '')
    .sort((a, b) => b.duration - a.duration)
    .slice(0, MOST);
  if (operations.length === 0) return undefined;
  return operations.map((one) => ({
    name: one.name,
    processes: one.processes,
    ...(Number.isNaN(one.threads) ? {} : { threads: one.threads }),
    cpu_seconds: one.cpu_time / 1e6,
    ...(Number.isFinite(one.cpu_share) ? { cpu_share: one.cpu_share } : {}),
    seconds: one.duration / 1e6,
    runs: one.runs.length,
    seconds_sum: one.duration_sum / 1e6,
    seconds_span: one.duration_span / 1e6,
    ...(Number.isFinite(one.time_share) ? { time_share: one.time_share } : {}),
  }));
}
