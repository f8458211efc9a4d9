import { type Command, Option } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { printable } from '../base/printable.ts';
import { filterProcesses } from '../query/processes/filter.ts';
import type { ProcessSet } from '../query/processes/set.ts';
import type { ThreadsOf } from '../show/process/threads-table.ts';
import { type DatabaseOptions, databaseOption } from './database-option.ts';
import { JOBS_ARGUMENT } from './named-recordings.ts';
import { openProcesses } from './process-source.ts';
import { several, whole } from './processes.ts';
import { type SpanOptions, spanOptions } from './span-options.ts';

interface Options extends DatabaseOptions, SpanOptions {
  process?: string;
  filter: string[];
  limit?: number;
  format: 'text' | 'json' | 'csv';
}

const MOST = 40;

export function define(command: Command): void {
  spanOptions(databaseOption(command))
    .usage('--process PID [RECORDING…] [options]')
    .argument('[recordings...]', JOBS_ARGUMENT)
    .option('-p, --process <pid>', 'the process whose threads are wanted')
    .option('--filter <expression>', 'which one, if several had this pid: node=c1, exename=cp…', several, [])
    .option('-n, --limit <n>', `show at most N rows, by CPU time (0: all; default: ${MOST} as text)`, whole)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Threads come in the order of their start; with --limit those with the most CPU time are kept.

Examples:
  tacho threads --process 4711 tacho-17
  tacho threads --process 4711 tacho-17 --filter node=c2 --format csv
`,
    )
    .action(async (paths: string[], options: Options) => {
      const pid = options.process;
      if (pid !== undefined && !/^\d+$/.test(pid)) throw usage(`"${pid}" is not a pid`, 'write it like --process 4711');
      const { source, set } = await openProcesses(paths, options);
      if (pid === undefined) throw usage('tacho threads needs --process PID', candidates(set));
      const matchingProcesses = filterProcesses(set, [`pid=${pid}`, ...options.filter]);
      if (matchingProcesses.length === 0) throw new Fault(`no process ${pid} was recorded`, { hint: candidates(set) });
      const limit = options.limit ?? (options.format === 'text' ? MOST : 0);
      const all: ThreadsOf[] = [];
      for (const i of matchingProcesses.sort((a, b) => set.job[a]! - set.job[b]! || set.start[a]! - set.start[b]!)) {
        const id = { job: set.job[i]!, node: set.node[i]!, pid: set.pid[i]!, start: set.start[i]! };
        const threads = await source.threads(id);
        const threadIndexes = Array.from({ length: threads.length }, (_, k) => k);
        const kept =
          limit === 0
            ? threadIndexes
            : threadIndexes.sort((a, b) => threads.cpu_time[b]! - threads.cpu_time[a]!).slice(0, limit);
        all.push({ process: i, threads, order: kept.sort((a, b) => a - b) });
      }
      const { threadsCsv, threadsJson, threadsTable } = await import('../show/process/threads-table.ts');
      if (options.format === 'json') process.stdout.write(threadsJson(set, all));
      else if (options.format === 'csv') process.stdout.write(threadsCsv(set, all));
      else {
        const page = { width: tableWidth(), stream: process.stdout };
        process.stdout.write(all.map((one) => threadsTable(set, one, page)).join('\n'));
      }
    });
}

/** Processes that a user may mean: those with most threads. */
function candidates(set: ProcessSet): string {
  const order = Array.from({ length: set.length }, (_, i) => i).sort(
    (a, b) => (set.threads[b]! || 0) - (set.threads[a]! || 0) || (set.cpu_time[b]! || 0) - (set.cpu_time[a]! || 0),
  );
  // a process that became another program is one candidate, called by the program that used most
  const processes = Map.groupBy(order, (i) => set.process[i]!).values();
  const images = Array.from(processes, ([busiest]) => busiest!);
  const most = images.slice(0, 3).map((i) => `${set.pid[i]} (${printable(set.exename[i]!)})`);
  return `most threads have ${most.join(', ')}; tacho processes --sort threads lists all`;
}
