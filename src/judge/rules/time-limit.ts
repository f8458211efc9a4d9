import { formatDuration } from '../../base/duration.ts';
import { percent } from '../../base/readable.ts';
import type { Evidence } from '../report-schema.ts';
import { high } from './shared/confidence.ts';
import { timeRequest } from './shared/request.ts';
import { type FindingText, hit, ruleOfCases } from './shared/rule.ts';

const thresholds = {
  /** Share of the time limit that was used, below which a shorter limit is proposed. */
  long_below: 0.5,
  /** Seconds of the limit that were not used, for the same. */
  worth_saving_seconds: 1800,
  /** Share of the time limit above which a job ended close to it. */
  near: 0.95,
  /** Jobs that ran for fewer seconds are not judged. */
  short_seconds: 30,
  /** Factor between the time used and the limit that is proposed. */
  margin: 1.25,
};

interface Times {
  wall: number;
  limit: number;
  used: number;
}

export default ruleOfCases({
  id: 'time-limit',
  title: 'the time limit',
  help: 'The job reached its limit, ended within 5 % of it, or used less than half of it while more than half an hour was left. Jobs of less than 30 s are left out.',
  kind: 'trouble',
  order: 130,
  isExact: true,
  needs: [
    {
      what: 'all of the job',
      has: ({ confined }) => confined === undefined,
      otherwise: { skipped: 'the report covers only a part of the job' },
    },
    {
      what: 'the time limit, from the scheduler',
      has: ({ job, summary }) => job.state === 'timeout' || summary.time_used !== undefined,
      otherwise: { skipped: 'the job had no time limit' },
    },
  ],
  thresholds,
  when({ job, summary }, { near, long_below, worth_saving_seconds, short_seconds }) {
    const { time_limit_seconds: limit, time_used: used, wall_seconds: wall } = summary;
    if (job.state === 'timeout') return [hit(reached, limit)];
    const times: Times = { wall, limit: limit!, used: used! };
    if (wall < short_seconds) return { skipped: `the job ran for less than ${short_seconds} s` };
    if (job.state === 'running') return { skipped: 'the job is still running' };
    if (times.used > near) return [hit(nearlyReached, times)];
    if (job.state !== 'completed') return { skipped: 'how long it would have run is known only when it completes' };
    return times.used >= long_below || times.limit - wall < worth_saving_seconds ? [] : [hit(tooLong, times)];
  },
});

const reached: FindingText<number | undefined> = {
  severity: 'critical',
  say: (limit) =>
    limit === undefined ? 'The time limit ended the job' : `The time limit of ${formatDuration(limit)} ended the job`,
  evidence: (_, { job }) => [{ text: job.reason ?? 'state TIMEOUT', from: 'scheduler' }],
  advise: (_, { phases }) =>
    `Ask for more time, or write checkpoints and continue from them${
      phases.length > 0 ? '; the phases below show how far it came' : ''
    }.`,
  confidence: high('said by the scheduler'),
};

const nearlyReached: FindingText<Times, typeof thresholds> = {
  severity: 'warning',
  say: ({ wall, limit }) =>
    wall < limit
      ? `The job ended only ${formatDuration(limit - wall)} before its time limit`
      : 'The job had used up its time limit when it ended',
  evidence: evidenceOf,
  advise: ({ wall }, facts, { margin }) => `Ask for more time next time: ${timeRequest(facts, wall * margin)}.`,
  confidence: high('exact times'),
};

const tooLong: FindingText<Times, typeof thresholds> = {
  severity: 'info',
  say: ({ used }) => `${percent(used)} of the time limit was used`,
  evidence: evidenceOf,
  advise: ({ wall }, facts, { margin }) =>
    `A shorter limit starts sooner, because the scheduler can fill gaps with it: ${timeRequest(facts, wall * margin)}.`,
  confidence: high('exact times, but of this one run'),
};

function evidenceOf({ wall, limit, used }: Times): Evidence[] {
  const text = `ran ${formatDuration(wall)} of ${formatDuration(limit)} (${percent(used)})`;
  return [{ text, from: 'scheduler', value: wall, threshold: limit }];
}
