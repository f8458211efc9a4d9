import type { Check } from './finding.ts';

/** Signals that a job gets from outside more often than from its own fault. */
const FROM_OUTSIDE: Record<string, string> = {
  SIGKILL: 'killed from outside: by the kernel for want of memory, by the scheduler or by somebody',
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
    const signal =
      job.signal ?? (job.exit_code !== undefined && job.exit_code > 128 ? SHELL[job.exit_code - 128] : undefined);
    if (signal === undefined && (job.exit_code ?? 0) === 0) {
      return job.exit_code === undefined && job.state === 'unknown'
        ? { unmeasurable: job.reason ?? 'nobody says how the job ended' }
        : [];
    }
    if (TOLD_APART.has(job.state)) return [];
    const why = signal === undefined ? undefined : (FROM_INSIDE[signal] ?? FROM_OUTSIDE[signal]);
    return [
      {
        id: 'job-failed',
        severity: job.state === 'cancelled' ? 'info' : 'critical',
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
