import { formatDuration } from '../../base/duration.ts';
import { listed } from '../../base/readable.ts';
import { median } from '../../query/material.ts';
import type { Evidence, NodeReport } from '../report-schema.ts';
import { medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { severalNodes } from './shared/needs.ts';
import { rule } from './shared/rule.ts';

interface Skewed {
  node: string;
  /** Its clock is so many seconds ahead of the others'; less than 0: behind. */
  seconds: number;
  first: number;
  last: number;
}

const isRecorded = (n: NodeReport): boolean =>
  // one whose clock is behind seems to have stopped before the others
  (n.status === 'recorded' || n.status === 'stopped early') &&
  n.first_sample !== undefined &&
  n.last_sample !== undefined;

export default rule({
  id: 'clock-skew',
  title: 'clocks that differ between nodes',
  help: 'The first and the last sample of a node both lie two seconds or more before or after those of the other nodes, by the same amount: its clock differs. Agents of a job begin and end together.',
  kind: 'trouble',
  order: 705,
  needs: [
    severalNodes,
    {
      what: 'three nodes that were recorded to the end',
      has: ({ nodes }) => nodes.filter(isRecorded).length > 2,
      otherwise: {
        skipped: 'of fewer than three nodes that were recorded to the end nobody can tell whose clock is wrong',
      },
    },
  ],
  thresholds: {
    /** Seconds by which a clock differs from those of the other nodes. */
    seconds: 2,
    /** Share of that difference by which the first and the last sample may disagree. */
    apart: 0.25,
  },
  when({ nodes, job }, { seconds, apart }) {
    const recordedNodes = nodes.filter(isRecorded);
    const [first, last] = [
      median(recordedNodes.map((n) => n.first_sample))!,
      median(recordedNodes.map((n) => n.last_sample))!,
    ];
    const skewed = recordedNodes.flatMap((n): Skewed[] => {
      const [begin, end] = [(n.first_sample! - first) / 1e6, (n.last_sample! - last) / 1e6];
      const skew = (begin + end) / 2;
      const least = Math.max(seconds, 2 * (job.interval_seconds || 0));
      const isSame =
        Math.sign(begin) === Math.sign(end) && Math.abs(begin - end) <= Math.max(1, apart * Math.abs(skew));
      return isSame && Math.abs(skew) >= least ? [{ node: n.node, seconds: skew, first: begin, last: end }] : [];
    });
    // where half of them differ, nobody knows which half is right
    return skewed.length === 0 || 2 * skewed.length >= recordedNodes.length ? [] : [skewed];
  },
  severity: 'warning',
  say(skewed) {
    const [{ seconds }] = skewed as [Skewed];
    const names = listed(skewed.map(({ node }) => node));
    const way = seconds > 0 ? 'ahead of' : 'behind';
    return `The clock of ${names} was ${formatDuration(Math.abs(seconds))} ${way} those of the other nodes`;
  },
  evidence: (skewed, _, { seconds: threshold }) =>
    shown(skewed).map(
      ({ node, seconds, first, last }): Evidence => ({
        text: `${node}: first sample ${signed(first)}, last sample ${signed(last)} from the middle of all nodes`,
        from: 'agent.json',
        node,
        value: seconds,
        threshold,
      }),
    ),
  advise:
    'Tell the administrators: the node’s clock is not kept in time (chrony, ntpd). Moments of this node differ from the others’ in tables and charts, and programs such as make and distributed databases may fail.',
  confidence: medium('from the start and end of recording on that node'),
});

const signed = (seconds: number): string => `${seconds < 0 ? '−' : '+'}${formatDuration(Math.abs(seconds))}`;
