import { listed, percent } from '../../base/readable.ts';
import { cpuTable, pressureTable } from '../../sources/tables.ts';
import type { Evidence, NodeReport } from '../report-schema.ts';
import { weightedMean } from '../use/recorded-time.ts';
import { high, medium } from './shared/confidence.ts';
import { pressureFrom, shown } from './shared/evidence.ts';
import { FILE_WORK, hasNoIo } from './shared/file-work.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'io-wait',
  title: 'I/O wait',
  help: 'Tasks waited for I/O in a fifth of the time (pressure), or CPUs were in I/O wait for a tenth of the allocation; in both cases for at least three seconds. Where only the whole node was measured, a job whose own processes did next to no I/O is left out.',
  kind: 'trouble',
  order: 540,
  needs: [
    {
      what: 'I/O pressure or I/O wait',
      columns: [pressureTable.col.some_total_us, cpuTable.col.iowait_ms],
      has: ({ nodes }) => nodes.some((n) => n.pressure_io !== undefined || n.iowait !== undefined),
      otherwise: { unmeasurable: 'neither I/O pressure nor I/O wait was recorded' },
    },
  ],
  thresholds: {
    ...FILE_WORK,
    /** Share of the job’s CPUs that were idle while they waited for a disk. */
    iowait: 0.1,
    /** Seconds of waiting in total. */
    seconds: 3,
  },
  when({ nodes }, limits) {
    const { pressure_io, iowait, seconds } = limits;
    const held = nodes.filter((n) => {
      const isLong = (share: number): boolean => share * (n.recorded_seconds ?? 0) >= seconds;
      const [pressed, waiting] = [n.pressure_io ?? 0, waitingCpus(n)];
      return (pressed >= pressure_io && isLong(pressed)) || (waiting >= iowait && isLong(waiting));
    });
    const waiting = held.filter((n) => !hasNoIo(n, limits));
    if (held.length > 0 && waiting.length === 0)
      return { skipped: 'the job’s own processes did next to no I/O: others on the node waited for it' };
    return waiting.length === 0 ? [] : [waiting];
  },
  severity: 'advice',
  say(waiting) {
    const most = weightedMean(waiting.map((n) => [n.pressure_io ?? waitingCpus(n), n.recorded_seconds]));
    return `I/O wait took ${percent(most)} of the time on ${listed(waiting.map((n) => n.node))}`;
  },
  evidence: (waiting, _, { pressure_io }) => shown(waiting).flatMap((n) => evidenceOf(n, pressure_io)),
  advise:
    'Read and write larger pieces, keep small or often-read files on a local disk, and write checkpoints less often or in the background.',
  confidence: (waiting) =>
    waiting.every((n) => n.pressure_scope === 'job')
      ? high('measured in the job’s own cgroup')
      : medium('measured for the whole node, also for others on it'),
});

function evidenceOf(n: NodeReport, threshold: number): Evidence[] {
  const evidence: Evidence[] = [];
  if (n.pressure_io !== undefined)
    evidence.push({
      text: `${n.node}: tasks waited for I/O ${percent(n.pressure_io)} of the time`,
      from: pressureFrom(n),
      node: n.node,
      value: n.pressure_io,
      threshold,
    });
  if (n.iowait !== undefined)
    evidence.push({
      text: `${n.node}: I/O wait ${percent(n.iowait)}`,
      from: named(cpuTable.col.iowait_ms),
      node: n.node,
      value: n.iowait,
    });
  return evidence;
}

function waitingCpus(n: NodeReport): number {
  if (n.iowait === undefined || n.node_cpus === undefined) return 0;
  return (n.iowait * n.node_cpus) / Math.max(1, n.cpus ?? n.node_cpus);
}
