import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type Command, Option } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { Fault, usage } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { parseMoment } from '../base/moment.ts';
import { printable } from '../base/printable.ts';
import { formatBytes } from '../base/size.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { idsText, isOfJob } from '../jobs/on-node/of-job.ts';
import type { Recording } from '../recording/folder/open.ts';
import type { ExportOptions } from '../show/export/export.ts';
import { askForSteps } from './ask-scheduler.ts';
import { tellOld } from './flag-table.ts';
import { JOBS_ARGUMENT } from './named-recordings.ts';
import { partOptions, type SpanOptions, spanQuery } from './span-options.ts';
import { type StoreOptions, storedJobs, storeOption } from './store-option.ts';

interface Options extends StoreOptions, Omit<SpanOptions, 'to'> {
  job?: string[];
  to?: string[];
  output?: string;
  format: ExportOptions['format'];
  layout: ExportOptions['layout'];
  table?: string[];
  columns?: string[];
  interval?: number;
  rates?: boolean;
  extremes?: boolean;
  epoch?: boolean;
}

const list = (value: string, all: string[] = []): string[] => [
  ...all,
  ...value.split(',').filter((word) => word !== ''),
];

/** --to was a folder before: what does not read as a time is one, until the next release. */
function isTime(text: string): boolean {
  if (text === '-') return false;
  try {
    parseMoment(text);
    return true;
  } catch {
    return false;
  }
}

export function define(command: Command): void {
  partOptions(storeOption(command))
    .usage('[RECORDING…] [options]')
    .argument('[recordings...]', JOBS_ARGUMENT)
    .option('--to <time>', 'only until this time', (value, all: string[] = []) => [...all, value])
    .option('-o, --output <folder>', 'where the files go, or - for standard output (the default for one table)')
    .addOption(
      new Option('-f, --format <format>', 'format of the files').choices(['csv', 'parquet', 'ndjson']).default('csv'),
    )
    .addOption(
      new Option('--layout <layout>', 'long: one row per sample; wide: one row per tick; omnistat: its two files')
        .choices(['long', 'wide', 'omnistat'])
        .default('long'),
    )
    .option('--table <name>', 'only this table; may be given several times', list)
    .option('-c, --columns <names>', 'only these columns, separated by commas', list)
    .option(
      '-i, --interval <duration>',
      'one row for each interval: means of gauges, last values of counters',
      parseDuration,
    )
    .option('--rates', 'counters as rates per second: their means over each interval')
    .option('--extremes', 'with --interval: also the lowest and highest value (NAME_min, NAME_max)')
    .option('-j, --job <id>', 'only the job with this id; may be given several times', list)
    .option('--epoch', 'times as microseconds since 1970 instead of ISO 8601')
    .addHelpText(
      'after',
      `
Examples:
  tacho export tacho-4711 -o csv                              a long CSV file for each table
  tacho export tacho-4711 --table gpu --layout wide > gpu.csv  one row per tick, one column per metric, node and GPU
  tacho export runs/ --format parquet -o all                  several jobs; the column job keeps them apart
  tacho export tacho-4711 --layout omnistat -o export-data    omnistat-rocm.csv and omnistat-network.csv
  tacho export --job 4711 --store http://vm:8428 -o csv       from a VictoriaMetrics
`,
    )
    .action(async (paths: string[], options: Options) => {
      const { findRecordings } = await import('./find-recordings.ts');
      const { exportRecordings } = await import('../show/export/export.ts');
      const { to: selectors = [], table: tables = [], columns = [] } = options;
      const times = selectors.filter(isTime);
      const old = selectors.filter((selector) => !isTime(selector));
      if (old.length > 0) tellOld(`--to ${old[0]}`, `--output ${old[0]}`);
      const folders = [...(options.output === undefined ? [] : [options.output]), ...old];
      if (folders.length > 1) throw usage(`an export has one place to go to, not ${folders.join(' and ')}`);
      const until = times[0];
      const { to: _, ...asked } = options;
      const query = spanQuery({ ...asked, ...stated({ to: until }) });
      if (options.interval !== undefined && !(options.interval > 0)) throw usage('--interval must be more than 0');
      if (options.extremes && options.interval === undefined)
        throw usage('--extremes needs --interval', 'without it there is one value in each row');
      const { recordings, forget } =
        options.store === undefined
          ? {
              recordings: chosen(await findRecordings(paths), options.job),
              forget: () => {},
            }
          : await downloaded(options.store, [...paths, ...(options.job ?? [])], tables);
      await askForSteps(recordings, query);
      const lost: string[] = [];
      const written = await exportRecordings(recordings, {
        format: options.format,
        layout: options.layout,
        ...(folders[0] === undefined ? {} : { folder: folders[0] }),
        ...(tables.length > 0 ? { tables } : {}),
        ...(columns.length > 0 ? { columns } : {}),
        ...stated({ interval: options.interval }),
        ...query,
        ...stated({ epoch: options.epoch, rates: options.rates, extremes: options.extremes }),
        lost: (file) => lost.push(file),
        note: warn,
        written: ({ file, rows, bytes }) => {
          if (folders[0] === undefined && options.layout !== 'omnistat') return;
          if (folders[0] !== '-')
            process.stderr.write(`${printable(file)}: ${count(rows, 'row')}, ${formatBytes(bytes)}\n`);
        },
      }).finally(forget);
      if (lost.length > 0) {
        throw new Fault(`the export lacks what could not be read of ${lost.join(', ')}`, {
          hint: 'tacho verify RECORDING says what can be saved',
        });
      }
      if (written.every(({ rows }) => rows === 0)) throw new Fault('nothing was recorded in that range');
    });
}

function chosen(all: Recording[], ids: readonly string[] | undefined): Recording[] {
  if (ids === undefined) return all;
  const jobRecordings = all.filter(({ job }) => ids.some((id) => isOfJob(job.id, id)));
  if (jobRecordings.length > 0) return jobRecordings;
  throw usage(`no recording of job ${ids.join(', ')} here`, `there are ${idsText(all.map(({ job }) => job.id))}`);
}

/** What a store has of some jobs, as recordings that last until they are exported. */
async function downloaded(
  address: string,
  ids: readonly string[],
  tables: readonly string[],
): Promise<{ recordings: Recording[]; forget: () => void }> {
  const [{ importStored }, { openRecording }] = await Promise.all([
    import('../import/victoria/own.ts'),
    import('../recording/folder/open.ts'),
  ]);
  const jobs = await storedJobs(address, ids);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-export-'));
  const forget = (): void => fs.rmSync(folder, { recursive: true, force: true });
  try {
    const recordings: Recording[] = [];
    for (const job of jobs) {
      const { recording } = await importStored(job, folder, undefined, tables.length > 0 ? tables : undefined);
      recordings.push(openRecording(recording));
    }
    return { recordings, forget };
  } catch (error) {
    forget();
    throw error;
  }
}
