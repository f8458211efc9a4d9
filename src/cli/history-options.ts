import * as fs from 'node:fs';
import type { Command } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { expandHostlist } from '../base/hostlist.ts';
import { formatMoment, parseMoment } from '../base/moment.ts';
import { stated } from '../base/stated.ts';
import { didYouMean } from '../base/suggest.ts';
import { warn } from '../base/warn.ts';
import type { SettingKey } from '../config/settings.ts';
import { parseAmount } from '../history/ask/amount.ts';
import { Calendar } from '../history/ask/calendar.ts';
import type { JobFilter } from '../history/ask/filter.ts';
import { type History, openHistory } from '../history/ask/history.ts';
import { jobsTable } from '../history/tables/jobs.ts';
import type { JobNumber } from '../history/tables/summary.ts';
import { progress } from '../show/terminal/progress.ts';
import { type DatabaseOptions, databaseOption, namedDatabase } from './database-option.ts';
import { parseTags } from './tags.ts';

/** Which jobs are meant, as people write it. */
export interface FilterOptions extends DatabaseOptions {
  user?: string[];
  account?: string[];
  partition?: string[];
  state?: string[];
  name?: string[];
  program?: string[];
  job?: string[];
  node?: string[];
  cluster?: string[];
  tag?: string[];
  finding?: string[];
  origin?: string[];
  excludeUser?: string[];
  excludeProgram?: string[];
  excludeJob?: string[];
  min?: string[];
  max?: string[];
  someGpu?: boolean;
  gpu?: boolean;
  from?: string;
  to?: string;
  timezone?: string;
}

/** Gives a verb the places of the history: archives, folders, a database. */
export function historyPlaces(command: Command, more: readonly SettingKey[] = []): Command {
  return databaseOption(command, more).argument(
    '[archive...]',
    'archives or folders of recordings (default: the current folder); with an index (tacho index) they answer at once',
  );
}

/** Gives a verb the filters of jobs. Lists take * and ?, and are separated by commas. */
export function jobFilters(command: Command): Command {
  return command
    .option('-u, --user <name...>', 'only jobs of these users')
    .option('--account <name...>', 'only jobs of these accounts (projects)')
    .option('--partition <name...>', 'only jobs in these partitions (queues)')
    .option('--state <state...>', 'only jobs in these states: completed, failed, timeout, running…')
    .option('--name <name...>', 'only jobs with these names')
    .option('--program <name...>', 'only jobs that ran these programs')
    .option('-j, --job <id...>', 'only jobs with these ids; the id of an array means all of its tasks')
    .option('--node <name...>', 'only jobs that ran on these nodes (c1, c[1-8], gpu*)')
    .option('--cluster <name...>', 'only jobs of these clusters')
    .option('--tag <key:value...>', 'only jobs with all of these tags')
    .option('--finding <id...>', 'only jobs with one of these findings (gpu-unused, cpu-*)')
    .option('--origin <name...>', 'only jobs from these sources: recorded, accounting, sonar, epmt')
    .option('--exclude-user <name...>', 'leave out jobs of these users')
    .option('--exclude-program <name...>', 'leave out jobs that ran these programs')
    .option('--exclude-job <id...>', 'leave out these jobs')
    .option('--min <column=value...>', 'only jobs whose column is at least this (cpu_use=0.5, wall_seconds=1h)')
    .option('--max <column=value...>', 'only jobs whose column is at most this')
    .option('--some-gpu', 'only jobs with GPUs')
    .option('--no-gpu', 'only jobs without GPUs');
}

export function periodOptions(command: Command, usual: string): Command {
  return command
    .option('--from <time>', `from this time on (2026-11-15, -7d; default: ${usual})`)
    .option('--to <time>', 'until this time (default: now)')
    .option(
      '--timezone <zone>',
      'time zone of times, days and hours, as Europe/Oslo (default: that of this machine)',
      inZone,
    );
}

/** From here on the times that are given, and those that are printed, are of that zone. */
function inZone(zone: string): string {
  const { zone: zoneName } = new Calendar(zone);
  process.env.TZ = zoneName;
  return zoneName;
}

const split = (given: readonly string[] | undefined): string[] | undefined =>
  given?.flatMap((text) => text.split(',')).filter((text) => text !== '');

/** Lists of nodes may be written as Slurm does. */
export const nodesOf = (given: readonly string[] | undefined): string[] | undefined =>
  given?.flatMap((text) => expandHostlist(text));

export function filterOf(options: FilterOptions): JobFilter {
  const not = stated({
    users: split(options.excludeUser),
    programs: split(options.excludeProgram),
    jobs: split(options.excludeJob),
  });
  const ranges = rangesOf(options);
  return {
    ...stated({
      users: split(options.user),
      accounts: split(options.account),
      partitions: split(options.partition),
      states: split(options.state)?.map((state) => state.toLowerCase()),
      names: options.name,
      programs: split(options.program),
      jobs: split(options.job),
      nodes: nodesOf(options.node),
      clusters: split(options.cluster),
      findings: split(options.finding),
      origins: split(options.origin),
      tags: options.tag === undefined ? undefined : parseTags(options.tag),
    }),
    ...(options.someGpu === true ? { gpu: true } : options.gpu === false ? { gpu: false } : {}),
    ...(Object.keys(not).length === 0 ? {} : { not }),
    ...(Object.keys(ranges).length === 0 ? {} : { ranges }),
    ...windowOf(options),
  };
}

export function windowOf({ from, to }: Pick<FilterOptions, 'from' | 'to'>): { from?: number; to?: number } {
  const window = stated({
    from: from === undefined ? undefined : parseMoment(from),
    to: to === undefined ? undefined : parseMoment(to),
  });
  needOrder(window.from, window.to);
  return window;
}

/** A period that ends before it begins would have no data whatever there is. */
export function needOrder(from: number | undefined, to: number | undefined): void {
  if (from !== undefined && to !== undefined && from >= to)
    throw usage(
      `the period ends before it begins: ${formatMoment(from)} to ${formatMoment(to)}`,
      '--from is earlier than --to',
    );
}

const NUMBERS = new Map(
  jobsTable.columns.flatMap((column) => (column.type === 'text' ? [] : [[column.name as string, column] as const])),
);

function rangesOf({ min = [], max = [] }: FilterOptions): NonNullable<JobFilter['ranges']> {
  const ranges: Record<string, { min?: number; max?: number }> = {};
  for (const [side, all] of [
    ['min', min],
    ['max', max],
  ] as const)
    for (const text of all.flatMap((one) => one.split(','))) {
      const [, name, value] = /^(\w+)=(.+)$/.exec(text) ?? [];
      if (name === undefined) throw usage(`"${text}" is no column and value`, `write it like --${side} cpu_use=0.5`);
      const column = NUMBERS.get(name);
      if (column === undefined)
        throw usage(
          `jobs have no figure "${name}"${didYouMean(name, [...NUMBERS.keys()])}`,
          `there are ${[...NUMBERS.keys()].join(', ')}`,
        );
      ranges[name] = { ...ranges[name], [side]: parseAmount(text, value!, column.unit) };
    }
  return ranges as { [C in JobNumber]?: { min?: number; max?: number } };
}

/** Opens the history of what is named; recordings that cannot be read are named, and the exit code says so too. */
export async function historyOf(paths: readonly string[], options: DatabaseOptions): Promise<History> {
  const database = await namedDatabase(options);
  if (database !== undefined) {
    if (paths.length > 0) throw usage('name archives or a database, not both', 'leave out --db, or the archives');
    return openHistory({ database: { query: (sql) => database.query(sql) } });
  }
  const missing = paths.find((name) => !name.includes('/') && !fs.existsSync(name));
  if (missing !== undefined)
    throw new Fault(`cannot open ${missing}: no such file or folder`, {
      hint: `an archive or folder is needed here; tacho jobs --job ${missing} looks for a job in the current folder`,
    });
  let bar: ReturnType<typeof progress> | undefined;
  return openHistory({
    folders: paths,
    rules: async () => (await import('./rule-settings.ts')).forgivingRules(options.config),
    leftOut: ({ message, hint }) => {
      warn(`left out: ${message}${hint === undefined ? '' : `; ${hint}`}`);
      process.exitCode = 1;
    },
    progress: (done, of) => {
      bar ??= progress('summarising recordings (tacho index keeps that)', of);
      bar.advance();
      if (done === of) bar.done();
    },
  });
}

/** Asks, and closes whatever was opened. */
export async function withHistory<T>(
  paths: readonly string[],
  options: DatabaseOptions,
  work: (history: History) => Promise<T>,
): Promise<T> {
  const history = await historyOf(paths, options);
  try {
    return await work(history);
  } finally {
    await history.close();
  }
}

export function numberOf(what: string): (text: string) => number {
  return (text) => {
    if (!/^\d+$/.test(text)) throw usage(`"${text}" is not a number of ${what}`, 'write it like 50; 0 means all');
    return Number(text);
  };
}
