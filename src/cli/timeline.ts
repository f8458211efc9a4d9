import { type Command, Option } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { pageWidth } from '../base/page-width.ts';
import { filterProcesses } from '../query/processes/filter.ts';
import { type TimelineBy, timelineOf } from '../query/processes/timeline.ts';
import { type DatabaseOptions, processesArgument } from './database-option.ts';
import { openProcesses } from './process-source.ts';
import { several, whole } from './processes.ts';
import { type SpanOptions, spanOptions } from './span-options.ts';

interface Options extends DatabaseOptions, SpanOptions {
  by: TimelineBy;
  opTag: string[];
  filter: string[];
  width?: number;
  limit?: number;
  format: 'text' | 'json' | 'csv';
}

const MOST = 24;

export function define(command: Command): void {
  spanOptions(processesArgument(command))
    .addOption(
      new Option('-b, --by <what>', 'a row for each').choices(['process', 'operation', 'node']).default('process'),
    )
    .option('--op-tag <key[:value]>', 'which operations, as in tacho operations', several, [])
    .option('--filter <expression>', 'only these processes, as in tacho processes', several, [])
    .option('-w, --width <n>', 'width in characters (default: as wide as the terminal, 80 elsewhere)', whole)
    .option('-n, --limit <n>', `show at most N rows, the longest first (0: all; default: ${MOST} as text)`, whole)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Examples:
  tacho timeline tacho-4711                                 the longest processes
  tacho timeline tacho-4711 --by operation                  when which operation ran
  tacho timeline tacho-4711 --filter exename=fregrid --width 120
`,
    )
    .action(async (paths: string[], options: Options) => {
      const by = options.opTag.length > 0 ? 'operation' : options.by;
      if (options.width !== undefined && options.width < 40) throw usage('--width must be at least 40');
      const wanted = options.filter.length > 0 ? undefined : [by === 'operation' ? 'tags' : 'command'];
      const { set } = await openProcesses(paths, options, wanted);
      const rows = timelineOf(set, filterProcesses(set, options.filter), by, options.opTag);
      if (rows.length === 0) {
        throw new Fault(by === 'operation' ? 'no process has a tag' : 'no process meets the filter', {
          hint: 'tacho processes lists what was recorded',
        });
      }
      const limit = options.limit ?? (options.format === 'text' ? MOST : 0);
      const shown = limit === 0 ? rows : rows.slice(0, limit);
      const { timelineCsv, timelineJson, timelineText } = await import('../show/process/timeline.ts');
      if (options.format === 'json') process.stdout.write(timelineJson(set, shown, by));
      else if (options.format === 'csv') process.stdout.write(timelineCsv(set, shown, by));
      else {
        const hidden = rows.length - shown.length;
        const page = { by, width: options.width ?? pageWidth(), stream: process.stdout, hidden };
        process.stdout.write(timelineText(set, shown, page));
      }
    });
}
