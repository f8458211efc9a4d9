import { type Command, Option } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { Fault } from '../base/fault.ts';
import { formatMoment } from '../base/moment.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import type { UptimeSpan } from '../history/ask/uptime.ts';
import { periodOf } from './history.ts';
import { type FilterOptions, historyPlaces, nodesOf, periodOptions, withHistory } from './history-options.ts';

interface Options extends FilterOptions {
  gap: number;
  onlyUp?: boolean;
  onlySilent?: boolean;
  format: string;
}

const COLUMNS = ['cluster', 'node', 'what', 'state', 'start', 'end', 'failed', 'gpus'];

export function define(command: Command): void {
  periodOptions(historyPlaces(command), '7 days ago')
    .option('--node <name...>', 'of these nodes only (c1, c[1-8], gpu*)')
    .option('--cluster <name...>', 'of these clusters only')
    .addOption(
      new Option('--gap <duration>', 'a node without samples for longer was silent')
        .argParser(parseDuration)
        .default(600, '10m'),
    )
    .option('--only-up', 'only times in which nodes were up')
    .option('--only-silent', 'only times in which they were silent, or GPUs did not answer')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
When samples came from nodes, and when their GPUs did not answer. Where nodes record themselves (tacho agent), silent means
that the node or its agent was down. Where only jobs are recorded, it also means that no job was recorded there.

Examples:
  tacho uptime /archive/tacho --from -7d
  tacho uptime --only-silent --gap 1h --node 'gpu*' --format csv
`,
    )
    .action(async (paths: string[], options: Options) => {
      const { from, to } = periodOf({ from: '-7d', ...options });
      const question = {
        from,
        to,
        gap: options.gap,
        ...stated({ nodes: nodesOf(options.node), clusters: options.cluster }),
      };
      const all = await withHistory(paths, options, (history) => history.uptime(question));
      if (all.length === 0)
        throw new Fault(`no node was recorded before ${formatMoment(to)}`, {
          hint: 'tacho index ARCHIVE looks for new recordings',
        });
      const spans = all.filter(
        ({ state }) => !(options.onlyUp === true && state !== 'up') && !(options.onlySilent === true && state === 'up'),
      );
      process.stdout.write(await printed(spans, options.format));
    });
}

async function printed(spans: readonly UptimeSpan[], format: string): Promise<string> {
  if (format === 'json') return `${JSON.stringify(spans, null, 1)}\n`;
  if (format === 'csv') return (await import('../show/object-csv.ts')).objectCsv(COLUMNS, spans);
  return (await import('../show/history/load-text.ts')).uptimeText(spans, tableWidth());
}
