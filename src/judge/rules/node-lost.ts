import { formatDuration } from '../../base/duration.ts';
import { formatMoment } from '../../base/moment.ts';
import { listed } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import { UNHEARD } from '../facts/nodes.ts';
import type { Evidence, NodeReport } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { type FindingText, hit, ruleOfCases } from './shared/rule.ts';

export default ruleOfCases({
  id: 'node-lost',
  title: 'nodes that stopped recording',
  help: 'A node wrote its last sample long before the job ended, or none at all; or it is silent while the job runs.',
  kind: 'trouble',
  order: 140,
  isExact: true,
  needs: [{ what: 'the agents’ records' }],
  thresholds: {},
  when({ nodes, job }) {
    const lost = nodes.filter((n) => n.status === 'stopped early' || n.status === 'never recorded');
    const silent = nodes.filter((n) => n.status === 'silent');
    const hasFailed = job.state === 'node_fail';
    const waiting = silent.length === 0 ? [] : [hit(silentNodes, silent)];
    if (lost.length > 0) return [hit(lostNodes, lostOf(lost, hasFailed)), ...waiting];
    return hasFailed ? [hit(failedOnly, undefined)] : waiting;
  },
});

interface Lost {
  nodes: NodeReport[];
  /** The scheduler says that a node failed. */
  hasFailed: boolean;
  /** None of them was ever recorded. */
  isNever: boolean;
  /** The scheduler took them out of the job, which went on. */
  isTaken: boolean;
  /** What some of them, or all, sampled may wait there. */
  isUnheard: boolean;
  isOpen: boolean;
}

function lostOf(nodes: NodeReport[], hasFailed: boolean): Lost {
  const unheard = nodes.filter((n) => n.reason === UNHEARD);
  return {
    nodes,
    hasFailed,
    isNever: nodes.every((n) => n.status === 'never recorded'),
    isTaken: nodes.every((n) => n.taken !== undefined),
    isUnheard: unheard.length > 0,
    isOpen: !hasFailed && unheard.length === nodes.length,
  };
}

const lastHeard = ({ node, status, reason, last_sample: last }: NodeReport): Evidence => ({
  text:
    status === 'never recorded'
      ? `${node}: ${reason}`
      : `${node}: last sample ${last === undefined ? 'unknown' : formatMoment(last)}; ${reason ?? 'reason unknown'}`,
  from: 'agent.json',
  node,
  ...stated({ value: last }),
});

const LATER =
  'Look again later: what waits on a node is in the report when it has reached the hub (tacho nodes shows whether it arrives).';

const nothingFrom = ({ node, last_sample: last }: NodeReport): string =>
  `Nothing has come from ${node}${last === undefined ? '' : ` since ${formatMoment(last)}`}`;

const lostNodes: FindingText<Lost> = {
  severity: ({ hasFailed }) => (hasFailed ? 'critical' : 'warning'),
  say({ nodes, isOpen }, { job, summary }) {
    const [one] = nodes;
    if (nodes.length > 1) {
      const what = isOpen ? 'have sent nothing of the job’s end' : 'stopped recording or never began';
      return `${nodes.length} of ${summary.nodes} nodes ${what}: ${listed(nodes.map((n) => n.node))}`;
    }
    if (one!.status === 'never recorded') return `${one!.node} was never recorded`;
    const last = one!.last_sample;
    // how long after its last sample within the next interval it was killed nobody knows
    const left = ((job.end ?? Number.NaN) - (last ?? Number.NaN)) / 1e6;
    const before = left > job.interval_seconds ? `, ${formatDuration(left)} before the end` : '';
    if (isOpen) return `${nothingFrom(one!)}${before}`;
    const when =
      last === undefined ? 'at an unknown time' : `after ${formatDuration(Math.max(0, last - job.start) / 1e6)}`;
    return `${one!.node} stopped ${when}${before}`;
  },
  evidence: ({ nodes, hasFailed }, { job }) => [
    ...(hasFailed && job.reason !== undefined ? [{ text: job.reason, from: 'scheduler' }] : []),
    ...shown(nodes).map(lastHeard),
  ],
  advise({ nodes, hasFailed, isTaken, isNever, isUnheard }) {
    if (hasFailed) return 'The scheduler says that a node failed: run again, without it if it stays ill (--exclude).';
    const them = nodes.length === 1 ? 'it' : 'them';
    if (isTaken) return `The job went on without ${them}: whether the node failed the scheduler knows (sinfo, sacct).`;
    if (isNever) return `What ran on ${them} is not in this report.`;
    if (isUnheard) return `Everything before that is in this report. ${LATER}`;
    return 'Everything before that is in this report; what these nodes did afterwards is not known.';
  },
  confidence({ hasFailed, isTaken, isNever, isUnheard }) {
    if (hasFailed || isTaken) return high('the scheduler says so too');
    if (isNever) return high('there is nothing of it');
    return medium(isUnheard ? 'the rest may still come' : 'the agent may have been killed while the node went on');
  },
};

const failedOnly: FindingText<undefined> = {
  severity: 'critical',
  say: 'The scheduler says that a node of the job failed',
  evidence: (_, { job }) => [{ text: job.reason ?? 'state NODE_FAIL', from: 'scheduler' }],
  advise: 'Run again; the recording was not interrupted, so it may have been a short outage.',
  confidence: high('said by the scheduler'),
};

/** Of a job that runs: that they have stopped nobody knows. */
const silentNodes: FindingText<NodeReport[]> = {
  severity: 'warning',
  say: (silent, { summary }) =>
    silent.length === 1
      ? nothingFrom(silent[0]!)
      : `Nothing comes from ${silent.length} of ${summary.nodes} nodes just now: ${listed(silent.map((n) => n.node))}`,
  evidence: (silent) => shown(silent).map(lastHeard),
  advise: LATER,
  confidence: high('looked for in the recording'),
};
