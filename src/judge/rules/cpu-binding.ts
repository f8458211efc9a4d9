import { count, cpusFigure, figure, listed } from '../../base/readable.ts';
import { processTable } from '../../sources/tables.ts';
import type { NodeReport } from '../report-schema.ts';
import { high } from './shared/confidence.ts';
import { hasWaited, isBound, isThrottled, WAITING, waitEvidence, wantedOn } from './shared/cpu-waiting.ts';
import { shown } from './shared/evidence.ts';
import { boundEvidence } from './shared/pinned.ts';
import { named, rule, together } from './shared/rule.ts';

export default rule({
  id: 'cpu-binding',
  title: 'threads bound to too few CPUs',
  help: 'The processes that did the work may run on fewer CPUs than the job has, and their threads waited for those.',
  kind: 'waste',
  order: 410,
  needs: [
    {
      what: 'where processes may run, and how long they waited',
      columns: [processTable.col.allowed_cpus, processTable.col.wait_ms],
      has: ({ nodes }) => nodes.some((n) => n.cpu_wait_seconds !== undefined),
      otherwise: { skipped: 'how long the job’s threads waited for a CPU is not known' },
    },
  ],
  thresholds: WAITING,
  when({ nodes }, limits) {
    const isHeld = (n: NodeReport): boolean =>
      n.cpu_wait_seconds !== undefined && hasWaited(n, limits) && !isThrottled(n, limits) && isBound(n, limits);
    return together(nodes.filter(isHeld));
  },
  severity: 'warning',
  say(bound) {
    const more = bound.length === 1 ? '' : ` on ${listed(bound.map((n) => n.node))}`;
    const { allowed_cpus, cpus } = bound[0]!;
    return `The job’s threads are bound to ${figure(allowed_cpus)} of its ${count(cpus!, 'CPU')}${more}`;
  },
  evidence: (bound, facts, limits) =>
    shown(bound).flatMap((n) => [
      {
        text: `${n.node}: its processes may run on ${count(n.allowed_cpus!, 'CPU')} and wanted ${cpusFigure(wantedOn(n)!)}`,
        from: named(processTable.col.allowed_cpus),
        node: n.node,
        value: n.allowed_cpus!,
        threshold: n.cpus!,
      },
      waitEvidence(n, limits),
      ...boundEvidence(facts, n.node),
    ]),
  advise:
    'Give every thread its own CPU: srun --cpus-per-task (and --cpu-bind=cores), mpirun --bind-to or --map-by with the number of threads, OMP_PROC_BIND and OMP_PLACES, or no taskset.',
  confidence: high('the kernel says where they may run, and counted how long they waited'),
});
