import { smallest } from '../../base/extremes.ts';
import { count, figure, listed, percent } from '../../base/readable.ts';
import type { NodeReport } from '../report-schema.ts';
import { measuredSeconds, UNLIKE_TIMES } from '../use/recorded-time.ts';
import { sampled } from './shared/confidence.ts';
import { HELD_UP, isHeldUp } from './shared/cpu-waiting.ts';
import { cpuFrom, shown } from './shared/evidence.ts';
import { severalNodes } from './shared/needs.ts';
import { isSlurm } from './shared/request.ts';
import { rule } from './shared/rule.ts';

export default rule({
  id: 'node-idle',
  title: 'nodes that did nothing',
  help: 'A node stayed below 1 % of its CPUs and GPUs while others of the same job worked. A node is compared only with nodes that were recorded long enough.',
  kind: 'waste',
  order: 300,
  needs: [
    severalNodes,
    {
      what: 'the job’s CPU time on each node',
      has: ({ nodes }) => nodes.some((n) => n.cpu_utilization !== undefined),
      otherwise: { unmeasurable: 'the job’s CPU time could not be separated from that of others' },
    },
  ],
  thresholds: {
    /** CPU utilisation (0 to 1) below which a node did nothing for the job. */
    idle: 0.01,
    ...HELD_UP,
  },
  when({ nodes }, limits) {
    const measured = nodes.filter((n) => n.cpu_utilization !== undefined);
    // one that waited for its CPUs had something to do
    const below = measured.filter((n) => isIdleNode(n, limits.idle) && !isHeldUp(n, limits));
    if (below.length === 0) return [];
    const working = measured.filter((n) => !below.includes(n));
    // what it did in a longer time it may have done while the others were seen
    const idle = below.filter(
      (n) => working.length === 0 || working.some((other) => isIdleNode(n, limits.idle, measuredSeconds(other))),
    );
    return idle.length === 0 ? { unmeasurable: UNLIKE_TIMES } : [idle];
  },
  severity: 'warning',
  say: (idle, { summary }) =>
    `${idle.length} of ${summary.nodes} nodes did nothing: ${listed(idle.map((n) => n.node))}`,
  evidence(idle, facts, limits) {
    const hours = idle.reduce((seconds, n) => seconds + (measuredSeconds(n) ?? 0), 0) / 3600;
    return [
      ...shown(idle).map((n) => ({
        text: `${n.node}: CPU ${percent(n.cpu_utilization)}`,
        from: cpuFrom(facts),
        node: n.node,
        value: n.cpu_utilization!,
        threshold: limits.idle,
      })),
      { text: `${figure(hours)} node-hours idle`, from: 'job.json' },
    ];
  },
  advise(idle, facts) {
    const enough = facts.summary.nodes - idle.length;
    const other = enough === 0 ? '; see below whether it ran at all' : `, or ask for ${count(enough, 'node')}`;
    return `Start the program on all nodes${isSlurm(facts) ? ' (srun ./program, not ./program)' : ''}${other}.`;
  },
  confidence: (idle) => sampled(smallest(idle.map((n) => n.samples ?? 0))),
});

/** Whether a node did nothing in its time, or in so much of it, were all that it did in there. */
function isIdleNode(n: NodeReport, idle: number, seconds = Number.POSITIVE_INFINITY): boolean {
  const recordedSeconds = measuredSeconds(n) ?? 0;
  const times = seconds > 0 && seconds < recordedSeconds ? recordedSeconds / seconds : 1;
  return n.cpu_utilization! * times < idle && (n.gpu_utilization ?? 0) * times < idle;
}
