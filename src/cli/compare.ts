import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { ALWAYS, type Intervals } from '../base/intervals.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { warn, warnAll } from '../base/warn.ts';
import { COMPARE_BY, type CompareBy, compare } from '../judge/compare/compare.ts';
import { gather, gatherStored } from '../judge/facts/gather.ts';
import { report } from '../judge/report.ts';
import type { Report } from '../judge/report-schema.ts';
import { type Material, seriesOf } from '../query/material.ts';
import { readColumns, sampledProcesses } from '../query/processes/processes.ts';
import { joinColumns, type ProcessSet } from '../query/processes/set.ts';
import { linkProcesses } from '../query/processes/tree.ts';
import { processesIn } from '../query/spans/processes.ts';
import { intervalsOf, type SpanQuery } from '../query/spans/select.ts';
import { processTable } from '../sources/process/table.ts';
import { askForSteps } from './ask-scheduler.ts';
import { type DatabaseOptions, databaseFor, databaseOption } from './database-option.ts';
import { findRecordings } from './find-recordings.ts';
import { whole } from './processes.ts';
import { type SpanOptions, spanOptions, spanQuery } from './span-options.ts';
import { type StoreOptions, storedJobs, storeOption } from './store-option.ts';

interface Options extends DatabaseOptions, StoreOptions, SpanOptions {
  by?: CompareBy;
  limit?: number;
  format: 'text' | 'json' | 'csv';
}

export function define(command: Command): void {
  spanOptions(storeOption(databaseOption(command)))
    .usage('A B… [options]')
    .argument(
      '<recordings...>',
      'two or more recordings, folders of recordings, job ids or names; the others are compared with the first',
    )
    .addOption(
      new Option(
        '-b, --by <what>',
        'what to look for the difference in (default: operations if there are tags, else processes)',
      ).choices(COMPARE_BY),
    )
    .option('-n, --limit <n>', 'show at most N rows per table (0: all) (default: 12)', whole)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Examples:
  tacho compare tacho-4711 tacho-4712                       why did the second take longer?
  tacho compare tacho-4711 tacho-4712 --by process          by command instead of by tag
  tacho compare runs/ --by metric --format csv > runs.csv   every job below runs/ in a column
  tacho compare 4711 4712 --by phase                        what tacho mark named
  tacho compare 4711 4712 --by prefix                       tasks of Dask
  tacho compare 4711 4712 --store http://vm:8428
`,
    )
    .action(async (paths: string[], options: Options) => {
      const { set, reports, spans } = await jobsOf(paths, options);
      warnAll(set.troubles);
      const comparison = compare(reports, set, options.by, spans);
      const { compareCsv, compareJson, compareText } = await import('../show/judged/compare-text.ts');
      const page = {
        width: tableWidth(),
        stream: process.stdout,
        ...stated({ limit: options.limit }),
      };
      if (options.format === 'json') process.stdout.write(compareJson(comparison));
      else if (options.format === 'csv') process.stdout.write(compareCsv(comparison));
      else process.stdout.write(compareText(comparison, page));
    });
}

interface ComparedJobs {
  set: ProcessSet;
  reports: Report[];
  /** When the part of each was that is compared. */
  spans?: Intervals[];
}

async function jobsOf(names: readonly string[], options: Options): Promise<ComparedJobs> {
  const query = spanQuery(options);
  if (options.store !== undefined) return storedOf(options.store, names, query);
  const database = await databaseFor(names, options);
  if (database === undefined) {
    // what the others are held against has to be there
    await findRecordings(names.slice(0, 1), 1, options);
    const recordings = await findRecordings(names, 2, options);
    if (recordings.length < 2) throw tooFew('recording', 'tacho list shows the recordings in a folder');
    await askForSteps(recordings, query);
    const materials = recordings.map((recording) => gather(recording, query));
    // what the report cards are made of need not be read again
    const columnsOfJobs = materials.map(({ processes }, j) => processes ?? readColumns([recordings[j]!]));
    const selected = materials.map(({ range, job }) => ({ selection: range, steps: job.steps }));
    const set = processesIn(joinColumns(columnsOfJobs), new Map(selected.entries()));
    return { set, reports: materials.map((one) => report(one)), spans: spansOf(materials) };
  }
  if (Object.keys(query).length > 0)
    throw usage('jobs in a database are compared as a whole', 'name the recordings to compare parts of them');
  const [{ namedJobs }, { storedReports }, { jobsSource }] = await Promise.all([
    import('../database/find-jobs.ts'),
    import('../database/measured-jobs.ts'),
    import('../database/source.ts'),
  ]);
  const jobs = await namedJobs(database, names);
  if (jobs.length < 2) throw tooFew('job', 'tacho db jobs lists the jobs in the database');
  return {
    set: linkProcesses(await jobsSource(database, jobs).processes()),
    reports: await storedReports(database, jobs),
  };
}

async function storedOf(address: string, ids: readonly string[], query: SpanQuery): Promise<ComparedJobs> {
  const jobs = await storedJobs(address, ids);
  warn('the store has no processes below victoria.process_cpu (1 s of CPU time): the others alone are compared');
  if (jobs.length < 2) throw tooFew('job', `tacho list --store ${jobs[0]!.store.name} shows what is there`);
  const materials = [];
  for (const job of jobs) materials.push(await gatherStored(job, query));
  const columnsOfJobs = materials.map(({ nodes }, j) =>
    sampledProcesses(jobs[j]!.recording, (name) =>
      nodes.flatMap((n) => (n.node === name ? seriesOf(n, processTable) : [])),
    ),
  );
  const reports = materials.map((one) => report(one));
  return { set: linkProcesses(joinColumns(columnsOfJobs)), reports, spans: spansOf(materials) };
}

/** Of a step, processes say themselves whether they are its own. */
const spansOf = (materials: readonly Material[]): Intervals[] =>
  materials.map(({ range }) => (range === undefined || range.step?.whole === true ? ALWAYS : intervalsOf(range)));

const tooFew = (what: string, hint: string): Error =>
  usage(`there is one ${what} to compare: at least two are needed`, hint);
