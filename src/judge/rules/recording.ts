import { formatDuration } from '../../base/duration.ts';
import { formatMoment } from '../../base/moment.ts';
import { count, figure, listed, percent } from '../../base/words.ts';
import { lossesOf } from '../../recording/folder/lost-samples.ts';
import { isTooMuch } from '../../sources/too-much.ts';
import { SPOOL_FULL } from '../facts/lost.ts';
import { UNHEARD } from '../facts/nodes.ts';
import type { Evidence, Facts, Finding, NodeReport } from '../report-schema.ts';
import type { Check } from './finding.ts';

/** Fewer ticks than this share, and means and peaks may be wrong. */
export const FEW_TICKS = 0.95;

export const nodeLost: Check = {
  id: 'node-lost',
  title: 'nodes that stopped recording',
  help: 'A node wrote its last sample long before the job ended, or none at all; or nothing comes from it while the job runs.',
  needs: 'the agents’ records',
  kind: 'trouble',
  look(facts) {
    const bad = facts.nodes.filter((n) => n.status === 'stopped early' || n.status === 'never recorded');
    const silent = facts.nodes.filter((n) => n.status === 'silent');
    const died = facts.job.state === 'node_fail';
    const waiting = silent.length === 0 ? [] : [silentNodes(silent, facts)];
    if (bad.length === 0 && !died) return waiting;
    const one = bad[0];
    const never = bad.every((n) => n.status === 'never recorded');
    const taken = bad.length > 0 && bad.every((n) => n.taken !== undefined);
    // what they sampled may wait there
    const unheard = bad.filter((n) => n.reason === UNHEARD);
    const isOpen = !died && unheard.length === bad.length;
    if (one === undefined) {
      return [
        {
          id: 'node-lost',
          severity: 'critical',
          text: 'The scheduler says that a node of the job failed',
          evidence: [{ text: facts.job.reason ?? 'state NODE_FAIL', from: 'scheduler' }],
          advice: 'Run again; the recording was not interrupted, so it may have been a short outage.',
          confidence: 'high',
          confidence_reason: 'said by the scheduler',
        },
      ];
    }
    // how long after its last sample within the next interval it was killed nobody knows
    const left = ((facts.job.end ?? Number.NaN) - (one.last_sample ?? Number.NaN)) / 1e6;
    const early = left > facts.job.interval_seconds ? left : undefined;
    const before = early === undefined ? '' : `, ${formatDuration(early)} before the end`;
    const single =
      one.status === 'never recorded'
        ? `${one.node} was never recorded`
        : isOpen
          ? `${nothingFrom(one)}${before}`
          : `${one.node} stopped ${when(one.last_sample, facts.job.start)}${before}`;
    const several = isOpen ? 'have sent nothing of the job’s end' : 'stopped recording or never began';
    return [
      {
        id: 'node-lost',
        severity: died ? 'critical' : 'warning',
        text:
          bad.length === 1
            ? single
            : `${bad.length} of ${facts.summary.nodes} nodes ${several}: ${listed(bad.map((n) => n.node))}`,
        evidence: [
          ...(died && facts.job.reason !== undefined ? [{ text: facts.job.reason, from: 'scheduler' }] : []),
          ...bad.slice(0, 8).map(lastHeard),
        ],
        advice: died
          ? 'The scheduler says that a node failed: run again, without it if it stays ill (--exclude).'
          : taken
            ? `The job went on without ${bad.length === 1 ? 'it' : 'them'}: whether the node failed the scheduler knows (sinfo, sacct).`
            : never
              ? `What ran on ${bad.length === 1 ? 'it' : 'them'} is not in this report.`
              : unheard.length > 0
                ? `Everything before that is in this report. ${LATER}`
                : 'Everything before that is in this report; what these nodes did afterwards is not known.',
        confidence: died || taken || never ? 'high' : 'medium',
        confidence_reason:
          died || taken
            ? 'the scheduler says so too'
            : never
              ? 'there is nothing of it'
              : unheard.length > 0
                ? 'the rest may still come'
                : 'the agent may have been killed while the node went on',
      },
      ...waiting,
    ];
  },
};

const lastHeard = ({ node, status, reason, last_sample: last }: NodeReport): Evidence => ({
  text:
    status === 'never recorded'
      ? `${node}: ${reason}`
      : `${node}: last sample ${last === undefined ? 'unknown' : formatMoment(last)}; ${reason ?? 'reason unknown'}`,
  from: 'agent.json',
  node,
  ...(last === undefined ? {} : { value: last }),
});

const LATER =
  'Look again later: what waits on a node is in the report when it has reached the hub (tacho ls shows whether it arrives).';

const nothingFrom = ({ node, last_sample: last }: NodeReport): string =>
  `Nothing has come from ${node}${last === undefined ? '' : ` since ${formatMoment(last)}`}`;

/** Of a job that runs: that they have stopped nobody knows. */
function silentNodes(silent: readonly NodeReport[], { summary }: Facts): Finding {
  return {
    id: 'node-lost',
    severity: 'warning',
    text:
      silent.length === 1
        ? nothingFrom(silent[0]!)
        : `Nothing comes from ${silent.length} of ${summary.nodes} nodes just now: ${listed(silent.map((n) => n.node))}`,
    evidence: silent.slice(0, 8).map(lastHeard),
    advice: LATER,
    confidence: 'high',
    confidence_reason: 'looked for in the recording',
  };
}

function when(time: number | undefined, start: number): string {
  return time === undefined ? 'at an unknown time' : `after ${formatDuration(Math.max(0, time - start) / 1e6)}`;
}

/** Not even which nodes there were is known. */
function nothingRecorded({ recording, quality }: Facts): Finding {
  const none = 'it holds no folder node=NAME';
  return {
    id: 'recording-gaps',
    severity: 'warning',
    text: 'Nothing of the job can be read: the recording is empty or damaged',
    evidence: [...quality.damage, none].map((text) => ({ text, from: 'recording' })),
    advice: `tacho verify ${recording} says what can be saved.`,
    confidence: 'high',
    confidence_reason: 'looked for in its folder',
  };
}

const BUSY = 'use a longer interval if the node is too busy to keep up.';
const EITHER = 'use a longer interval if the node is too busy to keep up, and see that nothing ends its agent.';
const AWAY = 'see what ended the agent there (the system’s log says so).';
const LATE = 'let the agents of nodes start with them, before any job does.';

export const recordingGaps: Check = {
  id: 'recording-gaps',
  title: 'gaps in the recording',
  help: 'Fewer than 95 % of the expected ticks were sampled, samples were lost, the clock jumped, or nothing can be read.',
  needs: 'the agents’ records',
  kind: 'trouble',
  look(facts) {
    const {
      ticks,
      expected_ticks: expected,
      clock_jumps,
      lost_samples,
      nodes_missing,
      nodes_stopped_early,
      nodes_silent = [],
      agents_away = [],
      missed_ticks,
    } = facts.quality;
    if (facts.nodes.length === 0) return [nothingRecorded(facts)];
    const silent = nodes_missing.length + nodes_stopped_early.length + nodes_silent.length;
    const share = expected > 0 ? ticks / expected : 1;
    const few = share < FEW_TICKS && silent === 0;
    if (!few && clock_jumps.length === 0 && lost_samples.length === 0) return [];
    const late = few ? facts.nodes.filter((n) => n.late_seconds !== undefined) : [];
    const away = few ? agents_away : [];
    const cause = late.length > 0 ? LATE : away.length > 0 ? AWAY : missed_ticks > 0 ? BUSY : EITHER;
    const losses = lossesOf(lost_samples);
    const lost = losses.reduce((sum, { samples }) => sum + samples, 0);
    const { since = '', why } = losses[0] ?? {};
    const full = lost_samples.every((each) => each.why === SPOOL_FULL);
    const tooMuch = lost > 0 && lost_samples.every((each) => isTooMuch(each.why));
    return [
      {
        id: 'recording-gaps',
        severity: lost > 0 ? 'warning' : 'info',
        text:
          lost > 0
            ? full
              ? `${count(lost, 'sample')} could not be kept`
              : tooMuch
                ? `${count(lost, 'line')} of what the job said of itself ${lost === 1 ? 'is' : 'are'} missing: ${why}`
                : `${count(lost, 'sample')} could not be written${since === '' ? '' : ` ${since}`}: ${why}`
            : few
              ? `${percent(share)} of the ticks were sampled`
              : 'The clock jumped while the job ran',
        evidence: [
          ...(few
            ? [
                {
                  text: `${figure(ticks)} of ${figure(expected)} ticks`,
                  from: 'agent.json',
                  value: ticks,
                  threshold: expected * FEW_TICKS,
                },
              ]
            : []),
          ...late.slice(0, 4).map(({ node, late_seconds: seconds }) => ({
            text: `${node}: its agent came ${formatDuration(seconds!)} after the job’s start`,
            from: 'agent.json',
            node,
            value: seconds!,
          })),
          ...away.slice(0, 4).map(({ node, from, to }) => ({
            text: `${node}: no agent was there from ${formatMoment(from)} on for ${formatDuration((to - from) / 1e6)}`,
            from: 'agent.json',
            node,
            value: (to - from) / 1e6,
          })),
          ...[...Map.groupBy(lost_samples, ({ node }) => node)].slice(0, 4).flatMap(([node, own]) =>
            lossesOf(own).map(({ why, since, tables }) => ({
              text: `${node}: ${why}${since === '' ? '' : ` ${since}`}: ${tables}`,
              from: 'agent.json',
              node,
            })),
          ),
          ...clock_jumps.slice(0, 4).map((j) => ({
            text: `${j.node}: clock jumped by ${figure(j.seconds)} s`,
            from: 'agent.json',
            node: j.node,
            value: j.seconds,
          })),
        ],
        advice:
          lost > 0
            ? full
              ? 'See why the node could not send (its agent says so), or give its spool more room (spool.size).'
              : tooMuch
                ? 'Samples are whole. Figures of single processes, and phases, may lack what is missing.'
                : 'Make room on the disk that holds the recording.'
            : few
              ? `Means and peaks of this report may be off; ${cause}`
              : 'The node’s times go on as if its clock had not been set: durations and rates are right, moments differ from other nodes’.',
        confidence: 'high',
        confidence_reason: 'counted by the agents',
      },
    ];
  },
};
