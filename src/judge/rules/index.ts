import { formatDuration } from '../../base/duration.ts';
import { append } from '../../base/extremes.ts';
import type { CheckResult, Facts, Finding, Severity } from '../report-schema.ts';
import { gpuImbalance, nodeImbalance } from './balance.ts';
import { cpuOversubscribed, cpuSerial, cpuThrottled, cpuUnderused, ioWait, nodeIdle } from './cpu.ts';
import { cpuBinding, cpuStarved } from './cpu-waits.ts';
import { jobFailed, stepFailed } from './ended.ts';
import { type Answer, type Check, SHORT_JOB_SECONDS } from './finding.ts';
import { gpuLost, gpuLow, gpuStarved, gpuThrottled, gpuUnused } from './gpu-use.ts';
import { leftRunning } from './left-running.ts';
import { memoryGrowing, memoryNearLimit, memoryUnused, outOfMemory, swap } from './memory.ts';
import { nodeLost, recordingGaps } from './recording.ts';
import { timeLimit } from './time.ts';

/** Everything that the judge looks for, in the order of the reference. A line here is all it takes to add one. */
export const checks: readonly Check[] = [
  // of findings that are equally grave the first is the headline: memory is the reason of a failure
  outOfMemory,
  jobFailed,
  stepFailed,
  timeLimit,
  nodeLost,
  gpuLost,
  gpuUnused,
  gpuLow,
  gpuStarved,
  gpuThrottled,
  gpuImbalance,
  nodeIdle,
  nodeImbalance,
  cpuStarved,
  cpuBinding,
  cpuUnderused,
  cpuSerial,
  cpuOversubscribed,
  cpuThrottled,
  memoryUnused,
  memoryNearLimit,
  memoryGrowing,
  swap,
  ioWait,
  leftRunning,
  recordingGaps,
];

const ORDER: readonly Severity[] = ['critical', 'warning', 'advice', 'info'];

/** Makes every check; the gravest findings come first. */
export function findingsOf(facts: Facts): { findings: Finding[]; checks: CheckResult[] } {
  const findings: Finding[] = [];
  const results: CheckResult[] = [];
  for (const check of checks) {
    const answer = answerOf(check, facts);
    const result: CheckResult = { id: check.id, title: check.title, outcome: 'fine' };
    if (Array.isArray(answer)) {
      append(findings, answer);
      if (answer.length > 0) result.outcome = 'found';
    } else if ('skipped' in answer) {
      result.outcome = 'skipped';
      result.why = answer.skipped;
    } else {
      result.outcome = 'unmeasurable';
      result.why = answer.unmeasurable;
      if (answer.hint !== undefined) result.hint = answer.hint;
    }
    results.push(result);
  }
  findings.sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  return { findings, checks: results };
}

function answerOf(check: Check, facts: Facts): Answer {
  const { wall_seconds: wall } = facts.summary;
  if (check.kind === 'waste' && wall < SHORT_JOB_SECONDS) {
    return { skipped: `${formatDuration(wall)} are too short to judge waste (from ${SHORT_JOB_SECONDS} s)` };
  }
  return check.look(facts);
}
