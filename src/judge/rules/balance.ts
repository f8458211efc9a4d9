import { greatest, smallest } from '../../base/extremes.ts';
import { count, listed, percent } from '../../base/words.ts';
import { isIdle } from '../facts/stragglers.ts';
import { FEWEST_PEERS } from '../outliers/peers.ts';
import type { GpuReport, NodeReport } from '../report-schema.ts';
import { comparable, seenSeconds, UNLIKE_TIMES } from '../use/seen.ts';
import { isHeldUp } from './cpu-waits.ts';
import { type Check, sampled } from './finding.ts';
import { THROTTLED } from './gpu-use.ts';

/** Two or three peers: which of them is normal cannot be told, but a difference of this many points can be shown. */
export const PAIR_APART = 0.25;

export const nodeImbalance: Check = {
  id: 'node-imbalance',
  title: 'nodes unlike the others',
  help: 'A node’s CPU or GPU utilisation lies far from the median of the nodes (3.5 robust deviations and at least 10 points).',
  needs: 'the job’s CPU time or GPU utilisation on each node; four nodes to name one, two to show a difference',
  kind: 'waste',
  look(facts) {
    const nodes = facts.nodes.filter((n) => n.cpu_utilization !== undefined || n.gpu_utilization !== undefined);
    if (facts.summary.nodes < 2) return { skipped: 'the job has one node' };
    if (nodes.length < 2) return { unmeasurable: 'fewer than two nodes have values to compare' };
    const peers = comparable(nodes, seenSeconds);
    if (peers.length < 2) return { unmeasurable: UNLIKE_TIMES };
    // a process that fills its node's memory is said apart
    const filled = new Set(facts.processes.filter((p) => p.rss_growth !== undefined).map((p) => p.node));
    const onlyMemory = (n: NodeReport): boolean => n.straggler!.every((why) => why.startsWith('memory'));
    // so are CPUs that others used
    const onlyCpu = (n: NodeReport): boolean => n.straggler!.every((why) => why.startsWith('CPU'));
    const isSaid = (n: NodeReport): boolean => (filled.has(n.node) && onlyMemory(n)) || (isHeldUp(n) && onlyCpu(n));
    const apart = nodes.filter((n) => n.straggler !== undefined && !isSaid(n));
    if (apart.length > 0) {
      return [
        {
          id: 'node-imbalance',
          severity: 'advice',
          text: `${count(apart.length, 'node')} unlike the other ${peers.length - apart.length}: ${listed(apart.map((n) => `${n.node} has ${n.straggler![0]}`))}`,
          evidence: apart.slice(0, 8).map((n) => ({
            text: `${n.node}: ${n.straggler!.join('; ')}`,
            from: n.gpu_utilization === undefined ? 'the job’s CPU time' : 'gpu.utilization_percent',
            node: n.node,
          })),
          advice: apart.every(onlyMemory)
            ? 'See the processes there: often it is the first rank that collects results or starts helpers.'
            : 'Less use: the node has less work or waits. More use: it is slow, and the others wait for it. See its GPUs, clocks and temperatures below.',
          ...sampled(facts, smallest(apart.map((n) => n.samples ?? 0))),
        },
      ];
    }
    if (peers.length >= FEWEST_PEERS) return [];
    const used = peers.map((n) => n.gpu_utilization ?? n.cpu_utilization!);
    const [least, most] = [smallest(used), greatest(used)];
    if (most - least < PAIR_APART) return [];
    if (peers.some((n) => n.gpu_utilization === undefined && isHeldUp(n)))
      return { skipped: 'the job waited for CPUs on a node, which is said apart' };
    return [
      {
        id: 'node-imbalance',
        severity: 'advice',
        text: `The nodes differ: ${peers.map((n, i) => `${n.node} ${percent(used[i])}`).join(', ')} busy`,
        evidence: peers.map((n, i) => ({
          text: `${n.node}: ${percent(used[i])}`,
          from: 'utilisation',
          node: n.node,
          value: used[i]!,
        })),
        advice: 'Divide the work more evenly, or look at the slower node.',
        confidence: 'medium',
        confidence_reason: 'too few nodes to say which one is unusual',
      },
    ];
  },
};

export const gpuImbalance: Check = {
  id: 'gpu-imbalance',
  title: 'GPUs unlike the others',
  help: 'A GPU’s utilisation, power or clock lies far from the median of the job’s GPUs. Idle GPUs, and those that heat slows down, are told apart.',
  needs: 'gpu.utilization_percent, power_watts or clock_mhz of at least four GPUs',
  kind: 'waste',
  look(facts) {
    const active = facts.gpus.filter((g) => g.own !== false && !isIdle(g));
    if (active.length === 0) return { skipped: 'no GPU did any work' };
    if (active.length < 2) return { skipped: 'the job used one GPU' };
    const cards = comparable(active, (g) => g.recorded_seconds);
    if (cards.length < 2) return { unmeasurable: 'the GPUs were recorded for different times' };
    const apart = cards.filter((g) => g.straggler !== undefined && (g.throttled_thermal ?? 0) <= THROTTLED);
    if (apart.length > 0) {
      const nodes = [...new Set(apart.map((g) => g.node))];
      const whole = nodes.filter((node) => cards.every((g) => g.node !== node || g.straggler !== undefined));
      const names =
        whole.length === nodes.length && nodes.length < apart.length
          ? `all of ${listed(nodes)}`
          : listed(apart.map((g) => `${g.node} GPU ${g.gpu}`));
      return [
        {
          id: 'gpu-imbalance',
          severity: 'warning',
          text: `${apart.length} of ${cards.length} GPUs differ from the rest: ${names}, ${apart[0]!.straggler![0]}`,
          evidence: apart.slice(0, 8).map((g) => ({
            text: `${g.node} GPU ${g.gpu}: ${g.straggler!.join('; ')}`,
            from: 'gpu',
            node: g.node,
            gpu: g.gpu,
          })),
          advice: advise(apart),
          ...sampled(facts, smallest(apart.map((g) => g.samples))),
        },
      ];
    }
    if (cards.length >= FEWEST_PEERS) return [];
    const used = cards.map((g) => g.utilization_mean).filter((u) => u !== undefined);
    if (used.length < 2 || greatest(used) - smallest(used) < PAIR_APART) return [];
    return [
      {
        id: 'gpu-imbalance',
        severity: 'advice',
        text: `The GPUs differ: ${cards.map((g) => percent(g.utilization_mean)).join(', ')} busy`,
        evidence: cards.map((g) => ({
          text: `${g.node} GPU ${g.gpu}: ${percent(g.utilization_mean)}`,
          from: 'gpu.utilization_percent',
          node: g.node,
          gpu: g.gpu,
        })),
        advice: 'Divide the work more evenly between the cards.',
        confidence: 'medium',
        confidence_reason: 'too few GPUs to say which one is unusual',
      },
    ];
  },
};

function advise(apart: readonly GpuReport[]): string {
  const hot = apart.some((g) => (g.temperature_max_celsius ?? 0) >= HOT_CELSIUS);
  if (hot) return 'They run hot: tell the administrators, and leave these nodes out until they are cooled (--exclude).';
  return 'Compare their clocks, temperatures and power. A card that stays slow with other jobs is for the administrators; else divide the work anew.';
}

/** Most data-centre cards begin to slow down a little above. */
const HOT_CELSIUS = 90;
