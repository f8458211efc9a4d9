import { count, percent } from '../../../base/readable.ts';
import type { Confidence, Facts, Finding } from '../../report-schema.ts';
import { isShort } from '../../use/partly-recorded.ts';
import type { Sureness } from './rule.ts';

/** Number of samples from which the mean of a series is trustworthy; below, confidence is capped. */
const FEW_SAMPLES = 30;

/** How sure a verdict from samples can be by their number; gaps lower it later (`surenessCap`). */
export function sampled(samples: number | undefined): Sureness {
  if (samples !== undefined && samples < FEW_SAMPLES) return medium(`only ${count(samples, 'sample')}`);
  return high(samples === undefined ? 'exact count, not sampled' : `${samples} samples, few or no gaps`);
}

/** The most that findings of a poor recording can be sure of, and why; undefined: it is good enough for all of them. */
export function surenessCap({ quality, summary, job }: Facts): Sureness | undefined {
  if (quality.grade === 'D') return low('large parts of the recording are missing');
  if (quality.grade === 'C') return medium('the recording has gaps');
  if (!isShort(quality, summary.wall_seconds, job.interval_seconds)) return undefined;
  return medium(`${percent(quality.job_share)} of the job’s time was recorded`);
}

const RANKS: readonly Confidence[] = ['low', 'medium', 'high'];

/** A finding that is no surer than that. */
export const capped = (finding: Finding, cap: Sureness): Finding =>
  RANKS.indexOf(finding.confidence) > RANKS.indexOf(cap.confidence) ? { ...finding, ...cap } : finding;

export const high = (confidence_reason: string): Sureness => ({ confidence: 'high', confidence_reason });
export const medium = (confidence_reason: string): Sureness => ({ confidence: 'medium', confidence_reason });
export const low = (confidence_reason: string): Sureness => ({ confidence: 'low', confidence_reason });

/** CPU time of the kernel's counters is exact; samples of processes miss those that came and went between two ticks. */
export function ofCpuTime(facts: Facts): Sureness {
  const { cpu_source: source } = facts.summary;
  if (source === 'processes') return medium('added up from sampled processes: short-lived ones are missing');
  if (source === 'records and samples') return medium('some processes left no record: they were only sampled');
  if (source === 'wait4') return high('exact count by the kernel');
  return sampled(undefined);
}
