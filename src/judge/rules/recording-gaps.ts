import { formatDuration } from '../../base/duration.ts';
import { formatMoment } from '../../base/moment.ts';
import { count, figure, percent } from '../../base/readable.ts';
import { lossesOf } from '../../recording/folder/lost-samples.ts';
import { isTooMuch } from '../../sources/too-much.ts';
import { SPOOL_FULL } from '../facts/lost.ts';
import type { Evidence, Facts, NodeReport } from '../report-schema.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { type FindingText, hit, ruleOfCases } from './shared/rule.ts';

const thresholds = {
  /** Share of the expected ticks that were sampled, below which there is a finding. */
  ticks: 0.95,
  /** Ticks that are missing. */
  fewest_missing: 3,
  /** Seconds that the missing ticks stand for. */
  missing_seconds: 1,
};

interface Gaps {
  /** Part of the ticks that were sampled, where it is too small. */
  few: number | undefined;
  late: NodeReport[];
  away: NonNullable<Facts['quality']['agents_away']>;
  lost: number;
  /** Why all of what is lost is. */
  why: 'full' | 'too much' | 'refused';
}

export default ruleOfCases({
  id: 'recording-gaps',
  title: 'gaps in the recording',
  help: 'Fewer than 95 % of the expected ticks were sampled, at least three are missing, and these are a second in total. Or samples were lost, the clock jumped, or nothing can be read.',
  kind: 'trouble',
  order: 700,
  isExact: true,
  needs: [{ what: 'the agents’ records' }],
  thresholds,
  when({ job, nodes, quality }, limits) {
    if (nodes.length === 0) return [hit(nothingRecorded, undefined)];
    const { ticks, expected_ticks: expected, lost_samples, nodes_silent = [] } = quality;
    const silent = quality.nodes_missing.length + quality.nodes_stopped_early.length + nodes_silent.length;
    const share = expected > 0 ? ticks / expected : 1;
    const missing = expected - ticks;
    const isLong = missing >= limits.fewest_missing && !(missing * job.interval_seconds < limits.missing_seconds);
    const isFew = share < limits.ticks && isLong && silent === 0;
    if (!isFew && quality.clock_jumps.length === 0 && lost_samples.length === 0) return [];
    const lost = lossesOf(lost_samples).reduce((sum, { samples }) => sum + samples, 0);
    const isFull = lost_samples.every(({ why }) => why === SPOOL_FULL);
    const isFlood = lost > 0 && lost_samples.every(({ why }) => isTooMuch(why));
    return [
      hit(gaps, {
        few: isFew ? share : undefined,
        late: isFew ? nodes.filter((n) => n.late_seconds !== undefined) : [],
        away: isFew ? (quality.agents_away ?? []) : [],
        lost,
        why: isFull ? 'full' : isFlood ? 'too much' : 'refused',
      }),
    ];
  },
});

const BUSY = 'use a longer interval if the node is too busy to keep up.';
const EITHER = 'use a longer interval if the node is too busy to keep up, and see that nothing ends its agent.';
const AWAY = 'see what ended the agent there (the system’s log says so).';
const LATE = 'let the agents of nodes start with them, before any job does.';

const gaps: FindingText<Gaps, typeof thresholds> = {
  severity: ({ lost }) => (lost > 0 ? 'warning' : 'info'),
  say({ few, lost, why }, { quality }) {
    if (lost === 0)
      return few === undefined ? 'The clock jumped while the job ran' : `${percent(few)} of the ticks were sampled`;
    if (why === 'full') return `${count(lost, 'sample')} could not be kept`;
    const [first] = lossesOf(quality.lost_samples);
    if (why === 'too much')
      return `${count(lost, 'line')} that the job recorded about itself ${lost === 1 ? 'is' : 'are'} missing: ${first!.why}`;
    return `${count(lost, 'sample')} could not be written${first!.since === '' ? '' : ` ${first!.since}`}: ${first!.why}`;
  },
  evidence({ few, late, away }, { quality }, limits) {
    const { ticks, expected_ticks: expected, lost_samples, clock_jumps } = quality;
    const from = 'agent.json';
    const evidence: Evidence[] = [];
    if (few !== undefined) {
      const text = `${figure(ticks)} of ${figure(expected)} ticks`;
      evidence.push({ text, from, value: ticks, threshold: expected * limits.ticks });
    }
    for (const { node, late_seconds: seconds } of shown(late, 4)) {
      const text = `${node}: its agent came ${formatDuration(seconds!)} after the job’s start`;
      evidence.push({ text, from, node, value: seconds! });
    }
    for (const { node, from: start, to } of shown(away, 4)) {
      const seconds = (to - start) / 1e6;
      const text = `${node}: no agent was there from ${formatMoment(start)} on for ${formatDuration(seconds)}`;
      evidence.push({ text, from, node, value: seconds });
    }
    for (const [node, own] of shown([...Map.groupBy(lost_samples, ({ node }) => node)], 4))
      for (const { why, since, tables } of lossesOf(own))
        evidence.push({ text: `${node}: ${why}${since === '' ? '' : ` ${since}`}: ${tables}`, from, node });
    for (const { node, seconds } of shown(clock_jumps, 4))
      evidence.push({ text: `${node}: clock jumped by ${figure(seconds)} s`, from, node, value: seconds });
    return evidence;
  },
  advise({ few, late, away, lost, why }, { quality }) {
    if (lost > 0) {
      if (why === 'full')
        return 'See why the node could not send (its agent says so), or give its spool more room (spool.size).';
      if (why === 'too much') return 'Samples are complete. Figures of single processes and phases may be incomplete.';
      return 'Make room on the disk that holds the recording.';
    }
    if (few === undefined)
      return 'The node’s times go on as if its clock had not been set: durations and rates are right, moments differ from other nodes’.';
    const cause = late.length > 0 ? LATE : away.length > 0 ? AWAY : quality.missed_ticks > 0 ? BUSY : EITHER;
    return `Means and peaks of this report may be off; ${cause}`;
  },
  confidence: high('counted by the agents'),
};

/** Not even which nodes there were is known. */
const nothingRecorded: FindingText<undefined> = {
  severity: 'warning',
  say: 'Nothing of the job can be read: the recording is empty or damaged',
  evidence: (_, { quality }) =>
    [...quality.damage, 'it holds no folder node=NAME'].map((text) => ({ text, from: 'recording' })),
  advise: (_, { recording }) => `tacho verify ${recording} says what can be saved.`,
  confidence: high('looked for in its folder'),
};
