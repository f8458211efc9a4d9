import { formatDuration } from '../../base/duration.ts';
import { listed, percent } from '../../base/readable.ts';
import { cpuTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { named, rule, together } from './shared/rule.ts';

const { steal_ms, busy_ms } = cpuTable.col;

export default rule({
  id: 'cpu-steal',
  title: 'CPUs that the hypervisor gave to others',
  help: 'A node is a virtual machine, and in 5 % or more of the time in which its CPUs had work, the hypervisor let another machine use them. Only reported of a job that used a tenth of its CPUs or more there.',
  kind: 'trouble',
  order: 441,
  needs: [
    {
      what: 'what the hypervisor took',
      columns: [steal_ms],
      has: (facts) => facts.statistics(steal_ms, { cpu: 'all' }).length > 0,
      otherwise: { skipped: 'what a hypervisor took of the CPUs was not recorded' },
    },
  ],
  thresholds: {
    /** Share of the node’s busy CPU time that the hypervisor took. */
    share: 0.05,
    /** Seconds of CPU time that the hypervisor took. */
    seconds: 1,
    /** Share of its CPUs that the job used: a job that only waits lost nothing. */
    used: 0.1,
  },
  when(facts, limits) {
    const all = { cpu: 'all' };
    const busy = new Map(
      facts.statistics(busy_ms, all).map(({ node, statistics }) => [node, statistics.increase ?? 0]),
    );
    const nodes = facts.statistics(steal_ms, all).map(({ node, statistics }) => {
      const stolen = (statistics.increase ?? 0) / 1000;
      return { node, stolen, share: stolen / ((busy.get(node) ?? 0) / 1000) };
    });
    const idle = new Set(facts.nodes.filter((n) => (n.cpu_utilization ?? 1) < limits.used).map(({ node }) => node));
    return together(
      nodes.filter(({ node, share, stolen }) => share >= limits.share && stolen >= limits.seconds && !idle.has(node)),
    );
  },
  severity: 'warning',
  say: (robbed) =>
    `The hypervisor gave ${percent(Math.max(...robbed.map(({ share }) => share)))} of the CPU time of ${listed(robbed.map(({ node }) => node))} to other machines`,
  evidence: (robbed, _, limits) =>
    shown(robbed).map(({ node, stolen, share }) => ({
      text: `${node}: ${formatDuration(stolen)} stolen, ${percent(share)} of the time in which its CPUs had work`,
      from: named(steal_ms),
      node,
      value: share,
      threshold: limits.share,
    })),
  advise:
    'The machine below is overbooked: tell those who run it, or take another kind of machine (dedicated CPUs). Figures of this run are not comparable with others.',
  confidence: high('counted by the kernel'),
});
