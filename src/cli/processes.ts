import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { filterProcesses } from '../query/processes/filter.ts';
import { sortProcesses } from '../query/processes/sort.ts';
import { type DatabaseOptions, processesArgument } from './database-option.ts';
import { openProcesses } from './process-source.ts';
import { type SpanOptions, spanOptions } from './span-options.ts';

interface Options extends DatabaseOptions, SpanOptions {
  tree?: boolean;
  filter: string[];
  sort?: string;
  limit?: number;
  columns?: string[];
  format: 'text' | 'json' | 'csv';
}

/** Lines of text that a person reads. */
const MOST = 20;
const MOST_TREE = 40;

export const commaSeparated = (value: string, all: string[] = []): string[] => [
  ...all,
  ...value.split(',').filter(Boolean),
];
export const several = (value: string, all: string[] = []): string[] => [...all, value];

export function whole(value: string): number {
  if (!/^\d+$/.test(value)) throw usage(`"${value}" is not a number of lines`, 'write it like --limit 50; 0 is all');
  return Number(value);
}

/** What text shows; anything else may need every column. */
function wantedColumns({ tree, filter, sort = 'cpu', columns, format }: Options): string[] | undefined {
  if (filter.length > 0 || format !== 'text') return undefined;
  return [sort, ...(columns ?? ['command', ...(tree ? [] : ['rss', 'io', 'argv0'])])];
}

export function define(command: Command): void {
  spanOptions(processesArgument(command))
    .option('--tree', 'who started whom, with the CPU time of each alone and with all that it started')
    .option('--filter <expression>', 'only these: exename=cp, cpu>1s, rss>=2GiB…; several must all be met', several, [])
    .option('-s, --sort <column>', 'cpu, rss, io, duration, start or any column (default: cpu; in a tree: start)')
    .option('-n, --limit <n>', `show at most N rows (0: all; default: ${MOST} as text, ${MOST_TREE} in a tree)`, whole)
    .option('-c, --columns <names>', 'only these columns, separated by commas', commaSeparated)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Filters are NAME=VALUE, !=, >, >=, <, <= or ~ (a regular expression); a name is that of a column, or tag:KEY:
  exename=cp  cpu>1s  rss>=2GiB  duration<10ms  exitcode!=0  user=ada
  argv0=gcc  args~'\\.nc$'  node=c1  pid=4711  source=sample  tag:op=timavg
  at=2026-11-15T20:49Z (alive then)  tags= (missing)  tags!= (there)

Examples:
  tacho processes tacho-4711                                   those with the most CPU time
  tacho processes tacho-4711 --tree --filter 'cpu>1s'          and who started them
  tacho processes tacho-4711 --filter 'exitcode!=0' --columns start,command
  tacho processes runs/ --format csv > processes.csv           everything, in the units of docs/processes.md
`,
    )
    .action(async (paths: string[], options: Options) => {
      const { set } = await openProcesses(paths, options, wantedColumns(options));
      const matchingProcesses = filterProcesses(set, options.filter);
      if (matchingProcesses.length === 0) process.stderr.write('tacho: no process meets the filter\n');
      const text = options.format === 'text';
      const limit = options.limit ?? (text ? (options.tree ? MOST_TREE : MOST) : 0);
      const most = limit === 0 ? matchingProcesses.length : limit;
      const compare = sortProcesses(set, options.sort ?? (options.tree ? 'start' : 'cpu'));
      const page = { width: tableWidth(), stream: process.stdout };
      if (options.tree && text) {
        const { processTree } = await import('../show/process/tree.ts');
        if (matchingProcesses.length > 0)
          process.stdout.write(processTree(set, matchingProcesses, most, compare, page));
        return;
      }
      const rows = matchingProcesses.sort(compare).slice(0, most);
      if (!text) {
        const { processCsv, processJson } = await import('../show/process/rows.ts');
        process.stdout.write((options.format === 'csv' ? processCsv : processJson)(set, rows, options.columns));
        return;
      }
      const { processTable } = await import('../show/process/table.ts');
      const hidden = matchingProcesses.length - rows.length;
      if (rows.length > 0) process.stdout.write(processTable(set, rows, options.columns, hidden, page));
    });
}
