import { type Command, Option } from 'commander';
import { Fault } from '../base/fault.ts';
import { formatMoment } from '../base/moment.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { LOAD_STEPS, type LoadRow, type LoadStep, SUMMED_COLUMNS, together } from '../history/ask/load.ts';
import { periodOf } from './history.ts';
import { type FilterOptions, historyPlaces, nodesOf, periodOptions, withHistory } from './history-options.ts';

interface Options extends FilterOptions {
  every: LoadStep;
  group?: boolean;
  latest?: boolean;
  format: string;
}

const COLUMNS = [
  'time',
  'cluster',
  'node',
  'seconds',
  'cpus',
  'cpu_use',
  'cpu_use_max',
  'load_mean',
  'memory_total_bytes',
  'memory_used_mean_bytes',
  'memory_used_max_bytes',
  'gpus',
  'gpu_use',
  ...SUMMED_COLUMNS,
  'jobs',
  'cpus_allocated',
];

export function define(command: Command): void {
  periodOptions(historyPlaces(command), '1 day ago')
    .option('--node <name...>', 'of these nodes only (c1, c[1-8], gpu*)')
    .option('--cluster <name...>', 'of these clusters only')
    .addOption(new Option('--every <step>', 'one row per node and step').choices(LOAD_STEPS).default('hour'))
    .option('--group', 'all nodes together')
    .option('--latest', 'only the last step of each node')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
CPUs, memory, GPUs and energy of nodes over time, for all jobs together. The data are the recordings of jobs and of the nodes
themselves (tacho agent); time that two recordings cover counts once. Hours are those of UTC; half-days, days and weeks are
those of --timezone. Each row has the time that was recorded: if it is less than the step, the rest is not known.

Examples:
  tacho load /archive/tacho --from -1d
  tacho load --node 'gpu[1-4]' --every day --from -30d --format csv
  tacho load --group --every week --from 2026-01-01
`,
    )
    .action(async (paths: string[], options: Options) => {
      const { from, to } = periodOf({ from: '-1d', ...options });
      const { every, timezone: zone } = options;
      const question = {
        from,
        to,
        every,
        ...stated({ zone, nodes: nodesOf(options.node), clusters: options.cluster }),
      };
      const loadRows = await withHistory(paths, options, (history) => history.load(question));
      if (loadRows.length === 0)
        throw new Fault(`no node was recorded between ${formatMoment(from)} and ${formatMoment(to)}`, {
          hint: 'tacho index ARCHIVE looks for new recordings',
        });
      const rows = options.latest === true ? lastOf(loadRows) : loadRows;
      const shown = options.group === true ? together(rows) : rows;
      process.stdout.write(await printed(shown, options));
    });
}

function lastOf(rows: readonly LoadRow[]): LoadRow[] {
  return [...Map.groupBy(rows, ({ cluster, node }) => `${cluster} ${node}`).values()].map((own) => own.at(-1)!);
}

async function printed(rows: readonly LoadRow[], { format }: Options): Promise<string> {
  if (format === 'json') return `${JSON.stringify(rows, null, 1)}\n`;
  if (format === 'csv') return (await import('../show/object-csv.ts')).objectCsv(COLUMNS, rows);
  return (await import('../show/history/load-text.ts')).loadText(rows, tableWidth());
}
