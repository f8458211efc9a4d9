import { figure, listed, percent } from '../../base/readable.ts';
import { loadavgTable, pressureTable } from '../../sources/tables.ts';
import type { Evidence, NodeReport } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { isBound, isOwnCrowd, isThrottled, WAITING, waitEvidence, waitedShare } from './shared/cpu-waiting.ts';
import { pressureFrom, shown } from './shared/evidence.ts';
import { boundEvidence } from './shared/pinned.ts';
import { named, rule, together } from './shared/rule.ts';

const thresholds = {
  full: WAITING.full,
  pressure: WAITING.pressure,
  throttled: WAITING.throttled,
  beyond_bound: WAITING.beyond_bound,
  bound_used: WAITING.bound_used,
  own_crowd: WAITING.own_crowd,
  /** Load per CPU of the node, where the pressure was not recorded. */
  load_per_cpu: 1.5,
};

const isMeasured = (n: NodeReport): boolean => n.pressure_cpu !== undefined || n.load_mean !== undefined;

export default rule({
  id: 'cpu-oversubscribed',
  title: 'more threads than CPUs',
  help: 'The job’s CPUs were nearly all busy, or its threads wanted more CPUs than it has (others’ use not counted). In addition, tasks waited for a CPU in a quarter of the time, or the load was 1.5 times the node’s CPUs. Where only the whole node is known, the job’s own threads must have waited, too.',
  kind: 'trouble',
  order: 440,
  needs: [
    {
      what: 'CPU pressure or load',
      columns: [pressureTable.col.some_total_us, loadavgTable.col.load1],
      has: ({ nodes }) => nodes.some(isMeasured),
      otherwise: { unmeasurable: 'neither CPU pressure nor load was recorded' },
    },
    {
      what: 'the job’s CPU time',
      has: ({ nodes }) => nodes.some((n) => isMeasured(n) && n.cpu_utilization !== undefined),
      otherwise: { unmeasurable: 'the job’s CPU time could not be separated from that of others' },
    },
  ],
  thresholds,
  when({ nodes }, limits) {
    const isBusy = (n: NodeReport): boolean =>
      (n.cpu_utilization ?? 0) >= limits.full || (isOwnCrowd(n, limits) && !isBound(n, limits));
    return together(nodes.filter((n) => isMeasured(n) && isBusy(n) && !isThrottled(n, limits) && isCrowded(n, limits)));
  },
  severity: 'advice',
  say: (crowded) => `More threads wanted to run than there were CPUs on ${listed(crowded.map((n) => n.node))}`,
  evidence: (crowded, facts, limits) =>
    shown(crowded).flatMap((n) => [
      ...evidenceOf(n, limits),
      ...(waitedShare(n) === undefined ? [] : [waitEvidence(n, limits)]),
      ...boundEvidence(facts, n.node),
    ]),
  advise:
    'Start fewer threads: ranks × threads must not exceed the CPUs (set OMP_NUM_THREADS, and the thread counts of BLAS and data loaders).',
  confidence: (crowded) =>
    crowded.every((n) => n.pressure_scope === 'job')
      ? high('measured in the job’s own cgroup')
      : medium('pressure and load are the whole node’s, also those of others'),
});

function isCrowded(n: NodeReport, { pressure, load_per_cpu }: typeof thresholds): boolean {
  // others may crowd a node on which the job has all that it wants
  const waited = waitedShare(n);
  if (n.pressure_scope !== 'job' && waited !== undefined && waited < pressure) return false;
  if (n.pressure_cpu !== undefined) return n.pressure_cpu >= pressure;
  return n.load_mean !== undefined && n.node_cpus !== undefined && n.load_mean >= load_per_cpu * n.node_cpus;
}

function evidenceOf(n: NodeReport, { pressure, load_per_cpu }: typeof thresholds): Evidence[] {
  const evidence: Evidence[] = [];
  if (n.pressure_cpu !== undefined)
    evidence.push({
      text: `${n.node}: tasks waited for a CPU ${percent(n.pressure_cpu)} of the time`,
      from: pressureFrom(n),
      node: n.node,
      value: n.pressure_cpu,
      threshold: pressure,
    });
  if (n.load_mean !== undefined && n.node_cpus !== undefined)
    evidence.push({
      text: `${n.node}: load ${figure(n.load_mean)} on ${n.node_cpus} CPUs`,
      from: named(loadavgTable.col.load1),
      node: n.node,
      value: n.load_mean,
      threshold: load_per_cpu * n.node_cpus,
    });
  return evidence;
}
