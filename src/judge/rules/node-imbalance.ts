import { greatest, smallest } from '../../base/extremes.ts';
import { count, listed, percent } from '../../base/readable.ts';
import { gpuTable } from '../../sources/tables.ts';
import { FEWEST_PEERS } from '../outliers/peers.ts';
import type { Facts, NodeReport } from '../report-schema.ts';
import { comparable, measuredSeconds, UNLIKE_TIMES } from '../use/recorded-time.ts';
import { medium, sampled } from './shared/confidence.ts';
import { HELD_UP, isHeldUp } from './shared/cpu-waiting.ts';
import { cpuFrom, shown } from './shared/evidence.ts';
import { severalNodes } from './shared/needs.ts';
import { type FindingText, hit, named, ruleOfCases } from './shared/rule.ts';

const measured = ({ nodes }: Facts): NodeReport[] =>
  nodes.filter((n) => n.cpu_utilization !== undefined || n.gpu_utilization !== undefined);
const peers = (facts: Facts): NodeReport[] => comparable(measured(facts), measuredSeconds);

/** Where the utilisation of a node comes from. */
const usedFrom = (n: NodeReport, facts: Facts): string =>
  n.gpu_utilization === undefined ? cpuFrom(facts) : named(gpuTable.col.utilization_percent);

const hasOnly = (n: NodeReport, what: string): boolean => n.straggler!.every((why) => why.startsWith(what));

export default ruleOfCases({
  id: 'node-imbalance',
  title: 'nodes unlike the others',
  help: 'A node’s CPU or GPU utilisation lies far from the median of the nodes (3.5 robust deviations and at least 10 points).',
  kind: 'waste',
  order: 310,
  needs: [
    severalNodes,
    {
      what: 'the job’s CPU time or GPU utilisation on each node; four nodes to name one, two to show a difference',
      has: (facts) => measured(facts).length > 1,
      otherwise: { unmeasurable: 'fewer than two nodes have values to compare' },
    },
    {
      what: 'values of the same time',
      has: (facts) => peers(facts).length > 1,
      otherwise: { unmeasurable: UNLIKE_TIMES },
    },
  ],
  thresholds: {
    /** Difference of CPU utilisation (0 to 1) between two or three nodes. */
    apart: 0.25,
    ...HELD_UP,
  },
  when(facts, limits) {
    const nodes = peers(facts);
    // a process that fills its node's memory is said apart, and so are CPUs that others used
    const filled = new Set(facts.processes.filter((p) => p.rss_growth !== undefined).map((p) => p.node));
    const isSaid = (n: NodeReport): boolean =>
      (filled.has(n.node) && hasOnly(n, 'memory')) || (isHeldUp(n, limits) && hasOnly(n, 'CPU'));
    const unlike = measured(facts).filter((n) => n.straggler !== undefined && !isSaid(n));
    if (unlike.length > 0) return [hit(oneOfMany, { unlike, others: nodes.length - unlike.length })];
    if (nodes.length >= FEWEST_PEERS) return [];
    const used = nodes.map((n) => n.gpu_utilization ?? n.cpu_utilization!);
    if (greatest(used) - smallest(used) < limits.apart) return [];
    if (nodes.some((n) => n.gpu_utilization === undefined && isHeldUp(n, limits)))
      return { skipped: 'the job waited for CPUs on a node, which has a finding of its own' };
    return [hit(fewThatDiffer, { nodes, used })];
  },
});

const oneOfMany: FindingText<{ unlike: NodeReport[]; others: number }> = {
  severity: 'advice',
  say: ({ unlike, others }) =>
    `${count(unlike.length, 'node')} unlike the other ${others}: ${listed(unlike.map((n) => `${n.node} has ${n.straggler![0]}`))}`,
  evidence: ({ unlike }, facts) =>
    shown(unlike).map((n) => ({
      text: `${n.node}: ${n.straggler!.join('; ')}`,
      from: usedFrom(n, facts),
      node: n.node,
    })),
  advise: ({ unlike }) =>
    unlike.every((n) => hasOnly(n, 'memory'))
      ? 'See the processes there: often it is the first rank that collects results or starts helpers.'
      : 'Less use: the node has less work or waits. More use: it is slow, and the others wait for it. See its GPUs, clocks and temperatures below.',
  confidence: ({ unlike }) => sampled(smallest(unlike.map((n) => n.samples ?? 0))),
};

const fewThatDiffer: FindingText<{ nodes: NodeReport[]; used: number[] }> = {
  severity: 'advice',
  say: ({ nodes, used }) => `The nodes differ: ${nodes.map((n, i) => `${n.node} ${percent(used[i])}`).join(', ')} busy`,
  evidence: ({ nodes, used }, facts) =>
    nodes.map((n, i) => ({
      text: `${n.node}: ${percent(used[i])}`,
      from: usedFrom(n, facts),
      node: n.node,
      value: used[i]!,
    })),
  advise: 'Divide the work more evenly, or look at the slower node.',
  confidence: medium('too few nodes to say which one is unusual'),
};
