import { formatDuration } from '../../../base/duration.ts';
import { smallest } from '../../../base/extremes.ts';
import { count, figure, percent } from '../../../base/readable.ts';
import type { Rank, World } from '../../../query/ranks/ranks.ts';
import { cpusIn } from '../../../query/use/process-work.ts';
import { processEndTable, processTable } from '../../../sources/tables.ts';
import type { Evidence } from '../../report-schema.ts';
import { high, medium } from './confidence.ts';
import { type Fact, named, type Sureness } from './rule.ts';

/** What rules about ranks have in common. */

const MPI = /^(mpirun|mpiexec|orterun|prun|prterun|aprun|jsrun)(\.\w+)?$/;

/** Ranks are known where processes record themselves. */
export const recordedRanks: Fact = {
  what: 'ranks (mpirun, srun) that recorded themselves',
  columns: [processEndTable.col.rank, processEndTable.col.ranks],
  has: ({ ranks }) => ranks !== undefined,
  otherwise: ({ job, records }) =>
    records === undefined && MPI.test(job.command?.[0]?.replace(/.*\//, '') ?? '')
      ? { unmeasurable: 'processes did not record themselves, so that ranks are not known' }
      : { skipped: 'nothing started several ranks' },
};

/** Where the CPU time of a rank, and what it waited, come from. */
export const CPU_FROM = named(processEndTable.col.usertime, processEndTable.col.systemtime);
export const WAIT_FROM = named(processEndTable.col.time_waiting);
export const BOUND_FROM = named(processTable.col.allowed_cpus);

/** "rank 3 (solver) on c2". */
export const rankName = ({ rank, program, node }: Rank): string => `rank ${rank} (${program}) on ${node}`;

/** "4 ranks of solver". */
export function ranksName({ ranks, size }: World): string {
  const programs = new Set(ranks.map(({ program }) => program));
  return `${count(size, 'rank')}${programs.size === 1 ? ` of ${ranks[0]!.program}` : ''}`;
}

/** "the 4 ranks of solver", or "3 of the 4 ranks of solver". */
export const someRanks = (world: World, some: number): string =>
  some === world.size ? `the ${ranksName(world)}` : `${figure(some)} of the ${ranksName(world)}`;

export const hasLeftRecord = ({ source }: Rank): boolean => source === 'record';

/** Ranks on one node, and what they wanted together. */
export interface CrowdedRanks {
  world: World;
  node: string;
  ranks: Rank[];
  /** CPUs that they wanted on average, had and waited for. */
  wanted: number;
  /** Of the time in which they wanted a CPU, the share in which they had none. */
  waited: number;
}

/** Limits by which ranks on a node are too many for its CPUs: they are among the thresholds of each rule. */
export const CROWDED = {
  /** CPUs that ranks used or waited for, as a multiple of the CPUs that they may use. */
  wanted: 1.25,
  /** Share of the time in which their threads were ready to run but had no CPU. */
  waited: 0.25,
  /** Ranks that ran for fewer seconds are not judged. */
  seconds: 3,
};

/** What ranks on one node wanted; undefined where it is not known how long they waited, or they were over at once. */
export function crowdOf(world: World, ranks: readonly Rank[], limits: typeof CROWDED): CrowdedRanks | undefined {
  const measuredRanks = ranks.filter(
    ({ cpu_seconds, wait_seconds, end }) => !Number.isNaN(cpu_seconds + wait_seconds + end),
  );
  if (measuredRanks.length < 2) return undefined;
  const seconds = smallest(measuredRanks.map(({ start, end }) => (end - start) / 1e6));
  if (!(seconds >= limits.seconds)) return undefined;
  const sum = (value: (rank: Rank) => number): number => measuredRanks.reduce((total, rank) => total + value(rank), 0);
  const wait = sum((rank) => rank.wait_seconds);
  const busy = sum((rank) => rank.cpu_seconds) + wait;
  const wanted = sum(
    ({ cpu_seconds, wait_seconds, start, end }) => (cpu_seconds + wait_seconds) / ((end - start) / 1e6),
  );
  return { world, node: measuredRanks[0]!.node, ranks: measuredRanks, wanted, waited: busy === 0 ? 0 : wait / busy };
}

/** How long they waited, as evidence. */
export const crowdEvidence = ({ node, waited }: CrowdedRanks, limits: typeof CROWDED): Evidence => ({
  text: `${node}: they waited for a CPU ${percent(waited)} of the time in which they were ready to run`,
  from: WAIT_FROM,
  node,
  value: waited,
  threshold: limits.waited,
});

export const surenessOfCrowds = (crowds: readonly CrowdedRanks[], why: string): Sureness =>
  crowds.every(({ ranks }) => ranks.every(hasLeftRecord))
    ? high(why)
    : medium('some ranks left no record: of these the main thread alone was sampled');

/** Whether they wanted more than so many CPUs, and waited. */
export const isCrowd = ({ wanted, waited }: CrowdedRanks, cpus: number, limits: typeof CROWDED): boolean =>
  wanted > limits.wanted * cpus && waited >= limits.waited;

/** The most crowded first. */
export const byCrowd = (a: CrowdedRanks & { cpus: number }, b: CrowdedRanks & { cpus: number }): number =>
  b.wanted / b.cpus - a.wanted / a.cpus;

export const ranksByNode = ({ ranks }: World): Map<string, Rank[]> => Map.groupBy(ranks, ({ node }) => node);

/** CPUs that any of these ranks may run on; undefined where that is not known of all. */
export function cpusOfRanks(ranks: readonly Rank[]): number | undefined {
  const lists = new Set(ranks.map(({ allowed_cpus }) => allowed_cpus));
  if (lists.has('')) return undefined;
  const cpus = new Set<number>();
  for (const list of lists) for (const cpu of cpusIn(list)) cpus.add(cpu);
  return cpus.size;
}

/** "12.3 s CPU time". */
export const cpuTimeText = ({ cpu_seconds }: Rank): string => `${formatDuration(cpu_seconds)} CPU time`;
