import { formatDuration } from '../../base/duration.ts';
import { count, figure } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { jobLabels } from '../../query/processes/job-labels.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { hasFailedRank, type Rank, type World } from '../../query/ranks/ranks.ts';
import { ioBytes, type RankSpread, slowestOf, spreadOf } from '../../query/ranks/spread.ts';
import { paint } from '../terminal/paint.ts';
import { hiddenColumns, printable, right, textTable, wrap } from '../terminal/text-table.ts';
import { listCsv, listJson } from './rows.ts';
import type { ProcessTextOptions } from './table.ts';

export interface RanksTextOptions extends ProcessTextOptions {
  /** Number of ranks of each world. */
  limit: number;
}

/** Number of worlds with a table of their ranks; more have one line each, and of very many the first ones. */
const MOST_TABLES = 4;
const MOST_WORLDS = 40;

const time = (seconds: number): string => (Number.isNaN(seconds) ? '-' : formatDuration(seconds));
const bytes = (value: number): string => (Number.isNaN(value) ? '-' : formatBytes(value));

/** The ranks of each world; of many worlds one line each. */
export function ranksText(set: ProcessSet, worlds: readonly World[], options: RanksTextOptions): string {
  const tables = worlds.length > MOST_TABLES ? [worldsTable(set, worlds, options)] : [];
  if (tables.length === 0) for (const world of worlds) tables.push(worldTable(set, world, worlds.length > 1, options));
  return `${tables.join('\n\n')}\n`;
}

function worldTable(set: ProcessSet, world: World, several: boolean, options: RanksTextOptions): string {
  const pen = paint(options.stream ?? {});
  const { ranks, size } = world;
  const width = options.width ?? 80;
  const shown = ranks.slice(0, options.limit);
  const nodes = new Set(ranks.map(({ node }) => node));
  const programs = new Set(ranks.map(({ program }) => program));
  const leftOut: string[] = [];
  const [heads, ...lines] = textTable(
    [
      right('rank'),
      { head: 'node', most: 20, shrinks: true },
      { head: 'program', most: 20, spare: 6 },
      right('CPU'),
      right('system', 4),
      right('waiting'),
      right('memory'),
      right('I/O'),
      right('time', 3),
      right('threads', 2),
      { head: 'CPUs', most: 14, spare: 1 },
      right('pid', 5),
      { head: 'exit', align: 'right' },
    ],
    [
      ...shown.map((rank) => [
        String(rank.rank),
        nodes.size > 1 ? printable(rank.node) : '',
        programs.size > 1 ? printable(rank.program) : '',
        time(rank.cpu_seconds),
        time(rank.system_seconds),
        time(rank.wait_seconds),
        bytes(rank.memory_peak_bytes),
        bytes(ioBytes(rank)),
        time((rank.end - rank.start) / 1e6),
        figure(rank.threads),
        rank.allowed_cpus || '-',
        String(rank.pid),
        exitOf(rank),
      ]),
      ...spreads(ranks),
    ],
    width,
    leftOut,
  );
  const notes: string[] = [];
  if (ranks.length > shown.length)
    notes.push(`${count(ranks.length - shown.length, 'more rank')}; --limit 0 shows all`);
  if (ranks.length < size)
    notes.push(`${figure(size - ranks.length)} of ${count(size, 'rank')} did not record themselves`);
  const slowest = slowestOf(ranks);
  if (slowest !== undefined) notes.push(`slowest: rank ${slowest.rank} on ${printable(slowest.node)}`);
  if (ranks.some(({ source }) => source === 'sample'))
    notes.push('no end: killed or still running, with what sampling saw');
  notes.push(...hiddenColumns(leftOut));
  const title = wrap(printable(titleOf(set, world, several, nodes.size)), width).map(pen.bold);
  return [...title, pen.dim(heads!), ...lines, ...notes.flatMap((note) => wrap(note, width)).map(pen.dim)].join('\n');
}

function titleOf(
  set: ProcessSet,
  { job, number, launcher, step, size, ranks }: World,
  several: boolean,
  nodes: number,
): string {
  const titleTexts = [
    ...(set.jobs.length > 1 ? [`job ${jobLabels(set.jobs)[job]}`] : []),
    ...(several ? [`world ${number}`] : []),
    `${count(size, 'rank')}${launcher === '' ? '' : ` of ${launcher}`} on ${nodes === 1 ? ranks[0]!.node : count(nodes, 'node')}`,
    ...(step === '' ? [] : [`step ${step}`]),
    ranks[0]!.command,
  ];
  return titleTexts.join(', ');
}

function exitOf(rank: Rank): string {
  if (rank.signal > 0) return `signal ${rank.signal}`;
  if (!Number.isNaN(rank.exit_code)) return String(rank.exit_code);
  return rank.source === 'sample' ? 'no end' : '-';
}

function spreads(ranks: readonly Rank[]): string[][] {
  const of = (value: (rank: Rank) => number) => spreadOf(ranks, value);
  const spread = [
    of((rank) => rank.cpu_seconds),
    of((rank) => rank.system_seconds),
    of((rank) => rank.wait_seconds),
    of((rank) => rank.memory_peak_bytes),
    of(ioBytes),
    of((rank) => (rank.end - rank.start) / 1e6),
  ];
  const cell = (which: keyof RankSpread, i: number): string =>
    (i === 3 || i === 4 ? bytes : time)(spread[i]?.[which] ?? Number.NaN);
  return (['min', 'mean', 'max'] as const).map((which) => [
    which,
    '',
    '',
    ...spread.map((_, i) => cell(which, i)),
    '',
    '',
    '',
    '',
  ]);
}

function worldsTable(set: ProcessSet, worlds: readonly World[], options: RanksTextOptions): string {
  const pen = paint(options.stream ?? {});
  const several = set.jobs.length > 1;
  const width = options.width ?? 80;
  const shown = worlds.slice(0, MOST_WORLDS);
  const [heads, ...lines] = textTable(
    [
      { head: 'job', most: 14, middle: true },
      right('world'),
      { head: 'program', most: 24, shrinks: true },
      { head: 'started by', most: 14, spare: 2 },
      { head: 'step', spare: 3 },
      right('ranks'),
      right('failed'),
      right('time'),
      right('CPU min'),
      right('mean'),
      right('max'),
      { head: 'slowest', most: 20 },
    ],
    shown.map((world) => {
      const cpu = spreadOf(world.ranks, (rank) => rank.cpu_seconds);
      const slowest = slowestOf(world.ranks);
      const failed = world.ranks.filter(hasFailedRank).length;
      return [
        several ? printable(jobLabels(set.jobs)[world.job]!) : '',
        String(world.number),
        printable(world.ranks[0]!.program),
        printable(world.launcher),
        world.step,
        figure(world.size),
        failed === 0 ? '' : figure(failed),
        time((world.end - world.start) / 1e6),
        time(cpu?.min ?? Number.NaN),
        time(cpu?.mean ?? Number.NaN),
        time(cpu?.max ?? Number.NaN),
        slowest === undefined ? '' : `${slowest.rank} on ${printable(slowest.node)}`,
      ];
    }),
    width,
  );
  const hidden = worlds.length - shown.length;
  const more = hidden > 0 ? [`${count(hidden, 'more world')}; --format csv has all`] : [];
  return [pen.dim(heads!), ...lines, ...[...more, '--world N shows the ranks of one'].map(pen.dim)].join('\n');
}

const FIELDS = [
  ...(['rank', 'node', 'pid', 'program', 'command', 'processes', 'threads', 'start', 'end'] as const),
  ...(['cpu_seconds', 'user_seconds', 'system_seconds', 'wait_seconds', 'memory_peak_bytes'] as const),
  ...(['read_bytes', 'written_bytes', 'read_chars', 'written_chars', 'allowed_cpus'] as const),
  ...(['exit_code', 'signal', 'source'] as const),
] satisfies (keyof Rank)[];

const HEADS = ['job', 'world', 'launcher', 'step', 'size', ...FIELDS] as const;

/** What is known of a rank, for programs. */
function* facts(set: ProcessSet, worlds: readonly World[]): Generator<Record<string, string | number>> {
  for (const { job, number, launcher, step, size, ranks } of worlds)
    for (const rank of ranks) {
      const cells: Record<string, string | number> = { job: set.jobs[job]!.id, world: number, launcher, step, size };
      for (const name of FIELDS) cells[name] = rank[name];
      for (const name of HEADS) if (cells[name] === '' || Number.isNaN(cells[name])) delete cells[name];
      yield cells;
    }
}

export const ranksJson = (set: ProcessSet, worlds: readonly World[]): string => listJson([...facts(set, worlds)]);

export const ranksCsv = (set: ProcessSet, worlds: readonly World[]): string =>
  listCsv(
    HEADS,
    [...facts(set, worlds)].map((cells) => HEADS.map((head) => cells[head] ?? '')),
  );
