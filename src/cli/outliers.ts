import { type Command, Option } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import type { MeasuredJob } from '../judge/outliers/measured-job.ts';
import {
  FLOOR,
  findOutliers,
  KINDS,
  type Kind,
  MAIN_FEATURES,
  type OutlierOptions,
  type Outliers,
} from '../judge/outliers/outliers.ts';
import { LEAST_PART, METHODS } from '../judge/outliers/votes.ts';
import { type DatabaseOptions, databaseOption } from './database-option.ts';
import { OP_TAG_HELP } from './flag-table.ts';
import { openJobs, readingJobs } from './measured-jobs.ts';
import { storeOf } from './model.ts';
import { JOBS_ARGUMENT } from './named-recordings.ts';
import { methodNamed, slug, takeOldTag, threshold } from './outliers-options.ts';
import { commaSeparated, several, whole } from './processes.ts';

interface Options extends DatabaseOptions {
  of?: Kind;
  tag?: string[];
  by?: string;
  threshold?: Map<string, number>;
  pca?: boolean;
  model?: string;
  models?: string;
  features?: string[];
  methods?: string[];
  opTag?: string[];
  process?: number;
  floor?: number;
  limit?: number;
  votes?: boolean;
  all?: boolean;
  format: 'text' | 'json' | 'csv' | 'svg';
}

export function define(command: Command): void {
  databaseOption(command)
    .usage('[JOB…] [options]')
    .argument('[jobs...]', JOBS_ARGUMENT)
    .addOption(
      new Option('--of <what>', 'what is compared (default: jobs; processes when there is one job)').choices(KINDS),
    )
    .option('-t, --tag <key:value>', 'only jobs with this tag; several must all be there', several)
    .option('-b, --by <tag>', 'compare only jobs that have the same value of this tag (name: the same name)')
    .option('--model <name>', 'compare with a baseline (tacho model) instead of with each other')
    .option('--models <folder>', 'where models are kept')
    .option('--features <names>', 'only these features, separated by commas; all: every one', commaSeparated)
    .option('--methods <names>', `only these: ${METHODS.map(slug).join(', ')}`, commaSeparated)
    .option('--threshold <method=score>', 'let a method vote above this score; may be given several times', threshold)
    .option('--op-tag <key[:value]>', OP_TAG_HELP, several)
    .option('--pca', 'show the principal components of jobs: scores, loadings and rankings (also as --format svg)')
    .option('-p, --process <pid>', 'only threads of this process', whole)
    .option(
      '--floor <share>',
      `smaller differences do not count: a share of the median (default: ${LEAST_PART}); of processes and threads, of the job's total (default: ${FLOOR})`,
      Number,
    )
    .option('-n, --limit <n>', 'show at most N rows (0: all; default: 20 as text)', whole)
    .option('--votes', 'every vote on every outlier, also of processes')
    .option('-a, --all', 'also those that are no outliers')
    .addOption(
      new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv', 'svg']).default('text'),
    )
    .addHelpText(
      'after',
      `
Every method votes: modified z-score, z-score and interquartile range on each feature; robust covariance, isolation
forest and principal components on features together. A job is an outlier when most methods that can judge one of its
features vote against it, or most methods that judge features together. Methods that need more jobs are listed as left out.

Jobs and operations are compared by all their features, processes and threads within their program by
${MAIN_FEATURES.join(', ')}. docs/outliers.md says more.

Examples:
  tacho outliers runs/                                  which of these jobs is unlike the others, and in what
  tacho outliers runs/ --of operations                  … and in which operation
  tacho outliers runs/ --by exp_component               each component by itself
  tacho outliers runs/ --threshold z-score=4 --features cpu_time,duration
  tacho outliers runs/ --pca --format svg > jobs.svg
  tacho outliers tacho-4711 --of processes --votes
  tacho outliers tacho-4711 --of threads --process 812
  tacho outliers tacho-4711 --model nightly --format json | jq .groups
  tacho outliers runs/ --format csv > votes.csv         one row per vote
`,
    )
    .action(async (names: string[], options: Options) => {
      takeOldTag(options);
      const jobs = await openJobs(names, options);
      if (options.pca === true) return showComponents(jobs, options);
      if (options.format === 'svg') throw usage('--format svg goes with --pca', 'tacho outliers … --pca --format svg');
      const of = options.of ?? (jobs.length === 1 && options.model === undefined ? 'processes' : 'jobs');
      if (options.by !== undefined && of !== 'jobs' && of !== 'operations')
        throw usage(`--by does not go with --of ${of}`, 'processes and threads are compared within their program');
      if (options.by !== undefined && options.model !== undefined)
        throw usage(
          '--by does not go with --model',
          'make a model of each group: tacho model create NAME --tag KEY:VALUE',
        );
      if (options.process !== undefined && of !== 'threads') throw usage('--process goes with --of threads');
      if (options.floor !== undefined && !(options.floor >= 0 && options.floor <= 1))
        throw usage(
          '--floor is a share of the whole, between 0 and 1',
          'write it like --floor 0.01; 0 counts everything',
        );
      await checkGroups(jobs, options);
      const bar = readingJobs(jobs.length);
      const outliers = await findOutliers(of, jobs, {
        progress: bar.advance,
        ...(await choices(of, options)),
      });
      bar.done();
      checkVoted(outliers, options);
      if (options.format === 'json') {
        const { outliersJson } = await import('../show/judged/outliers-json.ts');
        process.stdout.write(outliersJson(outliers));
        return;
      }
      if (options.format === 'csv') {
        const { outliersCsv } = await import('../show/judged/judged-csv.ts');
        process.stdout.write(outliersCsv(outliers));
        return;
      }
      const { outliersText } = await import('../show/judged/outliers-text.ts');
      const { limit, votes } = options;
      process.stdout.write(
        outliersText(outliers, {
          stream: process.stdout,
          width: tableWidth(),
          ...stated({ limit, votes }),
        }),
      );
    });
}

/** Without this a misspelt tag would judge all jobs together. */
async function checkGroups(jobs: readonly MeasuredJob[], { by }: Options): Promise<void> {
  if (by === undefined) return;
  const { groupOf } = await import('../judge/outliers/job-kinds.ts');
  if (jobs.some(({ job }) => groupOf(job, by) !== undefined)) return;
  const tags = [...new Set(jobs.flatMap(({ job }) => Object.keys(job.tags)))];
  throw usage(
    `--by: no job has the tag "${by}"`,
    tags.length === 0
      ? 'the jobs have no tags; --by name groups them by name'
      : `there are ${tags.join(', ')} and name`,
  );
}

async function showComponents(jobs: readonly MeasuredJob[], options: Options): Promise<void> {
  if ((options.of ?? 'jobs') !== 'jobs') throw usage('--pca goes with --of jobs', 'leave out --of');
  await checkGroups(jobs, options);
  const { componentsOf } = await import('../judge/outliers/components.ts');
  const bar = readingJobs(jobs.length);
  const components = await componentsOf(jobs, { progress: bar.advance, ...(await choices('jobs', options)) });
  bar.done();
  if (options.format === 'json') {
    process.stdout.write(`${JSON.stringify(components, null, 1)}\n`);
    return;
  }
  if (options.format === 'svg') {
    const { componentsSvg } = await import('../show/judged/components-svg.ts');
    process.stdout.write(componentsSvg(components));
    return;
  }
  const { componentsCsv, componentsText } = await import('../show/judged/components-text.ts');
  const page = { stream: process.stdout, width: tableWidth(), ...stated({ limit: options.limit }) };
  process.stdout.write(options.format === 'csv' ? componentsCsv(components) : componentsText(components, page));
}

async function choices(of: Kind, options: Options): Promise<OutlierOptions> {
  const chosen: OutlierOptions = {};
  const { features, methods } = options;
  if (features !== undefined) chosen.features = features.length === 1 && features[0] === 'all' ? 'all' : features;
  if (methods !== undefined) chosen.methods = methods.map(methodNamed);
  if (options.opTag !== undefined) chosen.tags = options.opTag;
  if (options.by !== undefined) chosen.by = options.by;
  if (options.threshold !== undefined) chosen.thresholds = options.threshold;
  if (options.process !== undefined) chosen.pid = options.process;
  if (options.floor !== undefined) chosen.floor = options.floor;
  if (options.all !== undefined) chosen.all = options.all;
  if (options.model !== undefined) {
    if (of !== 'jobs' && of !== 'operations')
      throw usage(`a model says nothing about ${of}`, '--of jobs or --of operations');
    const [{ usableModel }, { modelTables, modelTags }] = await Promise.all([
      import('../judge/models/store.ts'),
      import('../judge/models/model.ts'),
    ]);
    const model = await usableModel(await storeOf(options), options.model);
    chosen.reference = { model: model.name, tables: modelTables(model) };
    const tags = modelTags(model);
    if (tags !== undefined) chosen.tags ??= tags;
    if (model.features !== undefined) chosen.features ??= model.features;
    if (model.thresholds !== undefined) chosen.thresholds ??= new Map(Object.entries(model.thresholds));
  }
  return chosen;
}

/** Where no method could vote, silence would look like "no outliers". */
function checkVoted(outliers: Outliers, options: Options): void {
  const { groups } = outliers;
  if (groups.length === 0) {
    const what = outliers.of === 'operations' ? 'no process has the tag' : `no ${outliers.of} were recorded`;
    throw new Fault(`there are no ${outliers.of} to compare: ${what}`, {
      hint: 'tacho run records processes and their tags',
    });
  }
  const features = groups.flatMap((group) => group.features);
  if (features.length === 0 && options.features !== undefined && groups.some((group) => group.rows >= 4)) {
    throw usage(
      `none of the features ${options.features.join(', ')} is known`,
      'tacho outliers --features all --format json lists them',
    );
  }
  const methods = groups.flatMap((group) => group.methods);
  if (methods.some(({ left_out }) => left_out === undefined)) return;
  const largest = groups.reduce((most, group) => Math.max(most, group.reference ?? group.rows), 0);
  const needs = groups[0]!.methods.map(({ method, needs: number }) => `${method} ${number}`).join(', ');
  const there = `there ${largest === 1 ? 'is' : 'are'} ${largest}`;
  throw new Fault(`too few ${outliers.of} to say who is unlike the others: ${there}`, {
    hint: `the methods need at least: ${needs}`,
  });
}
