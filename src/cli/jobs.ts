import { type Command, Option } from 'commander';
import { type Fault, usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { didYouMean } from '../base/suggest.ts';
import { jobsTable } from '../history/tables/jobs.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import { header } from '../table/table.ts';
import { refuseUnknown } from './filter-words.ts';
import { whenThereAre } from './history.ts';
import {
  type FilterOptions,
  filterOf,
  historyPlaces,
  jobFilters,
  numberOf,
  periodOptions,
  withHistory,
} from './history-options.ts';

const MOST = 50;
const COLUMNS = header(jobsTable);
const BY = ['user', 'account', 'partition', 'state', 'name', 'program', 'array', 'cluster', 'worst', 'origin'] as const;

interface Options extends FilterOptions {
  by?: (typeof BY)[number];
  columns?: string;
  sort?: string;
  limit?: number;
  perUser?: number;
  format: string;
}

export function define(command: Command): void {
  periodOptions(jobFilters(historyPlaces(command)), 'all there is')
    .addOption(new Option('--by <what>', 'sums of the jobs of each, instead of the jobs').choices(BY))
    .option('--columns <name,...>', 'these columns instead of the usual ones (all: every one)')
    .option('--sort <column>', 'by this column, most first (-column: least first; default: the newest first)')
    .option('-n, --limit <n>', `show at most N jobs (0: all; default: ${MOST} as text)`, numberOf('jobs'))
    .option('--per-user <n>', 'of each user at most N', numberOf('jobs'))
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
The jobs that ended in the period, with what they asked for and used. Figures are those of the report: means are weighed by
time, CPU time is what the kernel counted, a job on several nodes is one row. What was not measured is empty. docs/history.md lists
all columns. Lists take * and ?; they may be repeated or separated by commas.

Examples:
  tacho jobs /archive/tacho --user ada --from -7d
  tacho jobs runs --some-gpu --max gpu_use=15% --sort gpu_hours_wasted
  tacho jobs runs --by user --from -30d
  tacho jobs runs --finding 'gpu-*' --columns job,user,findings --format csv
`,
    )
    .action(async (paths: string[], options: Options) => {
      const columns = columnsOf(options.columns);
      const isText = options.format === 'text' && options.by === undefined;
      const limit = options.limit ?? (isText ? MOST : 0);
      const most = limit === 0 || options.by !== undefined ? undefined : limit;
      const order = orderOf(options.sort);
      const filter = filterOf(options);
      const needed = await neededOf(options, columns);
      const jobs = await withHistory(paths, options, async (history) => {
        const matching = await history.selectJobs({
          ...filter,
          order,
          ...stated({ columns: needed }),
          ...(most === undefined || options.perUser !== undefined ? {} : { limit: most + 1 }),
        });
        if (matching.length === 0) await refuseUnknown(filter);
        if (matching.length === 0 && isText) process.stderr.write(`no job matches; ${await whenThereAre(history)}\n`);
        return matching;
      });
      const chosen = options.perUser === undefined ? jobs : ofEachUser(jobs, options.perUser);
      if (options.by !== undefined) return void process.stdout.write(await groups(chosen, options.by, options.format));
      process.stdout.write(await shown(chosen.slice(0, most), columns, options.format));
      if (most !== undefined && chosen.length > most && isText)
        process.stderr.write(`the first ${most} jobs; --limit 0 shows all\n`);
    });
}

const noColumn = (name: string): Fault =>
  usage(`jobs have no column "${name}"${didYouMean(name, COLUMNS)}`, `there are ${COLUMNS.join(', ')}`);

function columnsOf(given: string | undefined): string[] | undefined {
  if (given === undefined) return undefined;
  if (given === 'all') return COLUMNS;
  const names = given.split(',');
  const wrong = names.find((name) => !COLUMNS.includes(name));
  if (wrong !== undefined) throw noColumn(wrong);
  return names;
}

/** What is shown is read, and no more: of a million jobs every column counts. */
async function neededOf(
  { format, by }: Options,
  columns: string[] | undefined,
): Promise<(keyof JobSummary)[] | undefined> {
  if (by !== undefined) return [by, ...(await import('../history/ask/job-sums.ts')).SUMMED];
  if (columns !== undefined) return columns as (keyof JobSummary)[];
  if (format !== 'text') return undefined;
  return [...(await import('../show/history/jobs-text.ts')).JOB_LIST_COLUMNS];
}

function orderOf(given = 'time'): { by: never; descending: boolean } {
  const [, less, name] = /^(-?)(.*)$/.exec(given)!;
  if (!COLUMNS.includes(name!)) throw noColumn(name!);
  return { by: name as never, descending: less === '' };
}

function ofEachUser(jobs: readonly JobSummary[], most: number): JobSummary[] {
  const countOfUser = new Map<string, number>();
  return jobs.filter(({ user }) => {
    const count = (countOfUser.get(user) ?? 0) + 1;
    countOfUser.set(user, count);
    return count <= most;
  });
}

async function shown(
  jobs: readonly JobSummary[],
  columns: readonly string[] | undefined,
  format: string,
): Promise<string> {
  if (format === 'csv') return (await import('../show/object-csv.ts')).objectCsv(columns ?? COLUMNS, jobs);
  if (format === 'json') {
    const picked = columns === undefined ? jobs : jobs.map((job) => pick(job, columns));
    return `${JSON.stringify(picked, null, 1)}\n`;
  }
  if (jobs.length === 0) return '';
  const { jobsText, jobColumnsText } = await import('../show/history/jobs-text.ts');
  return columns === undefined ? jobsText(jobs, tableWidth()) : jobColumnsText(jobs, columns, tableWidth());
}

const pick = (job: JobSummary, columns: readonly string[]): object =>
  Object.fromEntries(Object.entries(job).filter(([name]) => columns.includes(name)));

async function groups(jobs: readonly JobSummary[], by: (typeof BY)[number], format: string): Promise<string> {
  const { sumsOf, SUM_COLUMNS } = await import('../history/ask/job-sums.ts');
  const sums = sumsOf(jobs, by);
  if (format === 'json') return `${JSON.stringify(sums, null, 1)}\n`;
  if (format === 'csv') return (await import('../show/object-csv.ts')).objectCsv(SUM_COLUMNS, sums);
  return (await import('../show/history/jobs-text.ts')).sumsText(sums, by, tableWidth());
}
