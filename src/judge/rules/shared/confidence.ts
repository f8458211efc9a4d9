import { count, percent } from '../../../base/words.ts';
import { MOST_OF_JOB } from '../../facts/quality.ts';
import type { Facts } from '../../report-schema.ts';
import type { Sureness } from './rule.ts';

/** So many samples of a series make its mean trustworthy; below, confidence is capped. */
const FEW_SAMPLES = 30;

/** How sure a verdict from samples can be: by their number and by the recording's gaps. */
export function sampled(facts: Facts, samples: number | undefined): Sureness {
  if (samples !== undefined && samples < FEW_SAMPLES) {
    return medium(`only ${count(samples, 'sample')}`);
  }
  const { grade, job_share } = facts.quality;
  if (grade === 'D') return low('large parts of the recording are missing');
  if (grade === 'C') return medium('the recording has gaps');
  if ((job_share ?? 1) < MOST_OF_JOB) {
    return medium(`${percent(job_share)} of the job’s time was recorded`);
  }
  return high(samples === undefined ? 'exact count, not sampled' : `${samples} samples, few or no gaps`);
}

export const high = (confidence_reason: string): Sureness => ({ confidence: 'high', confidence_reason });
export const medium = (confidence_reason: string): Sureness => ({ confidence: 'medium', confidence_reason });
export const low = (confidence_reason: string): Sureness => ({ confidence: 'low', confidence_reason });

/** CPU time of the kernel's counters is exact; samples of processes miss those that came and went between two ticks. */
export function ofCpuTime(facts: Facts): Sureness {
  const { cpu_source: source } = facts.summary;
  if (source === 'processes') return medium('added up from sampled processes: short-lived ones are missing');
  if (source === 'records and samples') return medium('some processes left no record: they were only sampled');
  if (source === 'wait4') return high('exact count by the kernel');
  return sampled(facts, undefined);
}
