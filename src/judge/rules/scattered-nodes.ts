import { smallest } from '../../base/extremes.ts';
import { nodeList } from '../../base/node-list.ts';
import { count, cpusFigure, figure, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { NodeReport } from '../report-schema.ts';
import { medium } from './shared/confidence.ts';
import { cpuFrom } from './shared/evidence.ts';
import { MARGIN, memoryFrom } from './shared/job-memory.ts';
import { severalNodes } from './shared/needs.ts';
import { isSlurm } from './shared/request.ts';
import { rule } from './shared/rule.ts';

/** CPUs that the job used on a node at most. */
const peakOn = (n: NodeReport): number => Math.max(n.cpu_utilization_max ?? 0, n.cpu_utilization!) * n.cpus!;

/** CPUs of a node that others did not use. */
const freeOn = (n: NodeReport): number => {
  const others = (n.node_cpu_utilization ?? 0) * n.node_cpus! - n.cpu_utilization! * n.cpus!;
  return Math.max(n.cpus!, n.node_cpus! - Math.max(0, others));
};

export default rule({
  id: 'scattered-nodes',
  title: 'more nodes than the work needs',
  help: 'What the job used on its three or more nodes, CPUs and memory at their highest with a margin of 20 %, fits into half of them. GPU jobs are left out: cards are bound to nodes.',
  kind: 'waste',
  order: 323,
  needs: [
    severalNodes,
    {
      what: 'a job without GPUs',
      has: ({ summary }) => (summary.gpus ?? 0) === 0,
      otherwise: { skipped: 'the job has GPUs, which are bound to nodes' },
    },
    {
      what: 'CPU time and memory of the job on each node, and the size of the nodes',
      has: ({ nodes }) =>
        nodes.every((n) => n.cpu_utilization !== undefined && n.cpus !== undefined && n.node_cpus !== undefined),
      otherwise: { skipped: 'what the job used on each of its nodes is not known' },
    },
  ],
  thresholds: {
    /** Nodes on which the job worked. */
    least: 3,
    /** Share of these nodes into which the work would fit. */
    nodes: 0.5,
    /** CPUs busy on average, up to which a node is idle (which has a rule of its own). */
    idle: 0.02,
    /** Factor by which the peak use is multiplied first. */
    margin: MARGIN,
  },
  when({ nodes }, limits) {
    const working = nodes.filter((n) => n.cpu_utilization! * n.cpus! > limits.idle);
    if (working.length < limits.least) return [];
    const cpus = working.reduce((sum, n) => sum + peakOn(n), 0) * limits.margin;
    const memory = working.reduce((sum, n) => sum + (n.memory_peak_bytes ?? 0), 0) * limits.margin;
    const size = smallest(working.map(freeOn));
    const bytes = Math.min(
      ...working.map((n) => n.node_memory_bytes ?? n.memory_limit_bytes ?? Number.POSITIVE_INFINITY),
    );
    const enough = Math.max(1, Math.ceil(cpus / size), Math.ceil(memory / bytes));
    return enough > limits.nodes * working.length ? [] : [{ working, cpus, memory, size, bytes, enough }];
  },
  severity: 'advice',
  say: ({ working, cpus, enough }, _, { margin }) =>
    `The work would fit on ${count(enough, 'node')}: it ran on ${figure(working.length)} (${nodeList(working.map((n) => n.node))}) and used ${cpusFigure(cpus / margin)} CPUs at most`,
  evidence: ({ working, cpus, memory, size, bytes, enough }, facts, limits) => [
    {
      text: `${cpusFigure(cpus)} CPUs with a margin of ${percent(limits.margin - 1)}, on nodes with ${cpusFigure(size)} CPUs that others did not use`,
      from: cpuFrom(facts),
      value: enough,
      threshold: limits.nodes * working.length,
    },
    ...(memory > 0 && Number.isFinite(bytes)
      ? [
          {
            text: `${formatBytes(memory)} with a margin of ${percent(limits.margin - 1)}, on nodes of ${formatBytes(bytes)}`,
            from: memoryFrom(working[0]!),
          },
        ]
      : []),
    ...working.slice(0, 4).map((n) => ({
      text: `${n.node}: ${cpusFigure(n.cpu_utilization! * n.cpus!)} CPUs busy on average, ${cpusFigure(peakOn(n))} at most, of ${count(n.cpus!, 'CPU')} that are the job’s`,
      from: cpuFrom(facts),
      node: n.node,
      value: n.cpu_utilization! * n.cpus!,
    })),
  ],
  advise: ({ enough }, facts) =>
    `Fewer nodes wait less in the queue and need no network between them: ask for ${count(enough, 'node')}${isSlurm(facts) ? ` (#SBATCH --nodes=${enough})` : ''}. A program that needs the memory bandwidth of several nodes is right where it is.`,
  confidence: medium('what the nodes’ memory bandwidth and network did is not measured'),
});
