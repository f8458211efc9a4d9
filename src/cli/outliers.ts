import { type Command, Option } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { suggest } from '../base/suggest.ts';
import {
  FLOOR,
  findOutliers,
  KINDS,
  type Kind,
  MAIN_FEATURES,
  type OutlierOptions,
  type Outliers,
} from '../judge/outliers/outliers.ts';
import { METHODS } from '../judge/outliers/votes.ts';
import { type DatabaseOptions, databaseOption } from './database-option.ts';
import { openJobs, readingJobs } from './measured-jobs.ts';
import { storeOf } from './model.ts';
import { JOBS_ARGUMENT } from './named-recordings.ts';
import { several, whole, words } from './processes.ts';

interface Options extends DatabaseOptions {
  of?: Kind;
  jobTag?: string[];
  model?: string;
  models?: string;
  features?: string[];
  methods?: string[];
  tag?: string;
  process?: number;
  floor?: number;
  limit?: number;
  votes?: boolean;
  all?: boolean;
  format: 'text' | 'json' | 'csv';
}

const slug = (method: string): string => method.replaceAll(' ', '-');

export function define(command: Command): void {
  databaseOption(command)
    .usage('[JOB…] [options]')
    .argument('[jobs...]', JOBS_ARGUMENT)
    .addOption(
      new Option('--of <what>', 'what is compared (default: jobs; processes when there is one job)').choices(KINDS),
    )
    .option('--job-tag <key:value>', 'only jobs with this tag', several)
    .option('--model <name>', 'compare with a reference model instead of with each other')
    .option('--models <folder>', 'where models are kept')
    .option('--features <names>', 'only these features, separated by commas; all: every one', words)
    .option('--methods <names>', `only these: ${METHODS.map(slug).join(', ')}`, words)
    .option('-t, --tag <key>', 'the tag that operations go by (default: op, or the one that most bear)')
    .option('-p, --process <pid>', 'only threads of this process', whole)
    .option(
      '--floor <part>',
      `of a job's total: processes and threads that differ by less count for nothing (default: ${FLOOR})`,
      Number,
    )
    .option('-n, --limit <n>', 'so many at most; 0 is all (default: 20 as text)', whole)
    .option('--votes', 'every vote on every outlier, also of processes')
    .option('-a, --all', 'also those that are no outliers')
    .addOption(new Option('-f, --format <format>', 'how it looks').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Every method votes: modified z-score, z-score and interquartile range on each feature; robust covariance, isolation
forest and principal components on features together. One is an outlier when most of those that can vote on a feature
do, or most of those that look at features together. Methods that need more jobs are left out, by name.

Jobs and operations are compared by all their features, processes and threads within their program by
${MAIN_FEATURES.join(', ')}. docs/outliers.md says more.

Examples:
  tacho outliers runs/                                  which of these jobs is unlike the others, and in what
  tacho outliers runs/ --of operations                  … and in which operation
  tacho outliers tacho-4711 --of processes --votes
  tacho outliers tacho-4711 --of threads --process 812
  tacho outliers tacho-4711 --model nightly --format json | jq .groups
  tacho outliers runs/ --format csv > votes.csv         a row a vote
`,
    )
    .action(async (names: string[], options: Options) => {
      const jobs = await openJobs(names, options);
      const of = options.of ?? (jobs.length === 1 && options.model === undefined ? 'processes' : 'jobs');
      if (options.process !== undefined && of !== 'threads') throw usage('--process goes with --of threads');
      if (options.floor !== undefined && !(options.floor >= 0 && options.floor <= 1))
        throw usage(
          '--floor is a part of the whole, between 0 and 1',
          'write it like --floor 0.01; 0 counts everything',
        );
      const bar = readingJobs(jobs.length);
      const found = await findOutliers(of, jobs, {
        progress: bar.advance,
        ...(await choices(of, options)),
      });
      bar.done();
      checkVoted(found, options);
      if (options.format === 'json') {
        const { outliersJson } = await import('../show/judged/outliers-json.ts');
        process.stdout.write(outliersJson(found));
        return;
      }
      if (options.format === 'csv') {
        const { outliersCsv } = await import('../show/judged/judged-csv.ts');
        process.stdout.write(outliersCsv(found));
        return;
      }
      const { outliersText } = await import('../show/judged/outliers-text.ts');
      const { limit, votes } = options;
      process.stdout.write(
        outliersText(found, {
          stream: process.stdout,
          width: tableWidth(),
          ...stated({ limit, votes }),
        }),
      );
    });
}

async function choices(of: Kind, options: Options): Promise<OutlierOptions> {
  const chosen: OutlierOptions = {};
  const { features, methods } = options;
  if (features !== undefined) chosen.features = features.length === 1 && features[0] === 'all' ? 'all' : features;
  if (methods !== undefined) chosen.methods = methods.map(methodNamed);
  if (options.tag !== undefined) chosen.tag = options.tag;
  if (options.process !== undefined) chosen.pid = options.process;
  if (options.floor !== undefined) chosen.floor = options.floor;
  if (options.all !== undefined) chosen.all = options.all;
  if (options.model !== undefined) {
    if (of !== 'jobs' && of !== 'operations')
      throw usage(`a model says nothing about ${of}`, '--of jobs or --of operations');
    const [{ usableModel }, { modelTables }] = await Promise.all([
      import('../judge/models/store.ts'),
      import('../judge/models/model.ts'),
    ]);
    const model = await usableModel(await storeOf(options), options.model);
    chosen.reference = { model: model.name, tables: modelTables(model) };
    if (model.tag !== undefined) chosen.tag ??= model.tag;
  }
  return chosen;
}

/** As others call them. */
const ALIASES: Readonly<Record<string, string>> = {
  mad: 'modified-z-score',
  iqr: 'interquartile-range',
  mcd: 'robust-covariance',
  pca: 'principal-components',
};

function methodNamed(word: string): string {
  const asked = word.toLowerCase().replaceAll(/[ _]/g, '-');
  const name = METHODS.find((method) => slug(method) === (ALIASES[asked] ?? asked));
  if (name !== undefined) return name;
  const near = suggest(word, METHODS.map(slug));
  throw usage(
    `there is no method "${word}"`,
    near === undefined ? `there are ${METHODS.map(slug).join(', ')}` : `did you mean ${near}?`,
  );
}

/** Where no method could vote, silence would look like "no outliers". */
function checkVoted(found: Outliers, options: Options): void {
  const { groups } = found;
  if (groups.length === 0) {
    const what = found.of === 'operations' ? 'no process bears the tag' : `no ${found.of} were recorded`;
    throw new Fault(`there are no ${found.of} to compare: ${what}`, {
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
  throw new Fault(`too few ${found.of} to say who is unlike the others: ${there}`, {
    hint: `the methods need at least so many: ${needs}`,
  });
}
