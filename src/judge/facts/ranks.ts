import { stated } from '../../base/stated.ts';
import { ifFinite, type Material, wholeOf } from '../../query/material.ts';
import { hasFailedRank, type Rank, ranksOf, type World } from '../../query/ranks/ranks.ts';
import { ioBytes, slowestOf, spreadOf } from '../../query/ranks/spread.ts';
import type { RankReport, RanksReport, WorldReport } from '../report-schema.ts';

/** Number of worlds that are described, those with most CPU time; of a larger world the ranks at both ends. */
const MOST_WORLDS = 20;
const MOST_RANKS = 64;
const AT_ENDS = 8;

/** The worlds of the job, or of the step that is looked at; of a part by time nobody knows what each rank used. */
export function worldsIn(material: Material): World[] {
  const { processes, job } = wholeOf(material);
  const { range } = material;
  if (processes === undefined || (range !== undefined && range.step?.whole !== true)) return [];
  const all = ranksOf(processes, job.steps);
  return range === undefined ? all : all.filter(({ step }) => step === range.step!.id);
}

/** undefined when no launcher started several ranks, or nobody knows. */
export function rankReports(material: Material): RanksReport | undefined {
  const worlds = worldsIn(material);
  if (worlds.length === 0) return undefined;
  const cpuOf = (world: World): number =>
    (spreadOf(world.ranks, (rank) => rank.cpu_seconds)?.mean ?? 0) * world.ranks.length;
  const cpu = new Map(worlds.map((world) => [world, cpuOf(world)]));
  const largest = worlds
    .toSorted((a, b) => cpu.get(b)! - cpu.get(a)!)
    .slice(0, MOST_WORLDS)
    .sort((a, b) => a.number - b.number);
  return {
    worlds: worlds.length,
    ranks: worlds.reduce((sum, { size }) => sum + size, 0),
    largest: largest.map(worldReport),
  };
}

function worldReport(world: World): WorldReport {
  const { ranks, start, end } = world;
  const slowest = slowestOf(ranks);
  const programs = new Set(ranks.map(({ program }) => program));
  return {
    world: world.number,
    size: world.size,
    recorded: ranks.length,
    nodes: new Set(ranks.map(({ node }) => node)).size,
    programs: [...programs].slice(0, 4),
    start,
    ...stated({
      launcher: world.launcher || undefined,
      step: world.step || undefined,
      seconds: ifFinite((end - start) / 1e6),
      cpu_seconds: spreadOf(ranks, (rank) => rank.cpu_seconds),
      wait_seconds: spreadOf(ranks, (rank) => rank.wait_seconds),
      memory_peak_bytes: spreadOf(ranks, (rank) => rank.memory_peak_bytes),
      io_bytes: spreadOf(ranks, ioBytes),
      slowest: slowest && { rank: slowest.rank, node: slowest.node },
    }),
    ranks: shownRanks(ranks).map(rankReport),
  };
}

/** Of many ranks those that failed and those at the ends: least and most CPU time, most memory, most I/O. */
function shownRanks(ranks: readonly Rank[]): Rank[] {
  if (ranks.length <= MOST_RANKS) return [...ranks];
  const shown = new Set(ranks.filter(hasFailedRank).slice(0, AT_ENDS));
  const ends = (value: (rank: Rank) => number, least: boolean): void => {
    const sorted = ranks.filter((rank) => !Number.isNaN(value(rank))).sort((a, b) => value(b) - value(a));
    for (const rank of sorted.slice(0, AT_ENDS)) shown.add(rank);
    for (const rank of least ? sorted.slice(-AT_ENDS) : []) shown.add(rank);
  };
  ends((rank) => rank.cpu_seconds, true);
  ends((rank) => rank.memory_peak_bytes, false);
  ends(ioBytes, false);
  return [...shown].sort((a, b) => a.rank - b.rank);
}

function rankReport(rank: Rank): RankReport {
  const { end, start, program, allowed_cpus, source } = rank;
  return {
    rank: rank.rank,
    node: rank.node,
    pid: rank.pid,
    program,
    processes: rank.processes,
    start,
    source,
    ...stated({
      threads: ifFinite(rank.threads),
      seconds: ifFinite((end - start) / 1e6),
      cpu_seconds: ifFinite(rank.cpu_seconds),
      user_seconds: ifFinite(rank.user_seconds),
      system_seconds: ifFinite(rank.system_seconds),
      wait_seconds: ifFinite(rank.wait_seconds),
      memory_peak_bytes: ifFinite(rank.memory_peak_bytes),
      read_bytes: ifFinite(rank.read_bytes),
      written_bytes: ifFinite(rank.written_bytes),
      read_chars: ifFinite(rank.read_chars),
      written_chars: ifFinite(rank.written_chars),
      allowed_cpus: allowed_cpus || undefined,
      exit_code: ifFinite(rank.exit_code),
      signal: ifFinite(rank.signal),
    }),
  };
}
