import { listed } from '../../base/words.ts';
import type { Step } from '../../recording/folder/job.ts';
import type { FailedStep, Finding, JobReport } from '../report-schema.ts';
import type { Check } from './finding.ts';

/** Signals that a job gets from outside more often than from its own fault. */
const FROM_OUTSIDE: Record<string, string> = {
  SIGKILL: 'killed from outside: by the kernel because memory ran out, by the scheduler or by somebody',
  SIGTERM: 'asked to end, by the scheduler or by somebody',
  SIGINT: 'interrupted (Ctrl-C)',
};

const FROM_INSIDE: Record<string, string> = {
  SIGSEGV: 'it used memory that is not its own',
  SIGBUS: 'it used memory that is not there, e.g. of a truncated file or a full /dev/shm',
  SIGILL: 'it used an instruction that this CPU does not have: built for another machine?',
  SIGFPE: 'an arithmetic error, e.g. a division by zero',
  SIGABRT: 'it gave up by itself: see its output for the reason',
};

/** These states have findings of their own. */
const TOLD_APART = new Set(['timeout', 'out_of_memory', 'node_fail']);

export const jobFailed: Check = {
  id: 'job-failed',
  title: 'how the job ended',
  help: 'The job ended with an exit code other than 0, or by a signal.',
  needs: 'how the job ended',
  kind: 'trouble',
  look({ job }) {
    if (job.state === 'running') return { skipped: 'the job is still running' };
    if (job.state === 'cancelled') return [cancelled(job)];
    const signal =
      job.signal ?? (job.exit_code !== undefined && job.exit_code > 128 ? SHELL[job.exit_code - 128] : undefined);
    if (signal === undefined && (job.exit_code ?? 0) === 0) {
      return job.exit_code === undefined && job.state === 'unknown'
        ? { unmeasurable: job.reason ?? 'nobody says how the job ended' }
        : [];
    }
    if (TOLD_APART.has(job.state)) return [];
    // that a signal ended it is no reason; what the scheduler knows is better than a guess
    const known = job.reason?.startsWith('ended by ') ? undefined : job.reason;
    const why = signal === undefined ? undefined : (known ?? FROM_INSIDE[signal] ?? FROM_OUTSIDE[signal]);
    return [
      {
        id: 'job-failed',
        severity: 'critical',
        text:
          signal === undefined
            ? `The job ended with exit code ${job.exit_code}`
            : `The job was ended by ${signal}${why === undefined ? '' : `: ${why}`}`,
        evidence: [
          {
            text: job.reason ?? (signal === undefined ? `exit code ${job.exit_code}` : signal),
            from: job.scheduler === 'none' ? 'wait4' : 'scheduler',
          },
        ],
        advice: 'The job’s own output says more.',
        confidence: 'high',
        confidence_reason: 'reported by the system',
      },
    ];
  },
};

/** Somebody wanted it so: no fault, but nothing that may go unsaid. */
function cancelled({ reason, signal, scheduler }: JobReport): Finding {
  const known = reason?.startsWith('ended by ') ? undefined : reason;
  return {
    id: 'job-failed',
    severity: 'info',
    text: known === undefined ? 'The job was cancelled' : `The job was ${known}`,
    evidence: [
      {
        text: [known ?? 'state CANCELLED', signal === undefined ? undefined : `it got ${signal}`]
          .filter(Boolean)
          .join('; '),
        from: scheduler === 'none' ? 'wait4' : 'scheduler',
      },
    ],
    advice: 'What it did until then is in this report.',
    confidence: 'high',
    confidence_reason: 'reported by the system',
  };
}

/** How steps end that went wrong; one that was cancelled was no longer wanted. */
const STEP_WORDS: Record<string, string> = {
  failed: 'failed',
  timeout: 'reached its time limit',
  out_of_memory: 'used more memory than it was given, and was killed',
  node_fail: 'lost a node',
};

export const stepFailed: Check = {
  id: 'step-failed',
  title: 'how the steps ended',
  help: 'A step of the job (srun) failed, reached its time limit or lost a node, whatever became of the job.',
  needs: 'the job’s steps, from the scheduler',
  kind: 'trouble',
  look({ job, confined }) {
    if (job.steps === undefined) return { skipped: 'the job has no steps, or nobody says how they ended' };
    // those that memory ended are told with that
    const failed = (job.failed_steps ?? []).filter(({ state }) => state !== 'out_of_memory');
    const [one] = failed;
    if (one === undefined) return [];
    const ended = ({ state, exit_code }: FailedStep): string =>
      state === 'failed' && exit_code !== undefined ? `ended with exit code ${exit_code}` : STEP_WORDS[state]!;
    return [
      {
        id: 'step-failed',
        // a job that ended badly itself says so already
        severity: TOLD_APART.has(job.state) || job.state === 'failed' ? 'info' : 'warning',
        text:
          failed.length === 1
            ? `Step ${called(one)} ${ended(one)}`
            : `${failed.length} of ${job.steps} steps failed: ${listed(failed.map(called))}`,
        evidence: failed
          .slice(0, 8)
          .map((step) => ({ text: `step ${called(step)} ${ended(step)}`, from: 'scheduler' })),
        advice: `The job’s own output says more${confined === undefined ? `; tacho report --step ${one.id} shows what it did` : ''}.`,
        confidence: 'high',
        confidence_reason: 'said by the scheduler',
      },
    ];
  },
};

const called = ({ id, name }: FailedStep): string => `${id}${name === undefined ? '' : ` (${name})`}`;

/** "step 0 (solve)", "steps 0 (solve) and 2". */
export const stepWords = (steps: readonly FailedStep[]): string =>
  `${steps.length === 1 ? 'step' : 'steps'} ${listed(steps.map(called))}`;

/** The steps that went wrong. The batch script's own is the job, whose state does not tell that memory ran out. */
export function failedSteps(steps: readonly Step[]): FailedStep[] {
  return steps.flatMap(({ id, name, state, exit_code }) =>
    (id === 'batch' && state !== 'out_of_memory') || state === undefined || !(state in STEP_WORDS)
      ? []
      : [{ id, ...(name === undefined ? {} : { name }), state, ...(exit_code === undefined ? {} : { exit_code }) }],
  );
}

/** What shells make of signals: 128 and the signal's number. */
const SHELL: Record<number, string> = {
  2: 'SIGINT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  15: 'SIGTERM',
};
