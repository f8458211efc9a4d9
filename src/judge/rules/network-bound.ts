import { listed, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { networkTable } from '../../sources/tables.ts';
import type { Evidence } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

const { received_bytes, sent_bytes, link_rate_bytes, class: kind } = networkTable.col;

/** Number of steps into which the time is divided. */
const STEPS = 100;

const thresholds = {
  /** Share of its capacity from which a link is full. */
  full: 0.8,
  /** Share of the time in which the link was full. */
  share: 0.3,
};

interface Full {
  node: string;
  link: string;
  way: 'received' | 'sent';
  /** Of the time. */
  share: number;
  /** Mean, and what the link can carry, in bytes a second. */
  mean: number;
  rate: number;
}

/** What repeats the traffic of another interface, or stays on the node. */
const REPEATS = new Set(['loopback', 'stacked', 'ipoib', 'cxi-ethernet']);

export default rule({
  id: 'network-bound',
  title: 'network links that were full',
  help: 'A network interface carried 80 % or more of what its link can, in one direction, in a third of the time or more.',
  kind: 'trouble',
  order: 560,
  needs: [
    {
      what: 'what links can carry',
      columns: [received_bytes, sent_bytes, link_rate_bytes, kind],
      has: (facts) => facts.statistics(link_rate_bytes).length > 0,
      otherwise: { skipped: 'no network interface says how much its link can carry' },
    },
  ],
  overTime: [received_bytes, sent_bytes],
  thresholds,
  when(facts, { full, share }) {
    const links: Full[] = [];
    for (const { node, keys, statistics } of facts.statistics(link_rate_bytes)) {
      const classes = facts.texts(kind).filter((one) => one.node === node);
      const own = classes.find((one) => one.keys.interface === keys.interface)?.text ?? '';
      // a container has no other interfaces than virtual ones
      const hasHardware = classes.some(({ text }) => text !== 'virtual' && !REPEATS.has(text));
      if (REPEATS.has(own) || (own === 'virtual' && hasHardware)) continue;
      const rate = statistics.max;
      for (const [way, column] of [
        ['received', received_bytes],
        ['sent', sent_bytes],
      ] as const) {
        const [nodeStatistics] = facts
          .statistics(column, { interface: keys.interface! })
          .filter((one) => one.node === node);
        const mean = nodeStatistics?.statistics.rate?.mean ?? 0;
        // a link that was full in so much of the time carried at least that much on average
        if (mean < full * share * rate) continue;
        const [over] = facts.series(column, { node, keys: { interface: keys.interface! }, points: STEPS });
        const steps = over?.mean ?? new Float64Array();
        const busyShare = steps.filter((value) => value >= full * rate).length / Math.max(1, steps.length);
        if (busyShare >= share) links.push({ node, link: keys.interface!, way, share: busyShare, mean, rate });
      }
    }
    return links.length === 0 ? [] : [links];
  },
  severity: 'advice',
  say(links) {
    const [{ link, way, share }] = links as [Full];
    const nodes = [...new Set(links.map(({ node }) => node))];
    return `The network was full in ${percent(share)} of the time on ${listed(nodes)}: ${link} ${way} as much as its link can carry`;
  },
  evidence: (links, _, { full }) =>
    shown(links).map(
      ({ node, link, way, share, mean, rate }): Evidence => ({
        text: `${node}: ${link} ${way} ${formatBytes(mean)}/s on average, of ${formatBytes(rate)}/s; above ${percent(full)} in ${percent(share)} of the time`,
        from: named(way === 'sent' ? sent_bytes : received_bytes, link_rate_bytes),
        node,
        value: mean,
        threshold: rate * full,
      }),
    ),
  advise:
    'More CPUs will not help: send less (larger messages, compression, overlap of sending and computing), keep data on the node, or spread the work over nodes that have links of their own.',
  confidence(links, { nodes }) {
    const isShared = nodes.some((n) => (n.shared_with?.length ?? 0) > 0 && links.some(({ node }) => node === n.node));
    return isShared ? medium('counted for the whole node, also for others on it') : high('counted by the interface');
  },
});
