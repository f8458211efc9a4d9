import { listed, percent } from '../../base/readable.ts';
import { cgroupTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { WAITING, waitedShare } from './shared/cpu-waiting.ts';
import { shown } from './shared/evidence.ts';
import { named, rule, together } from './shared/rule.ts';

export default rule({
  id: 'cpu-throttled',
  title: 'CPU time cut off by a quota',
  help: 'The CPU quota of the cgroup that the job ran in (its own, or that of its container or unit) ran out in more than 5 % of its periods: the kernel paused the job.',
  kind: 'trouble',
  order: 450,
  needs: [
    {
      what: 'a CPU quota',
      columns: [cgroupTable.col.periods, cgroupTable.col.throttled_periods],
      has: ({ nodes }) => nodes.some((n) => n.cpu_throttled !== undefined),
      otherwise: { skipped: 'no CPU quota is set on the cgroup that the job ran in, or none can be read' },
    },
  ],
  thresholds: {
    throttled: WAITING.throttled,
  },
  when({ nodes }, { throttled }) {
    // in a cgroup that it shares, others may have used up the quota while it had nothing to do
    return together(nodes.filter((n) => (n.cpu_throttled ?? 0) > throttled && (waitedShare(n) ?? 1) > throttled));
  },
  severity: 'warning',
  say: (held) => `The CPU quota held the job up on ${listed(held.map((n) => n.node))}`,
  evidence: (held, _, { throttled }) =>
    shown(held).map((n) => ({
      text: `${n.node}: stopped in ${percent(n.cpu_throttled)} of the periods`,
      from: named(cgroupTable.col.throttled_periods),
      node: n.node,
      value: n.cpu_throttled!,
      threshold: throttled,
    })),
  advise: 'Run no more threads than the quota pays for, or ask for more CPUs.',
  confidence: high('counted by the kernel'),
});
