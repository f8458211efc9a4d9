import { count, percent } from '../../base/words.ts';
import { MOST_OF_JOB } from '../facts/quality.ts';
import type { Confidence, Facts, Finding } from '../report-schema.ts';

/** What a check answers: findings (none: all is well), or why there can be none. */
export type Answer = Finding[] | { unmeasurable: string; hint?: string } | { skipped: string };

/** One thing that the judge looks for. */
export interface Check {
  id: string;
  title: string;
  /** For the reference: what it says, when, and from what. */
  help: string;
  /** What must have been recorded: tables, columns or facts of the job. */
  needs: string;
  /** waste: something was asked for and not used; needs a job long enough to tell. trouble: something went wrong. */
  kind: 'waste' | 'trouble';
  look(facts: Facts): Answer;
}

/** Shorter jobs get no verdicts on waste: starting up, loading and the first samples are most of what was seen. */
export const SHORT_JOB_SECONDS = 30;

/** So many samples of a series make its mean trustworthy; below, confidence is capped. */
export const FEW_SAMPLES = 30;

const LEVELS: readonly Confidence[] = ['low', 'medium', 'high'];

/** The lower of two. */
export function lower(a: Confidence, b: Confidence): Confidence {
  return LEVELS[Math.min(LEVELS.indexOf(a), LEVELS.indexOf(b))]!;
}

/** How sure a verdict from samples can be: by their number and by the recording's gaps. */
export function sampled(
  facts: Facts,
  samples: number | undefined,
): { confidence: Confidence; confidence_reason: string } {
  if (samples !== undefined && samples < FEW_SAMPLES) {
    return { confidence: 'medium', confidence_reason: `only ${count(samples, 'sample')}` };
  }
  const { grade, job_share } = facts.quality;
  if (grade === 'D') return { confidence: 'low', confidence_reason: 'large parts of the recording are missing' };
  if (grade === 'C') return { confidence: 'medium', confidence_reason: 'the recording has gaps' };
  if ((job_share ?? 1) < MOST_OF_JOB) {
    return { confidence: 'medium', confidence_reason: `${percent(job_share)} of the job’s time was recorded` };
  }
  return {
    confidence: 'high',
    confidence_reason: samples === undefined ? 'exact count, not sampled' : `${samples} samples, few or no gaps`,
  };
}
