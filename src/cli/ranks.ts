import { type Command, Option } from 'commander';
import { Fault } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { type Rank, ranksOf } from '../query/ranks/ranks.ts';
import { ioBytes } from '../query/ranks/spread.ts';
import { type DatabaseOptions, processesArgument } from './database-option.ts';
import { openProcesses } from './process-source.ts';
import { whole } from './processes.ts';
import { type SpanOptions, spanOptions } from './span-options.ts';

interface Options extends DatabaseOptions, SpanOptions {
  world?: number;
  sort: keyof typeof SORTS;
  limit?: number;
  format: 'text' | 'json' | 'csv';
}

/** What is not known comes last. */
const downwards =
  (value: (rank: Rank) => number) =>
  (rank: Rank): number =>
    Number.isNaN(value(rank)) ? Number.POSITIVE_INFINITY : -value(rank);

const SORTS = {
  rank: (rank: Rank) => rank.rank,
  cpu: downwards((rank) => rank.cpu_seconds),
  wait: downwards((rank) => rank.wait_seconds),
  memory: downwards((rank) => rank.memory_peak_bytes),
  io: downwards(ioBytes),
  duration: downwards((rank) => rank.end - rank.start),
  start: (rank: Rank) => rank.start,
};

/** Lines of text that a person reads; of more ranks, those at both ends. */
const MOST = 32;

export function define(command: Command): void {
  spanOptions(processesArgument(command))
    .option('--world <n>', 'only the ranks of this world', whole)
    .addOption(new Option('-s, --sort <by>', 'what comes first').choices(Object.keys(SORTS)).default('rank'))
    .option('-n, --limit <n>', `show at most N ranks of each world (0: all; default: ${MOST} as text)`, whole)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
A world is what one mpirun, mpiexec or srun started: two or more ranks. A rank is its process and all that this starts.
CPU time includes waiting in MPI calls: MPI libraries poll while they wait.

Examples:
  tacho ranks tacho-4711                             CPU, waiting, memory, I/O and binding of every rank
  tacho ranks tacho-4711 --sort cpu --limit 10       those with the most CPU time
  tacho ranks tacho-4711 --world 2 --format csv      of the second mpirun of the job
`,
    )
    .action(async (paths: string[], options: Options) => {
      const { set } = await openProcesses(paths, options);
      const all = ranksOf(set);
      if (all.length === 0)
        throw new Fault(`no ranks were recorded in ${set.jobs.map((job) => job.origin).join(', ')}`, {
          hint: 'a rank is what mpirun, mpiexec or srun starts, if there are two or more',
        });
      const chosenWorlds = options.world === undefined ? all : all.filter(({ number }) => number === options.world);
      if (chosenWorlds.length === 0)
        throw new Fault(`there is no world ${options.world}`, { hint: `there are ${all.length}, counted from 1` });
      const by = SORTS[options.sort];
      const worlds = chosenWorlds.map((world) => ({
        ...world,
        ranks: world.ranks.toSorted((a, b) => by(a) - by(b) || a.rank - b.rank),
      }));
      const { ranksCsv, ranksJson, ranksText } = await import('../show/process/ranks-table.ts');
      const text = options.format === 'text';
      const limit = (options.limit ?? (text ? MOST : 0)) || Number.POSITIVE_INFINITY;
      const cut = worlds.map((world) => ({ ...world, ranks: world.ranks.slice(0, limit) }));
      if (options.format === 'json') process.stdout.write(ranksJson(set, cut));
      else if (options.format === 'csv') process.stdout.write(ranksCsv(set, cut));
      else process.stdout.write(ranksText(set, worlds, { limit, width: tableWidth(), stream: process.stdout }));
    });
}
