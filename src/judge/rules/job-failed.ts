import { formatMoment } from '../../base/moment.ts';
import { processEndTable, vmstatTable } from '../../sources/tables.ts';
import type { Evidence, JobReport, NodeReport } from '../report-schema.ts';
import rankDied from './rank-died.ts';
import { high } from './shared/confidence.ts';
import { LAST_FAILURE, lastFailure } from './shared/last-failure.ts';
import { processName, programOf } from './shared/processes.ts';
import { type FindingText, hit, named, type RuleContext, ruleOfCases } from './shared/rule.ts';
import { hasOwnRule } from './shared/steps.ts';

/** What signals mean that a job gets from outside more often than from its own fault, and the others. */
const SIGNALS: Record<string, string> = {
  SIGTERM: 'asked to end, by the scheduler or a user',
  SIGINT: 'interrupted (Ctrl-C)',
  SIGSEGV: 'it accessed memory that it may not use (segmentation fault)',
  SIGBUS: 'it used memory that is not there, e.g. of a truncated file or a full /dev/shm',
  SIGILL: 'it used an instruction that this CPU does not have: built for another machine?',
  SIGFPE: 'an arithmetic error, e.g. a division by zero',
  SIGABRT: 'it aborted itself; its output may say why',
};

/** What shells make of signals: 128 and the signal's number. */
const BY_SHELL: Record<number, string> = {
  2: 'SIGINT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  15: 'SIGTERM',
};

const signalOf = ({ signal, exit_code = 0 }: JobReport): string | undefined =>
  signal ?? (exit_code > 128 ? BY_SHELL[exit_code - 128] : undefined);

/** That a signal ended it is no reason; what the scheduler knows is better than a guess. */
const reasonOf = ({ reason }: JobReport): string | undefined => (reason?.startsWith('ended by ') ? undefined : reason);

const from = ({ scheduler }: JobReport): string => (scheduler === 'none' ? 'wait4' : 'scheduler');

/** Out-of-memory kills while it ran, on all its nodes; undefined where one of them did not count. */
function memoryKills(nodes: readonly NodeReport[]): number | undefined {
  let kills = 0;
  for (const { oom_kills: oomKills } of nodes) {
    if (oomKills === undefined) return undefined;
    kills += oomKills;
  }
  return nodes.length === 0 ? undefined : kills;
}

/** Who can have sent SIGKILL. */
function killer({ nodes }: RuleContext): string {
  const kills = memoryKills(nodes);
  if (kills === undefined) return 'killed by the kernel because memory ran out, by the scheduler or by a user';
  if (kills === 0) return 'killed by the scheduler or a user, not by the kernel’s out-of-memory killer';
  return nodes.some(({ oom_scope }) => oom_scope === 'job')
    ? 'the kernel’s out-of-memory killer was at work in the job'
    : 'the kernel’s out-of-memory killer was at work on its nodes';
}

const ADVICE: Record<string, string> = {
  SIGSEGV:
    'The job’s own output, a debugger or -fsanitize=address says where. A stack that is too small ends so, too (large local arrays, deep recursion): try ulimit -s unlimited.',
  SIGKILL:
    'See who ended it: the scheduler’s record of the job (sacct), the log of the node, or whoever else may signal it.',
  SIGTERM: 'The scheduler sends it at a time limit or when a job is cancelled: its record (sacct) says which.',
  SIGINT: 'Nothing is to be done if you pressed it.',
};

export default ruleOfCases({
  id: 'job-failed',
  title: 'how the job ended',
  help: 'The job ended with an exit code other than 0, or by a signal. The process that failed in the same way, at most 1 s before, is named. Where a rank of MPI died first, that is reported in its place, and this as a consequence.',
  kind: 'trouble',
  order: 110,
  isExact: true,
  needs: [
    { what: 'its end', has: ({ job }) => job.state !== 'running', otherwise: { skipped: 'the job is still running' } },
    {
      what: 'how the job ended',
      has: ({ job }) => job.state !== 'unknown' || (job.exit_code ?? job.signal) !== undefined,
      otherwise: ({ job }) => ({ unmeasurable: job.reason ?? 'it is not known how the job ended' }),
    },
  ],
  thresholds: LAST_FAILURE,
  when(facts, limits) {
    const { job } = facts;
    if (job.state === 'cancelled') return [hit(cancelled, job)];
    const isFine = signalOf(job) === undefined && (job.exit_code ?? 0) === 0;
    return isFine || hasOwnRule(job.state) ? [] : [hit(failed, { job, first: lastFailure(facts, limits) })];
  },
});

/** What a dead rank of MPI did is reported by its own rule: that the job then ended is a consequence. */
function deadRank(facts: RuleContext): string | undefined {
  const deadRankFindings = facts.ranks === undefined ? [] : facts.judgedBy(rankDied);
  return Array.isArray(deadRankFindings)
    ? deadRankFindings.find(({ severity }) => severity === 'critical')?.text
    : undefined;
}

interface Failed {
  job: JobReport;
  /** The process that failed in the same way before it. */
  first: ReturnType<typeof lastFailure>;
}

const failed: FindingText<Failed, typeof LAST_FAILURE> = {
  severity: (_, facts) => (deadRank(facts) === undefined ? 'critical' : 'info'),
  say({ job, first }, facts) {
    const signal = signalOf(job);
    if (deadRank(facts) !== undefined)
      return `The job ended ${signal === undefined ? `with exit code ${job.exit_code}` : `by ${signal}`} after a rank had died`;
    const who =
      first && `${programOf(first.set, first.at)} (pid ${first.set.pid[first.at]} on ${first.set.node[first.at]})`;
    if (signal === undefined) return `The job ended with exit code ${job.exit_code}${who ? `, as ${who} did` : ''}`;
    const why = reasonOf(job) ?? (signal === 'SIGKILL' ? killer(facts) : SIGNALS[signal]);
    return `The job was ended by ${signal}${who ? `, as ${who} was` : ''}${why === undefined ? '' : `: ${why}`}`;
  },
  evidence({ job, first }, { nodes }) {
    const text = job.reason ?? signalOf(job) ?? `exit code ${job.exit_code}`;
    return [
      { text, from: from(job) },
      ...(first === undefined ? [] : [firstEvidence(first)]),
      ...killEvidence(job, nodes),
    ];
  },
  advise: ({ job }, facts) =>
    deadRank(facts) === undefined
      ? (ADVICE[signalOf(job) ?? ''] ?? 'The job’s own output says more.')
      : 'See the finding about the rank.',
  confidence: high('reported by the system'),
};

const firstEvidence = ({ set, at }: NonNullable<Failed['first']>): Evidence => ({
  text: `${processName(set, at)} ended so at ${formatMoment(set.end[at]!)}`,
  from: named(processEndTable.col.exitcode, processEndTable.col.exitsignal),
  node: set.node[at]!,
  value: set.pid[at]!,
});

function killEvidence(job: JobReport, nodes: readonly NodeReport[]): Evidence[] {
  const kills = signalOf(job) === 'SIGKILL' ? memoryKills(nodes) : undefined;
  if (kills === undefined) return [];
  const text = kills === 0 ? 'no out-of-memory kill was counted' : `out-of-memory kills: ${kills}`;
  return [{ text, from: named(vmstatTable.col.oom_kill), value: kills }];
}

/** Somebody wanted it so: no fault, but nothing that may go unsaid. */
const cancelled: FindingText<JobReport> = {
  severity: 'info',
  say(job) {
    const reason = reasonOf(job);
    return reason === undefined ? 'The job was cancelled' : `The job was ${reason}`;
  },
  evidence(job) {
    const signal = job.signal === undefined ? [] : [`it got ${job.signal}`];
    return [{ text: [reasonOf(job) ?? 'state CANCELLED', ...signal].join('; '), from: from(job) }];
  },
  advise: 'What it did until then is in this report.',
  confidence: high('reported by the system'),
};
