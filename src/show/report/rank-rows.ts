import { formatDuration } from '../../base/duration.ts';
import { count, figure } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { RankReport, RanksReport, Report, WorldReport } from '../../judge/report-schema.ts';
import { foldRows, MOST_ROWS } from '../terminal/fold-rows.ts';
import { right } from '../terminal/text-table.ts';
import type { Rows } from './rows.ts';

/** The part of the report about ranks: a table, and what is said below it. */
export interface RankPart extends Rows {
  title: string;
  notes: string[];
}

const time = (seconds: number | undefined): string => (seconds === undefined ? '-' : formatDuration(seconds));
const bytes = (value: number | undefined): string => (value === undefined ? '-' : formatBytes(value));

/** Number of worlds that are shown on a page. */
const MOST_WORLDS = 8;

/** What the kernel takes to free memory when a process ends, as measured (docs/truth.md): its own record does not have that. */
const FREEING_SECONDS_PER_BYTE = 0.12e-3 / 2 ** 20;
const isShortened = ({ cpu_seconds, memory_peak_bytes = 0 }: RankReport): boolean =>
  cpu_seconds !== undefined && memory_peak_bytes * FREEING_SECONDS_PER_BYTE > Math.max(0.01, cpu_seconds / 100);

/** Of one world its ranks, of several the worlds. Without a limit nothing that the report has is left out. */
export function rankPart({ ranks }: Pick<Report, 'ranks'>, all = false): RankPart | undefined {
  if (ranks === undefined) return undefined;
  const [first, ...others] = ranks.largest;
  if (first === undefined) return undefined;
  return others.length === 0 ? worldPart(first, all) : worldsPart(ranks, all);
}

function worldPart(world: WorldReport, all: boolean): RankPart {
  const { launcher, size, recorded, nodes, ranks } = world;
  const most = all ? Number.POSITIVE_INFINITY : MOST_ROWS;
  const { rows } = foldRows(
    ranks,
    (rank) => rankMark(rank) !== '',
    (rank) => rank.cpu_seconds,
    most,
  );
  const several = nodes > 1;
  const by = launcher === undefined ? '' : ` of ${launcher}`;
  const notes: string[] = [];
  const hidden = recorded - rows.length;
  if (hidden > 0) notes.push(`${count(hidden, 'more rank')} (tacho ranks shows them)`);
  const missing = missingWords(world);
  if (missing !== undefined) notes.push(missing);
  if (world.slowest !== undefined && size > 1)
    notes.push(`slowest: rank ${world.slowest.rank}${several ? ` on ${world.slowest.node}` : ''}`);
  if (ranks.some(isShortened)) notes.push('CPU time lacks what freeing the memory took at the end: more than 1 %');
  return {
    title: `Ranks (${figure(size)}${by}${several ? ` on ${count(nodes, 'node')}` : ''})`,
    columns: [
      right('rank'),
      { head: 'node', most: 16, shrinks: true },
      { head: 'program', most: 20, spare: 5 },
      right('CPU time'),
      right('waiting'),
      right('memory'),
      right('I/O'),
      right('threads', 2),
      { head: 'CPUs', most: 12, spare: 1 },
      { head: '', mark: true },
    ],
    rows: [...rows.map((rank) => rankRow(rank, several, world.programs.length > 1)), ...spreadRows(world)],
    notes,
  };
}

function rankRow(rank: RankReport, node: boolean, program: boolean): string[] {
  const { read_chars, written_chars } = rank;
  const io =
    read_chars === undefined && written_chars === undefined ? undefined : (read_chars ?? 0) + (written_chars ?? 0);
  return [
    String(rank.rank),
    node ? rank.node : '',
    program ? rank.program : '',
    time(rank.cpu_seconds),
    time(rank.wait_seconds),
    bytes(rank.memory_peak_bytes),
    bytes(io),
    rank.threads === undefined ? '-' : figure(rank.threads),
    rank.allowed_cpus ?? '',
    rankMark(rank),
  ];
}

function spreadRows({ cpu_seconds, wait_seconds, memory_peak_bytes, io_bytes, recorded }: WorldReport): string[][] {
  if (recorded < 2) return [];
  return (['min', 'mean', 'max'] as const).map((of) => [
    of,
    '',
    '',
    time(cpu_seconds?.[of]),
    time(wait_seconds?.[of]),
    bytes(memory_peak_bytes?.[of]),
    bytes(io_bytes?.[of]),
    '',
    '',
    '',
  ]);
}

/** How it ended, when that was not well. */
function rankMark({ signal, exit_code = 0, source }: RankReport): string {
  if (signal !== undefined) return `signal ${signal}`;
  if (exit_code !== 0) return `exit ${exit_code}`;
  return source === 'sample' ? 'no end' : '';
}

const missingWords = ({ size, recorded }: WorldReport): string | undefined =>
  recorded < size ? `${figure(size - recorded)} of ${count(size, 'rank')} did not record themselves` : undefined;

function worldsPart({ worlds, ranks, largest }: RanksReport, all: boolean): RankPart {
  const cpuOf = ({ cpu_seconds, recorded }: WorldReport): number => (cpu_seconds?.mean ?? 0) * recorded;
  const most = largest.toSorted((a, b) => cpuOf(b) - cpuOf(a)).slice(0, all ? largest.length : MOST_WORLDS);
  const shown = largest.filter((world) => most.includes(world));
  const hidden = worlds - shown.length;
  return {
    title: `Ranks (${figure(ranks)} in ${count(worlds, 'world')})`,
    columns: [
      { head: 'world', align: 'right' },
      { head: 'program', most: 20, shrinks: true },
      { head: 'started by', most: 14, spare: 2 },
      { head: 'step', spare: 3 },
      right('ranks'),
      right('nodes', 1),
      right('time'),
      right('CPU min'),
      right('mean'),
      right('max'),
      { head: 'slowest', most: 16 },
    ],
    rows: shown.map((world) => [
      String(world.world),
      world.programs.join(' '),
      world.launcher ?? '',
      world.step ?? '',
      figure(world.size),
      figure(world.nodes),
      time(world.seconds),
      time(world.cpu_seconds?.min),
      time(world.cpu_seconds?.mean),
      time(world.cpu_seconds?.max),
      world.slowest === undefined ? '' : `${world.slowest.rank}${world.nodes > 1 ? ` on ${world.slowest.node}` : ''}`,
    ]),
    notes: hidden > 0 ? [`${count(hidden, 'more world')} with less CPU time (tacho ranks shows them)`] : [],
  };
}
