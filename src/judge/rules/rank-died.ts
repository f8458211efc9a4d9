import { formatDuration } from '../../base/duration.ts';
import { formatMoment } from '../../base/moment.ts';
import { count, figure } from '../../base/readable.ts';
import { signalName } from '../../base/signal-name.ts';
import { hasFailedRank, type Rank, type World } from '../../query/ranks/ranks.ts';
import { processEndTable } from '../../sources/tables.ts';
import type { Evidence, JobReport } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { rankName, ranksName, recordedRanks } from './shared/ranks.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

/** How launchers end the other ranks. */
const BY_LAUNCHER: readonly number[] = [9, 15];

interface Died {
  world: World;
  /** Which one went wrong first; undefined: several ended at once, and nobody knows. */
  first: Rank | undefined;
  failed: Rank[];
  /** Of all of them the same is known: the same exit code. */
  isAll: boolean;
}

export default rule({
  id: 'rank-died',
  title: 'a rank that died',
  help: 'A rank ended by a signal or with an exit code other than 0, or left no record of its end in a job or step that failed. The one that ended first is named; launchers then end the others.',
  kind: 'trouble',
  order: 122,
  isExact: true,
  needs: [recordedRanks],
  thresholds: {},
  when(facts) {
    // then the scheduler has ended all of them
    if (['cancelled', 'timeout', 'preempted', 'node_fail'].includes(facts.job.state))
      return { skipped: 'the scheduler ended the job' };
    const died = facts.worlds().flatMap((world) => diedIn(world, facts) ?? []);
    return died.sort((a, b) => Number(b.first !== undefined) - Number(a.first !== undefined)).slice(0, 3);
  },
  // a job that goes on, or ended well, may not need it
  severity: (_, { job }) => (['completed', 'running'].includes(job.state) ? 'warning' : 'critical'),
  say({ world, first, failed, isAll }) {
    if (isAll && failed.length > 1)
      return `All of the ${ranksName(world)} that were recorded ended with exit code ${failed[0]!.exit_code}`;
    if (first === undefined) return `${figure(failed.length)} of the ${ranksName(world)} were killed`;
    const others = failed.length - 1;
    const then = others === 0 ? '' : `; then ${count(others, 'other rank')} ended, too`;
    return `Of the ${ranksName(world)}, rank ${first.rank} on ${first.node} ${endWords(first)} after ${lifeWords(first)}${then}`;
  },
  evidence: ({ first, failed, world }) => {
    const shown = [...(first === undefined ? [] : [first]), ...failed.filter((rank) => rank !== first).slice(0, 2)];
    return shown.map((rank): Evidence => {
      const value = rank.signal > 0 ? rank.signal : rank.exit_code;
      return {
        text: `${rankName(rank)}, pid ${rank.pid}: ${endWords(rank)}${Number.isNaN(rank.end) ? '' : ` at ${formatMoment(rank.end)}`}${world.step === '' ? '' : `, step ${world.step}`}`,
        from: named(processEndTable.col.exitcode, processEndTable.col.exitsignal),
        node: rank.node,
        ...(Number.isNaN(value) ? {} : { value }),
      };
    });
  },
  advise: ({ first }) =>
    first?.signal === 9
      ? 'Signal 9 comes from outside: look for memory that ran out on that node, then for who sent it.'
      : 'Look at the output of that rank, not at that of those that were ended after it (mpirun --tag-output, srun --label).',
  confidence: ({ first, failed }) =>
    first !== undefined && hasFailedRank(first)
      ? high('how it ended was reported by itself or its parent')
      : failed.length === 1
        ? medium('neither it nor its parent recorded its end')
        : medium('which one ended first is not known: they left no records of their ends'),
});

function endWords(rank: Rank): string {
  if (rank.signal > 0) return `was ended by ${signalName(rank.signal)}`;
  return rank.exit_code > 0 ? `ended with exit code ${rank.exit_code}` : 'was killed: it left no record of its end';
}

const lifeWords = ({ start, end }: Rank): string =>
  Number.isNaN(end) ? 'an unknown time' : formatDuration((end - start) / 1e6);

function diedIn(world: World, { job }: RuleContext): Died | undefined {
  const failedRanks = world.ranks.filter(hasFailedRank);
  const hasEnd = ({ exit_code, signal }: Rank): boolean => !Number.isNaN(exit_code) || signal > 0;
  const silent = hasFailed(job, world) ? world.ranks.filter((rank) => !hasEnd(rank)) : [];
  const failed = [...failedRanks, ...silent];
  if (failed.length === 0) return undefined;
  const codes = new Set(failedRanks.map(({ exit_code }) => exit_code));
  const isAll =
    failedRanks.length === world.ranks.length && codes.size === 1 && failedRanks.every(({ signal }) => !(signal > 0));
  return { world, failed, first: firstOf(failedRanks, silent, job), isAll };
}

/** Some programs end without a record, and well: only where something failed does that mean anything. */
function hasFailed({ state, exit_code = 0, failed_steps = [] }: JobReport, { step }: World): boolean {
  if (step !== '' && failed_steps.some(({ id }) => id === step)) return true;
  return state === 'failed' || state === 'out_of_memory' || exit_code !== 0;
}

/** The one that ended before the others, not at their launcher’s wish if any did so. */
function firstOf(failedRanks: readonly Rank[], silent: readonly Rank[], job: JobReport): Rank | undefined {
  const byEnd = (a: Rank, b: Rank): number => a.end - b.end;
  const own = failedRanks.filter(({ signal }) => !BY_LAUNCHER.includes(signal)).sort(byEnd);
  if (own.length > 0) return own[0];
  const [first, second] = [...failedRanks, ...silent].sort(byEnd);
  if (second === undefined || failedRanks.includes(first!)) return first;
  // what was only sampled ended at some time until the next tick
  return second.end - first!.end > 1.5e6 * (job.interval_seconds || 1) ? first : undefined;
}
