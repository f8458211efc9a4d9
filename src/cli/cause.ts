import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { type DatabaseOptions, databaseOption } from './database-option.ts';
import { openJob } from './measured-jobs.ts';
import { storeOf } from './model.ts';
import { whole } from './processes.ts';

interface Options extends DatabaseOptions {
  model: string;
  models?: string;
  limit?: number;
  format: 'text' | 'json' | 'csv';
}

export function define(command: Command): void {
  databaseOption(command)
    .usage('JOB --model NAME [options]')
    .argument('<job>', 'a recording, or the id of a job')
    .option('--model <name>', 'the baseline (tacho model create); needed')
    .option('--models <folder>', 'where models are kept')
    .option('-n, --limit <n>', 'show at most N features and operations (0: all; default: 10 as text)', whole)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Features are ranked by how far they are from the baseline: the distance from its median, divided by the largest distance of
any job in the baseline. Above 1 means farther than all of them. The job comes first, then its operations, those
that exceed their usual duration most first.

Examples:
  tacho cause tacho-4711 --model nightly
  tacho cause tacho-4711 --model nightly --format json | jq '.whole.features[0]'
`,
    )
    .action(async (name: string, given: Omit<Options, 'model'> & { model?: string }) => {
      const { model: called } = given;
      if (called === undefined)
        throw usage(
          'tacho cause needs --model NAME',
          'tacho model list shows what there is; tacho model create NAME JOB… makes one of good jobs',
        );
      const options: Options = { ...given, model: called };
      const [{ usableModel }, { causeOf }, { modelTags }, { jobFeatures }] = await Promise.all([
        import('../judge/models/store.ts'),
        import('../judge/models/cause.ts'),
        import('../judge/models/model.ts'),
        import('../judge/outliers/features.ts'),
      ]);
      const model = await usableModel(await storeOf(options), options.model);
      const job = await openJob(name, options);
      const { id, start, origin } = job.job;
      const isInModel = model.jobs.some((each) => each.id === id && each.start === start);
      const cause = {
        ...causeOf(id, await jobFeatures(job, stated({ tags: modelTags(model) })), model),
        recording: origin,
        ...(isInModel ? { in_model: true as const } : {}),
      };
      if (options.format === 'json') {
        process.stdout.write(`${JSON.stringify(cause, null, 1)}\n`);
        return;
      }
      if (options.format === 'csv') {
        const { causeCsv } = await import('../show/judged/judged-csv.ts');
        process.stdout.write(causeCsv(cause));
        return;
      }
      const { causeText } = await import('../show/judged/cause-text.ts');
      const { limit } = options;
      const page = { stream: process.stdout, width: tableWidth(), ...stated({ limit }) };
      process.stdout.write(causeText(cause, page));
    });
}
