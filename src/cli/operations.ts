import { type Command, Option } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { columnNamed } from '../query/processes/columns.ts';
import { filterProcesses } from '../query/processes/filter.ts';
import { acrossJobs, type Operation, operationsOf, tagKey, tagKeys } from '../query/processes/operations.ts';
import type { ProcessSet } from '../query/processes/set.ts';
import { type DatabaseOptions, processesArgument } from './database-option.ts';
import { openProcesses } from './process-source.ts';
import { commaSeparated, several, whole } from './processes.ts';
import { type SpanOptions, spanOptions } from './span-options.ts';

interface Options extends DatabaseOptions, SpanOptions {
  opTag: string[];
  filter: string[];
  sort: keyof typeof SORTS;
  columns?: string[];
  acrossJobs?: boolean;
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
    .option('--op-tag <key[:value]>', 'group by the values of this tag, or only this value', several, [])
    .option('--filter <expression>', 'only these processes, as in tacho processes', several, [])
    .option('--across-jobs', 'one row per operation, added up over all jobs')
    .option(
      '-c, --columns <names>',
      'also these metrics, e.g. rchar,wchar,rssmax,majflt; all: every one',
      commaSeparated,
    )
    .addOption(new Option('-s, --sort <by>', 'what comes first').choices(Object.keys(SORTS)).default('duration'))
    .option('-n, --limit <n>', `show at most N rows (0: all; default: ${MOST} as text)`, whole)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
An operation is all processes that have the same tag: TACHO_TAGS="op:build;seq:4" in the environment of what starts
them. Without --op-tag it is the tag op, or else the one that most processes have. JSON and CSV have every metric of
processes: the sum of counters, the peak of memory.

Examples:
  tacho operations tacho-4711
  tacho operations runs/ --across-jobs --columns rchar,wchar,rssmax
  tacho operations tacho-4711 --op-tag seq --sort cpu
  tacho operations tacho-4711 --op-tag 'op:build;seq:4' --format json
`,
    )
    .action(async (paths: string[], options: Options) => {
      const { columns = [], format } = options;
      const isAll = columns.includes('all');
      const some = options.filter.length > 0 || format !== 'text' || isAll ? undefined : ['tags', ...columns];
      const { set } = await openProcesses(paths, options, some);
      const metrics = isAll ? [...set.metrics.keys()] : columns.map((name) => metricNamed(set, name));
      const keys = tagKeys(set);
      if (keys.size === 0) {
        throw new Fault('no process has a tag', {
          hint: 'export TACHO_TAGS="op:build" in the job’s script tags what it starts from there on',
        });
      }
      const members = options.filter.length === 0 ? {} : { members: filterProcesses(set, options.filter) };
      const each = operationsOf(set, { tags: options.opTag, ...members });
      const operations = options.acrossJobs === true ? acrossJobs(set, each) : each;
      if (operations.length === 0) {
        throw usage(`no process has the tag ${options.opTag.join(', ')}`, `there are ${[...keys.keys()].join(', ')}`);
      }
      const by = SORTS[options.sort];
      operations.sort((a, b) => Number(a.name === '') - Number(b.name === '') || by(a) - by(b) || a.job - b.job);
      const { operationsCsv, operationsJson, operationsTable } = await import('../show/process/operations-table.ts');
      const limit = options.limit ?? (options.format === 'text' ? MOST : 0);
      const rows = limit === 0 ? operations : operations.slice(0, limit);
      if (options.format === 'json') process.stdout.write(operationsJson(set, rows));
      else if (options.format === 'csv') process.stdout.write(operationsCsv(set, rows));
      else {
        const used = options.opTag.length > 0 ? options.opTag.map((tag) => tag.split(':')[0]!) : [tagKey(keys)!];
        const otherKeys = [...keys]
          .filter(([key]) => !used.includes(key))
          .map(([key, values]) => [key, values.size] as const);
        const hidden = operations.length - rows.length;
        const page = { width: tableWidth(), stream: process.stdout, otherKeys, hidden, metrics };
        process.stdout.write(operationsTable(set, rows, page));
      }
    });
}

/** A metric of processes by its name or a short one. */
function metricNamed(set: ProcessSet, asked: string): string {
  const { name } = columnNamed(set, asked);
  if (set.metrics.has(name)) return name;
  throw usage(`"${asked}" is no metric that adds up`, `there are ${[...set.metrics.keys()].join(', ')}`);
}
