import { formatDuration } from '../../base/duration.ts';
import { count, figure, listed, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { median } from '../../query/material.ts';
import type { Rank, World } from '../../query/ranks/ranks.ts';
import { slowestOf, spreadOf } from '../../query/ranks/spread.ts';
import { processEndTable } from '../../sources/tables.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { CPU_FROM, cpuTimeText, hasLeftRecord, rankName, ranksName, recordedRanks } from './shared/ranks.ts';
import { type FindingText, hit, type NotJudged, named, ruleOfCases, type Sureness } from './shared/rule.ts';

const thresholds = {
  /** Share of the slowest rank’s CPU time that the ranks lack on average. */
  lost: 0.2,
  /** Seconds of CPU time that the ranks lack on average. */
  lost_seconds: 2,
  /** Share of the time that the slowest rank used or waited for a CPU; below, it waited for something else. */
  busy: 0.1,
  /** Share of system time in a rank’s CPU time, from which the MPI library yields while it waits. */
  yields: 0.3,
  /** Bytes read and written per second of system time, from which I/O explains that time instead. */
  yields_bytes: 2 ** 20,
  /** Bytes that any program reads and writes to start; they are not counted. */
  start_bytes: 16 * 2 ** 20,
  /** Share of the time that all ranks used or waited for a CPU, from which MPI may wait in a loop. */
  spinning: 0.95,
  /** Share of the median CPU time below which a rank did next to nothing. */
  idle: 0.5,
  /** Memory of one rank, as a multiple of the median of the others. */
  memory: 2,
  /** Bytes by which the memory of that rank exceeds the median. */
  memory_bytes: 2 ** 30,
};

type Limits = typeof thresholds;

export default ruleOfCases({
  id: 'rank-imbalance',
  title: 'ranks with unequal work',
  help: 'Of the CPU time of the slowest rank the others lack 20 % on average: they wait for it. Or one rank has more than twice the median memory of the others, and 1 GiB more. Where the MPI library yields while it waits (system time without reads and writes), user CPU time is compared. Where all ranks were busy all of the time this is not measurable: MPI that asks again and again uses a CPU as work does.',
  kind: 'trouble',
  order: 320,
  needs: [recordedRanks],
  thresholds,
  when(facts, limits) {
    const worlds = facts.worlds();
    const uneven = worlds
      .flatMap((world) => unevenOf(world, limits) ?? [])
      .sort((a, b) => b.lost * b.world.ranks.length - a.lost * a.world.ranks.length);
    const [worst] = uneven;
    if (worst !== undefined) return [hit<Uneven, Limits>(unequal, { ...worst, others: uneven.length - 1 })];
    const large = worlds.flatMap((world) => largeOf(world, limits) ?? [])[0];
    if (large !== undefined) return [hit<Large, Limits>(oneIsLarge, large)];
    const spinning = worlds.filter((world) => maySpin(world, limits));
    return spinning.length === 0 ? [] : notMeasurable(spinning);
  },
});

/** Whether all of its ranks were busy for so long that unequal work would have been found, had they slept while they waited. */
function maySpin({ ranks }: World, limits: Limits): boolean {
  if (ranks.length < 2) return false;
  return ranks.every(({ cpu_seconds, wait_seconds, start, end }) => {
    const seconds = (end - start) / 1e6;
    const wanted = cpu_seconds + (wait_seconds || 0);
    return seconds * limits.lost >= limits.lost_seconds / 2 && wanted >= limits.spinning * seconds;
  });
}

const notMeasurable = ([world, ...others]: readonly World[]): NotJudged => ({
  unmeasurable: `the ${ranksName(world!)} were busy all of the time${others.length > 0 ? ', and so in other worlds' : ''}: MPI that waits in a loop uses a CPU as work does`,
  hint: 'let MPI yield while it waits (Open MPI: --mca mpi_yield_when_idle 1; Intel MPI: I_MPI_WAIT_MODE=1), or ask a profiler for the time in MPI calls',
});

/** Whether the MPI library gave up the CPU again and again while it waited: the kernel worked, and nothing was read or written. */
const yields = ({ cpu_seconds, system_seconds, read_chars, written_chars }: Rank, limits: Limits): boolean =>
  system_seconds >= limits.yields * cpu_seconds &&
  (read_chars || 0) + (written_chars || 0) < limits.yields_bytes * system_seconds + limits.start_bytes;

interface Uneven {
  world: World;
  /** Whether user CPU time was compared. */
  isUser: boolean;
  slowest: Rank;
  mean: number;
  /** CPU seconds that a rank lacks on average. */
  lost: number;
  idle: Rank[];
  /** Worlds of which the same is true. */
  others?: number;
}

function unevenOf(world: World, limits: Limits): Uneven | undefined {
  const { ranks, start, end } = world;
  const isUser = ranks.some((rank) => yields(rank, limits));
  const work = workOf(isUser);
  const spread = spreadOf(ranks, work);
  const slowest = isUser ? ranks.reduce((a, b) => (work(b) > work(a) ? b : a)) : slowestOf(ranks);
  if (spread === undefined || slowest === undefined || ranks.length < 2) return undefined;
  // what a rank used that was killed is known only up to its last sample
  if (ranks.some((rank) => !hasLeftRecord(rank) || rank.signal > 0 || Number.isNaN(work(rank)))) return undefined;
  const lost = spread.max - spread.mean;
  if (lost < limits.lost * spread.max || lost < limits.lost_seconds) return undefined;
  const wanted = slowest.cpu_seconds + (slowest.wait_seconds || 0);
  if (wanted < (limits.busy * (end - start)) / 1e6) return undefined;
  const middle = median(ranks.map(work))!;
  const idle = ranks.filter((rank) => work(rank) < limits.idle * middle);
  return { world, isUser, slowest, mean: spread.mean, lost, idle: spread.max - middle < lost ? idle : [] };
}

const workOf =
  (isUser: boolean) =>
  (rank: Rank): number =>
    isUser ? rank.user_seconds : rank.cpu_seconds;

const ofRecords = (ranks: readonly Rank[]): Sureness =>
  ranks.every(hasLeftRecord)
    ? high('every rank recorded its own CPU time')
    : medium('some ranks left no record: they were only sampled');

const unequal: FindingText<Uneven, Limits> = {
  severity: ({ lost, slowest, isUser }) => (lost >= workOf(isUser)(slowest) / 2 ? 'warning' : 'advice'),
  say({ world, isUser, slowest, mean, idle, others = 0 }) {
    const more = others > 0 ? `, and so in ${count(others, 'more world')}` : '';
    if (idle.length > 0)
      return `${figure(idle.length)} of ${ranksName(world)} did less than half of the others’ work: ${listed(idle.map(({ rank, node }) => `rank ${rank} on ${node}`))}${more}`;
    const times = figure(Number((workOf(isUser)(slowest) / mean).toFixed(1)));
    return `The ${ranksName(world)} had unequal work: rank ${slowest.rank} on ${slowest.node} used ${times} times the mean ${isUser ? 'user ' : ''}CPU time${more}`;
  },
  evidence({ world, isUser, slowest, mean, lost }, _, limits) {
    const work = workOf(isUser);
    const most = work(slowest);
    const byWork = world.ranks.toSorted((a, b) => work(b) - work(a));
    const named = [...new Set([slowest, ...byWork.slice(1, 2), ...byWork.slice(-2)])];
    return [
      {
        text: `mean ${formatDuration(mean)}, most ${formatDuration(most)}: a rank waited for ${percent(lost / most)} of that, on average`,
        from: CPU_FROM,
        value: lost / most,
        threshold: limits.lost,
      },
      ...shown(named).map((rank) => ({
        text: `${rankName(rank)}: ${isUser ? userWords(rank) : cpuTimeText(rank)}`,
        from: CPU_FROM,
        node: rank.node,
        value: work(rank),
      })),
    ];
  },
  advise: ({ idle }) =>
    idle.length > 0
      ? 'Give these ranks a share of the work. If they only hand out work to others, let them share a CPU with one of these.'
      : 'Divide the work more evenly: the others wait for the slowest rank. If its work is the same, look at its node.',
  confidence: ({ world }) => ofRecords(world.ranks),
};

const userWords = ({ user_seconds, system_seconds }: Rank): string =>
  `${formatDuration(user_seconds)} user, ${formatDuration(system_seconds)} system CPU time: the MPI library yields while it waits`;

interface Large {
  world: World;
  rank: Rank;
  middle: number;
}

function largeOf(world: World, limits: Limits): Large | undefined {
  const rank = world.ranks.reduce((a, b) => ((b.memory_peak_bytes || 0) > (a.memory_peak_bytes || 0) ? b : a));
  const middle = median(world.ranks.filter((other) => other !== rank).map((other) => other.memory_peak_bytes));
  if (middle === undefined) return undefined;
  const isLarge =
    rank.memory_peak_bytes > limits.memory * middle && rank.memory_peak_bytes - middle > limits.memory_bytes;
  return isLarge ? { world, rank, middle } : undefined;
}

const oneIsLarge: FindingText<Large, Limits> = {
  severity: 'info',
  say: ({ world, rank, middle }) =>
    `Of the ${ranksName(world)}, rank ${rank.rank} on ${rank.node} needed ${figure(Number((rank.memory_peak_bytes / middle).toFixed(1)))} times the median memory`,
  evidence: ({ rank, middle }, _, limits) => [
    {
      text: `${rankName(rank)}: ${formatBytes(rank.memory_peak_bytes)}, the median rank ${formatBytes(middle)}`,
      from: named(processEndTable.col.rssmax),
      node: rank.node,
      value: rank.memory_peak_bytes,
      threshold: limits.memory * middle,
    },
  ],
  advise: 'Memory is asked for by the largest rank. If it collects what others computed, let it write that in parts.',
  confidence: ({ world }) => ofRecords(world.ranks),
};
