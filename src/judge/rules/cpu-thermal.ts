import { count, listed } from '../../base/readable.ts';
import { interruptsTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { named, rule, together } from './shared/rule.ts';

const { count: fired } = interruptsTable.col;

export default rule({
  id: 'cpu-thermal',
  title: 'CPUs slowed down by heat',
  help: 'The CPUs of a node reported more than ten thermal events while the job ran.',
  kind: 'trouble',
  order: 447,
  needs: [
    {
      what: 'interrupts',
      columns: [fired],
      has: (facts) => facts.statistics(fired).length > 0,
      otherwise: { skipped: 'thermal events were not recorded' },
    },
  ],
  thresholds: {
    /** Thermal events while the job ran; a few are a short peak. */
    events: 10,
  },
  when(facts, { events }) {
    const thermal = facts.statistics(fired, { interrupt: 'TRM' });
    const nodes = thermal.map(({ node, statistics }) => ({ node, times: statistics.increase ?? 0 }));
    return together(nodes.filter(({ times }) => times > events));
  },
  severity: 'warning',
  say: (hot) => `Heat slowed down the CPUs of ${listed(hot.map(({ node }) => node))}`,
  evidence: (hot, _, { events }) =>
    shown(hot).map(({ node, times }) => ({
      text: `${node}: ${count(times, 'thermal event')}`,
      from: named(fired),
      node,
      value: times,
      threshold: events,
    })),
  advise: 'Tell the administrators: cooling needs a look.',
  confidence: high('counted by the kernel'),
});
