import { type Command, Option } from 'commander';
import { Fault } from '../base/fault.ts';
import { formatMoment, parseMoment } from '../base/moment.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { configOf } from '../config/flags.ts';
import { constantEmissions, type Emissions, readEmissions } from '../history/ask/emissions.ts';
import type { History } from '../history/ask/history.ts';
import { METRICS, type MetricName } from '../history/ask/metrics.ts';
import { GROUPS, type Group, type UsageAnswer } from '../history/ask/usage.ts';
import {
  type FilterOptions,
  filterOf,
  historyPlaces,
  jobFilters,
  needOrder,
  numberOf,
  periodOptions,
  withHistory,
} from './history-options.ts';

const PERIOD = '-30d';

interface Options extends FilterOptions {
  by: Group;
  metric: MetricName;
  limit?: number;
  format: string;
}

/** `hour×weekday` as people write it. */
const groupOf = (text: string): string =>
  /^(hour\s*[x\u00d7*,-]\s*weekday|weekday\s*[x\u00d7*,-]\s*hour)$/.test(text) ? 'hour-weekday' : text;

export function define(command: Command): void {
  const by = new Option('--by <what>', 'who or when').choices([...GROUPS]).default('user');
  const check = by.parseArg!;
  by.argParser((text, before) => check(groupOf(text), before));
  const metric = new Option('--metric <what>', 'how much of what').choices(METRICS.map(({ name }) => name));
  const checkMetric = metric.default('core-hours').parseArg!;
  metric.argParser((text, before) => checkMetric(/^co2$/i.test(text) ? 'CO2' : text, before));
  periodOptions(jobFilters(historyPlaces(command, ['history.co2'])), '30 days ago')
    .addOption(by)
    .addOption(metric)
    .option('-n, --limit <n>', 'show at most N groups (0: all; default: 30 as text)', numberOf('groups'))
    .addOption(
      new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv', 'svg']).default('text'),
    )
    .addHelpText(
      'after',
      `
Who used how much in a period, or when it was used. What a job used is spread evenly over the time that it ran, and only the
part in the period counts: the sum of two months is the sum of both. Hours, days and months are those of --timezone; the hour
that clocks skip or repeat when summer time begins or ends counts as the clocks show it.

Metrics:
${METRICS.map(({ name, help }) => `  ${name.padEnd(12)}${help}`).join('\n')}

Examples:
  tacho history /archive/tacho --by user --from 2026-03-01 --to 2026-04-01
  tacho history --by hour-weekday --metric gpu-use --timezone Europe/Oslo
  tacho history --by account --metric CO2 --co2 grid-2026.csv --format csv
  tacho history --by month --metric energy --from -365d --format svg > e.svg
`,
    )
    .action(async (paths: string[], options: Options) => {
      const period = periodOf(options);
      const emissions = await emissionsOf(options);
      const { from: _, to: __, ...filter } = filterOf(options);
      const { by, metric, timezone: zone } = options;
      const usage = await withHistory(paths, options, async (history) => {
        const usage = await history.usage({ by, metric, ...period, filter, ...stated({ zone, emissions }) });
        if (usage.total.jobs === 0) throw await nothingThere(history, usage);
        return usage;
      });
      process.stdout.write(await shown(usage, options));
    });
}

export function periodOf({ from = PERIOD, to }: FilterOptions): { from: number; to: number } {
  const period = { from: parseMoment(from), to: to === undefined ? Date.now() * 1000 : parseMoment(to) };
  needOrder(period.from, period.to);
  return period;
}

async function emissionsOf(options: Options): Promise<Emissions | undefined> {
  if (options.metric !== 'CO2') return undefined;
  const { 'history.co2': given } = await configOf({ ...options }, ['history.co2']);
  if (given === undefined) return undefined;
  return /^[\d.]+$/.test(given) ? constantEmissions(Number(given)) : readEmissions(given);
}

/** A period without data: when there are some. */
export async function nothingThere(history: History, { from, to }: { from: number; to: number }): Promise<Fault> {
  const hint = await whenThereAre(history);
  return new Fault(`no job ran between ${formatMoment(from)} and ${formatMoment(to)} that matches`, { hint });
}

/** When jobs started, for who asked for others. */
export async function whenThereAre(history: History): Promise<string> {
  const [oldest] = await history.selectJobs({ order: { by: 'time' }, limit: 1 });
  // of some jobs accounting does not say when they ran
  const [first] =
    oldest?.time === 0 ? await history.selectJobs({ from: 1, order: { by: 'time' }, limit: 1 }) : [oldest];
  const [last] = await history.selectJobs({ order: { by: 'time', descending: true }, limit: 1 });
  return first === undefined
    ? 'there are no jobs at all; tacho index ARCHIVE looks for new recordings'
    : `jobs started between ${formatMoment(first.time)} and ${formatMoment(last!.time)}`;
}

async function shown(usage: UsageAnswer, { format, limit }: Options): Promise<string> {
  if (format === 'json') return `${JSON.stringify(usage, null, 1)}\n`;
  if (format === 'csv') {
    const { objectCsv } = await import('../show/object-csv.ts');
    return objectCsv(['group', 'value', 'jobs', 'hours'], usage.rows);
  }
  if (format === 'svg') return (await import('../show/history/usage-svg.ts')).usageSvg(usage);
  const { usageText } = await import('../show/history/usage-text.ts');
  return usageText(usage, { width: tableWidth(), stream: process.stdout, ...stated({ limit }) });
}
