import { type Command, Option } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { filterProcesses } from '../query/processes/filter.ts';
import { type Operation, operationsOf, tagKey, tagKeys } from '../query/processes/operations.ts';
import { type DatabaseOptions, processesArgument } from './database-option.ts';
import { openProcesses } from './process-source.ts';
import { several, whole } from './processes.ts';
import { type SpanOptions, spanOptions } from './span-options.ts';

interface Options extends DatabaseOptions, SpanOptions {
  tag: string[];
  filter: string[];
  sort: keyof typeof SORTS;
  limit?: number;
  format: 'text' | 'json' | 'csv';
}

const SORTS = {
  cpu: (one: Operation) => -one.cpu_time,
  duration: (one: Operation) => -one.duration,
  sum: (one: Operation) => -one.duration_sum,
  span: (one: Operation) => -one.duration_span,
  processes: (one: Operation) => -one.processes,
  runs: (one: Operation) => -one.runs.length,
  start: (one: Operation) => one.start,
};

const MOST = 30;

export function define(command: Command): void {
  spanOptions(processesArgument(command))
    .option('-t, --tag <key[:value]>', 'group by the values of this tag, or only this value', several, [])
    .option('--filter <expression>', 'only these processes, as in tacho processes', several, [])
    .addOption(new Option('-s, --sort <by>', 'what comes first').choices(Object.keys(SORTS)).default('duration'))
    .option('-n, --limit <n>', `so many at most; 0 is all (default: ${MOST} as text)`, whole)
    .addOption(new Option('-f, --format <format>', 'how it looks').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
An operation is all processes that bear the same tag: TACHO_TAGS="op:build;seq:4" in the environment of what starts
them. Without --tag it is the tag op, or else the one that most processes bear.

Examples:
  tacho operations tacho-4711
  tacho operations tacho-4711 --tag seq --sort cpu
  tacho operations tacho-4711 --tag 'op:build;seq:4' --format json
`,
    )
    .action(async (paths: string[], options: Options) => {
      const { set } = await openProcesses(paths, options, options.filter.length > 0 ? undefined : ['tags']);
      const keys = tagKeys(set);
      if (keys.size === 0) {
        throw new Fault('no process bears a tag', {
          hint: 'export TACHO_TAGS="op:build" in the job’s script tags what it starts from there on',
        });
      }
      const members = options.filter.length === 0 ? {} : { members: filterProcesses(set, options.filter) };
      const found = operationsOf(set, { tags: options.tag, ...members });
      if (found.length === 0) {
        throw usage(`no process bears the tag ${options.tag.join(', ')}`, `there are ${[...keys.keys()].join(', ')}`);
      }
      const by = SORTS[options.sort];
      found.sort((a, b) => Number(a.name === '') - Number(b.name === '') || by(a) - by(b) || a.job - b.job);
      const { operationsCsv, operationsJson, operationsTable } = await import('../show/process/operations-table.ts');
      const limit = options.limit ?? (options.format === 'text' ? MOST : 0);
      const rows = limit === 0 ? found : found.slice(0, limit);
      if (options.format === 'json') process.stdout.write(operationsJson(set, rows));
      else if (options.format === 'csv') process.stdout.write(operationsCsv(set, rows));
      else {
        const used = options.tag.length > 0 ? options.tag.map((tag) => tag.split(':')[0]!) : [tagKey(keys)!];
        const otherKeys = [...keys]
          .filter(([key]) => !used.includes(key))
          .map(([key, values]) => [key, values.size] as const);
        const hidden = found.length - rows.length;
        const page = { width: tableWidth(), stream: process.stdout, otherKeys, hidden };
        process.stdout.write(operationsTable(set, rows, page));
      }
    });
}
