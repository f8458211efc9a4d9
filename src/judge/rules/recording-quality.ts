import { formatDuration } from '../../base/duration.ts';
import { count, figure, percent } from '../../base/readable.ts';
import { agentTable } from '../../sources/tables.ts';
import type { Evidence, Facts } from '../report-schema.ts';
import { isShort } from '../use/partly-recorded.ts';
import { high, surenessCap } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

type Why = 'files' | 'part' | 'coarse';

export default rule({
  id: 'recording-quality',
  title: 'a recording that is too poor to be sure',
  help: 'Files of the recording are lost or damaged, less than 90 % of the job’s time was recorded, or a job of a minute or more has fewer than ten ticks. A recording of grade C lowers the confidence of every other finding that rests on samples to medium, one of grade D to low; gaps and lost nodes have rules of their own.',
  kind: 'trouble',
  order: 710,
  isExact: true,
  needs: [{ what: 'the agents’ records' }],
  thresholds: {
    /** Seconds that the job ran. */
    seconds: 60,
    /** Ticks on a node, below which it was hardly measured. */
    ticks: 10,
  },
  when({ nodes, quality, summary, job }, { seconds, ticks }) {
    const { wall_seconds: wall } = summary;
    const { interval_seconds: interval } = job;
    const isRecorded = nodes.some((n) => (n.samples ?? 0) > 0);
    // nodes that are not heard of are another rule's
    const { nodes_missing, nodes_stopped_early, nodes_silent = [] } = quality;
    const isWhole = nodes_missing.length + nodes_stopped_early.length + nodes_silent.length === 0;
    const isPoor = quality.grade === 'C' || quality.grade === 'D';
    const reasons: Why[] = [];
    if (isRecorded && isPoor && quality.damage.length > 0) reasons.push('files');
    if (isRecorded && isWhole && isShort(quality, wall, interval)) reasons.push('part');
    if (isRecorded && wall >= seconds && wall < ticks * interval) reasons.push('coarse');
    return reasons.slice(0, 1);
  },
  severity: (why) => (why === 'files' ? 'warning' : 'info'),
  say(why, facts) {
    const { quality, summary, job } = facts;
    if (why === 'files')
      return `${count(quality.damage.length, 'file')} of the recording cannot be used${lowered(facts)}`;
    if (why === 'part') return `${percent(quality.job_share)} of the job’s time was recorded${lowered(facts)}`;
    return `${formatDuration(summary.wall_seconds)} were sampled every ${formatDuration(job.interval_seconds)}: too seldom to see what happened in between`;
  },
  evidence(why, { quality, job }, { ticks }): Evidence[] {
    const grade = { text: `grade ${quality.grade}: ${quality.reasons.join(', ') || 'complete'}`, from: 'agent.json' };
    if (why === 'files') return [grade, ...shown(quality.damage, 4).map((text) => ({ text, from: 'recording' }))];
    if (why === 'part') return [{ ...grade, value: quality.job_share! }];
    const text = `${figure(quality.ticks)} ticks, one every ${formatDuration(job.interval_seconds)}`;
    return [{ text, from: named(agentTable.col.late_ticks), value: quality.ticks, threshold: ticks }];
  },
  advise(why, { recording }) {
    if (why === 'files') return `tacho verify ${recording} says what can be saved.`;
    if (why === 'part') return 'Start the recording with the job and stop it at its end (tacho run does both).';
    return 'Sample more often (--interval): once a second costs less than 1 % of a core.';
  },
  confidence: high('counted by the agents'),
});

/** What it means for the other findings. */
function lowered(facts: Facts): string {
  const cap = surenessCap(facts);
  return cap === undefined ? '' : `: other findings are of ${cap.confidence} confidence at most`;
}
