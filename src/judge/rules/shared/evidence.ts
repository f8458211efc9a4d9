import { formatDuration } from '../../../base/duration.ts';
import { count, figure } from '../../../base/readable.ts';
import { cgroupTable, cpuTable, pressureTable, processEndTable, processTable } from '../../../sources/tables.ts';
import type { Evidence, Facts, NodeReport } from '../../report-schema.ts';
import { weightedMean } from '../../use/recorded-time.ts';
import { named } from './rule.ts';

/** Number of nodes, cards or processes that a finding shows. */
const MOST = 8;

export const shown = <T>(all: readonly T[], most = MOST): T[] => all.slice(0, most);

const CPU_FROM = {
  wait4: 'wait4',
  cgroup: named(cgroupTable.col.usage_us),
  records: processEndTable.name,
  'records and samples': `${processEndTable.name}, ${processTable.name}`,
  processes: processTable.name,
  node: named(cpuTable.col.busy_ms),
};

/** Where the job's CPU time comes from. */
export const cpuFrom = ({ summary }: Facts): string => CPU_FROM[summary.cpu_source ?? 'node'];

/** Waiting in the job's own cgroup, or on the whole node. */
export const pressureFrom = (n: NodeReport): string =>
  n.pressure_scope === 'job' ? 'cgroup (stalled)' : named(pressureTable.col.some_total_us);

/** So little of the time was seen that it must be said. */
const SEEN = 0.9;

/** The process that used most CPU time: what the job’s CPUs did is mostly its doing. */
export function busiestEvidence({ processes }: Facts): Evidence[] {
  const [busiest] = processes.toSorted((a, b) => (b.cpu_seconds ?? 0) - (a.cpu_seconds ?? 0));
  if (busiest?.cpu_seconds === undefined) return [];
  const { node, command = '', pid, cpu_seconds, threads_max: threads } = busiest;
  const program = command.split(' ')[0]!.replace(/.*\//, '') || 'a process';
  const most = threads === undefined ? '' : `, ${count(threads, 'thread')} at most`;
  const text = `${node}: ${program} (pid ${pid}) used most CPU time: ${formatDuration(cpu_seconds)}${most}`;
  return [{ text, from: named(processTable.col.user_ms, processTable.col.system_ms), node, value: cpu_seconds }];
}

/** CPUs that stood idle while somebody looked. */
export function idleHours({ nodes, summary }: Facts, cpus: number): Evidence {
  const windowSeconds = weightedMean(nodes.map((n) => [n.cpu_window_seconds, n.cpus])) ?? 0;
  const note = windowSeconds < SEEN * summary.wall_seconds ? ' in the time that was recorded' : '';
  const hours = (cpus * windowSeconds * (1 - summary.cpu_utilization!)) / 3600;
  return { text: `${figure(hours)} core-hours idle${note}`, from: 'job.json' };
}
