import { type Command, Option } from 'commander';
import { formatDuration, parseDuration } from '../base/duration.ts';
import { usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { askForSteps } from './ask-scheduler.ts';
import { findEach, openFound } from './find-recordings.ts';
import { nothingToShow, type SeriesOptions, seriesFilter, seriesOptions } from './series-options.ts';
import { type SpanOptions, spanOptions, spanQuery } from './span-options.ts';

interface Options extends SpanOptions, SeriesOptions {
  table?: string;
  columns?: string[];
  interval?: number;
  format: 'text' | 'json' | 'csv';
}

/** Number of intervals that are shown where no length is given. */
const USUAL_ROWS = 20;

export function define(command: Command): void {
  seriesOptions(spanOptions(command))
    .argument('[recording]', 'a recording or the id of a job', '.')
    .option('--table <name>', 'the table, e.g. cpu, gpu, cgroup (needed)')
    .option('-c, --columns <names>', 'only these columns, separated by commas', (text) => text.split(','))
    .option(
      '-i, --interval <duration>',
      `one row for each (default: ${USUAL_ROWS} rows as text, each sample otherwise)`,
      parseDuration,
    )
    .addOption(new Option('-f, --format <format>', 'how it looks').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Values are means of each interval. Counters are rates per second. The last lines are averages.
"-" is a value that was not measured.

Examples:
  tacho show 4711 --table gpu --gpu 0
  tacho show tacho-4711 --table cgroup --columns memory_current --interval 1m
  tacho show 4711 --table cpu --key cpu=all --node c1 --from -10m --format csv
`,
    )
    .action(async (name: string, options: Options) => {
      if (options.interval !== undefined && !(options.interval > 0)) throw usage('--interval must be more than 0');
      const query = spanQuery(options);
      const foundRecordings = await findEach([name]);
      if (foundRecordings.length > 1)
        throw usage(
          `${name} holds ${foundRecordings.length} recordings`,
          `name one of them: ${foundRecordings
            .map(({ path }) => path)
            .slice(0, 5)
            .join(', ')}`,
        );
      const recording = await openFound(foundRecordings[0]!);
      const { table: tableName } = options;
      if (tableName === undefined) {
        const { drawableTables } = await import('../charts/metric-charts.ts');
        throw usage(
          'tacho show needs --table',
          `tables of job ${recording.job.id}: ${drawableTables(recording).join(', ')}`,
        );
      }
      await askForSteps([recording], query);
      const [{ gather }, { draw, extentOf }, { filtered, metricCharts }, shown] = await Promise.all([
        import('../judge/facts/gather.ts'),
        import('../charts/draw.ts'),
        import('../charts/metric-charts.ts'),
        import('../show/interval-table.ts'),
      ]);
      const material = gather(recording, query);
      const charts = metricCharts(material, tableName, options.columns);
      const { range, job } = material;
      const [from, to] = extentOf(material, {
        ...(range?.from === undefined ? {} : { from: range.from }),
        ...(range?.to === undefined ? {} : { to: range.to }),
      });
      const sampled = (job.interval_seconds || 1) * 1e6;
      const asked = options.interval === undefined ? undefined : options.interval * 1e6;
      if (asked !== undefined && asked < sampled)
        throw usage(
          `--interval ${formatDuration(asked / 1e6)} is less than the time between samples`,
          `this job was sampled every ${formatDuration(sampled / 1e6)}`,
        );
      const whole = options.format === 'text' ? Math.max(1, Math.ceil((to - from) / USUAL_ROWS / sampled)) : 1;
      const step = asked ?? whole * sampled;
      const drawings = charts.flatMap((chart) => {
        const drawing = draw(material, chart, { from, to, step });
        return drawing === undefined ? [] : [filtered(drawing, seriesFilter(options))];
      });
      if (drawings.every(({ series }) => series.length === 0))
        throw nothingToShow(`nothing of this was recorded in table ${tableName}`, options);
      const table = shown.intervalTable(job.id, tableName, drawings);
      if (options.format === 'json') process.stdout.write(shown.intervalJson(table));
      else if (options.format === 'csv') process.stdout.write(shown.intervalCsv(table));
      else {
        const { clockText } = await import('../charts/value-text.ts');
        process.stdout.write(shown.intervalText(table, tableWidth(), clockText));
      }
    });
}
