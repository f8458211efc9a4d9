import { formatDuration } from '../../base/duration.ts';
import { percent } from '../../base/words.ts';
import type { Check } from './finding.ts';

/** A job that needs less than this share of its limit waits longer in the queue than it must. */
export const LONG_BELOW = 0.5;

/** Limits are not worth correcting for less than this. */
export const WORTH_SAVING_SECONDS = 1800;

/** A job that ends so near to its limit may not end the next time. */
export const NEAR = 0.95;

/** What a job that was over so soon would need is not told by it. */
export const SHORT_SECONDS = 30;

/** Margin of the limit that is proposed over the time used. */
export const MARGIN = 1.25;

/** "HH:MM:00" for job scripts, rounded up to five minutes (a quarter of an hour beyond two hours). */
export function timeRequest(seconds: number): string {
  const step = seconds > 7200 ? 15 : 5;
  const minutes = Math.max(step, Math.ceil(seconds / 60 / step) * step);
  const days = Math.floor(minutes / 1440);
  const clock = `${String(Math.floor(minutes / 60) % 24).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}:00`;
  return days > 0 ? `${days}-${clock}` : clock;
}

export const timeLimit: Check = {
  id: 'time-limit',
  title: 'the time limit',
  help: 'The job reached its limit, ended within 5 % of it, or used less than half of it while more than half an hour was left. Jobs of less than 30 s are left out.',
  needs: 'the time limit, from the scheduler',
  kind: 'trouble',
  look(facts) {
    const { job, summary } = facts;
    if (facts.confined !== undefined) return { skipped: 'the report covers only a part of the job' };
    const { time_limit_seconds: limit, time_used: used, wall_seconds: wall } = summary;
    if (job.state === 'timeout') {
      return [
        {
          id: 'time-limit',
          severity: 'critical',
          text:
            limit === undefined
              ? 'The time limit ended the job'
              : `The time limit of ${formatDuration(limit)} ended the job`,
          evidence: [{ text: job.reason ?? 'state TIMEOUT', from: 'scheduler' }],
          advice: `Ask for more time, or write checkpoints and continue from them${
            facts.phases.length > 0 ? '; the phases below show how far it came' : ''
          }.`,
          confidence: 'high',
          confidence_reason: 'said by the scheduler',
        },
      ];
    }
    if (limit === undefined || used === undefined) return { skipped: 'the job had no time limit' };
    if (wall < SHORT_SECONDS) return { skipped: `the job ran for less than ${SHORT_SECONDS} s` };
    if (job.state === 'running') return { skipped: 'the job is still running' };
    const evidence = [
      {
        text: `ran ${formatDuration(wall)} of ${formatDuration(limit)} (${percent(used)})`,
        from: 'scheduler',
        value: wall,
        threshold: limit,
      },
    ];
    if (used > NEAR) {
      return [
        {
          id: 'time-limit',
          severity: 'warning',
          text:
            wall < limit
              ? `The job ended only ${formatDuration(limit - wall)} before its time limit`
              : 'The job had used up its time limit when it ended',
          evidence,
          advice: `Ask for more time next time${option(job.scheduler, wall * MARGIN)}.`,
          confidence: 'high',
          confidence_reason: 'exact times',
        },
      ];
    }
    if (job.state !== 'completed') return { skipped: 'how long it would have run is known only when it completes' };
    if (used >= LONG_BELOW || limit - wall < WORTH_SAVING_SECONDS) return [];
    return [
      {
        id: 'time-limit',
        severity: 'info',
        text: `${percent(used)} of the time limit was used`,
        evidence,
        advice: `A shorter limit starts sooner, because the scheduler can fill gaps with it${option(job.scheduler, wall * MARGIN)}.`,
        confidence: 'high',
        confidence_reason: 'exact times, but of this one run',
      },
    ];
  },
};

function option(scheduler: string, seconds: number): string {
  if (scheduler === 'slurm') return `: #SBATCH --time=${timeRequest(seconds)}`;
  if (scheduler === 'pbs') return `: #PBS -l walltime=${timeRequest(seconds)}`;
  return `: ${formatDuration(seconds)}`;
}
