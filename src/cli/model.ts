import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import type { Model } from '../judge/models/model.ts';
import type { ModelStore } from '../judge/models/store.ts';
import { type DatabaseOptions, databaseOption, namedDatabase } from './database-option.ts';
import { OP_TAG_HELP } from './flag-table.ts';
import { openJobs, readingJobs } from './measured-jobs.ts';
import { JOBS_ARGUMENT } from './named-recordings.ts';
import { takeOldTag, threshold } from './outliers-options.ts';
import { commaSeparated, several } from './processes.ts';

interface Options extends DatabaseOptions {
  models?: string;
  format: 'text' | 'json' | 'csv';
}

interface CreateOptions extends Options {
  tag?: string[];
  opTag?: string[];
  features?: string[];
  threshold?: Map<string, number>;
  note?: string;
}

/** Where models are kept, as the options say: in the database that --db names, unless a folder is named. */
export async function storeOf(options: DatabaseOptions & { models?: string }): Promise<ModelStore> {
  const database = options.models === undefined ? await namedDatabase(options) : undefined;
  if (database !== undefined) return (await import('../database/models.ts')).databaseModels(database);
  const { folderStore, modelsFolder } = await import('../judge/models/store.ts');
  return folderStore(options.models ?? process.env.TACHO_MODELS ?? modelsFolder());
}

export function define(command: Command): void {
  command.usage('create|list|show|enable|disable|delete … [options]').addHelpText(
    'after',
    `
A model keeps the features of jobs that went as they should. tacho outliers and tacho cause compare others with it.
Models are files in $XDG_DATA_HOME/tacho/models (~/.local/share), TACHO_MODELS or --models FOLDER; with --db they are
kept in the database, for all its users.

Examples:
  tacho model create nightly runs/ --tag case:nightly
  tacho model list
  tacho cause tacho-4711 --model nightly
`,
  );
  const verb = (name: string, summary: string, formats = ['text', 'json']): Command =>
    databaseOption(command.command(name))
      .summary(summary)
      .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`)
      .option('--models <folder>', 'where models are kept')
      .addOption(new Option('-f, --format <format>', 'output format').choices(formats).default('text'));

  verb('create', 'make a model of jobs')
    .usage('NAME [JOB…] [options]')
    .argument('<name>', 'a name that no other model has')
    .argument('[jobs...]', JOBS_ARGUMENT)
    .option('-t, --tag <key:value>', 'only jobs with this tag; several must all be there', several)
    .option('--op-tag <key[:value]>', OP_TAG_HELP, several)
    .option('--features <names>', 'only these features count, separated by commas', commaSeparated)
    .option('--threshold <method=score>', 'let a method vote above this score; may be given several times', threshold)
    .option('--note <text>', 'what it is for')
    .addHelpText('after', '\nExample:\n  tacho model create kernel tacho-1 tacho-2 tacho-3 --note "gcc 12, 16 cores"\n')
    .action(async (name: string, names: string[], options: CreateOptions) => {
      const [{ checkModelName, createModel }, { existsAlready }] = await Promise.all([
        import('../judge/models/model.ts'),
        import('../judge/models/store.ts'),
      ]);
      checkModelName(name);
      takeOldTag(options);
      const store = await storeOf(options);
      // before anything is read, which may take long
      if ((await store.load(name)) !== undefined) throw existsAlready(name, store.location);
      const jobs = await openJobs(names, options);
      const bar = readingJobs(jobs.length);
      const model = await createModel(name, jobs, {
        now: Date.now() * 1000,
        progress: bar.advance,
        ...stated({
          tag: options.opTag?.join(','),
          note: options.note,
          features: options.features,
          thresholds: options.threshold && Object.fromEntries(options.threshold),
        }),
      });
      bar.done();
      await store.add(model);
      await printModels([model], options, 'modelLine');
      const { ENOUGH_REFERENCES, FEW } = await import('../judge/outliers/outliers.ts');
      if (model.jobs.length < ENOUGH_REFERENCES) warn(`${ENOUGH_REFERENCES} or more jobs are better: ${FEW}`);
    });

  verb('list', 'list models', ['text', 'json', 'csv'])
    .addHelpText('after', '\nExample:\n  tacho model list --format json | jq ".[].name"\n')
    .action(async (options: Options) => {
      const store = await storeOf(options);
      let bad = 0;
      const models = await store.list(({ message, hint }) => {
        bad++;
        warn(hint === undefined ? message : `${message}; ${hint}`);
      });
      if (models.length > 0 || options.format !== 'text') await printModels(models, options, 'modelList');
      else if (bad === 0) warn(`no models in ${store.location}; tacho model create NAME JOB… makes one`);
    });

  verb('show', 'show what a model holds', ['text', 'json', 'csv'])
    .argument('<name>', 'the model')
    .addHelpText('after', '\nExample:\n  tacho model show nightly\n')
    .action(async (name: string, options: Options) => {
      const { needModel } = await import('../judge/models/store.ts');
      await printModels([await needModel(await storeOf(options), name)], options, 'modelText');
    });

  for (const [word, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    verb(word, enabled ? 'let a model be used again' : 'keep a model from being used, without deleting it')
      .argument('<name>', 'the model')
      .addHelpText('after', `\nExample:\n  tacho model ${word} nightly\n`)
      .action(async (name: string, options: Options) => {
        const { needModel } = await import('../judge/models/store.ts');
        const store = await storeOf(options);
        const model = { ...(await needModel(store, name)), enabled };
        await store.save(model);
        await printModels([model], options, 'modelLine');
      });
  }

  verb('delete', 'delete models')
    .argument('<names...>', 'the models')
    .addHelpText('after', '\nExample:\n  tacho model delete nightly\n')
    .action(async (names: string[], options: Options) => {
      const { noModel } = await import('../judge/models/store.ts');
      const store = await storeOf(options);
      const models = [...new Set(names)];
      // all or none; one that is damaged can go as well
      for (const name of models) if (!(await store.has(name))) throw await noModel(store, name);
      for (const name of models) await store.delete(name);
      const outcome = { deleted: models };
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(outcome, null, 1)}\n`);
      else process.stdout.write(`deleted ${outcome.deleted.join(', ')}\n`);
    });

  command.action(() => {
    throw usage('say what to do with models', 'tacho model create, list, show, enable, disable or delete');
  });
}

async function printModels(
  models: readonly Model[],
  options: Options,
  how: 'modelLine' | 'modelList' | 'modelText',
): Promise<void> {
  if (options.format === 'json') {
    process.stdout.write(`${JSON.stringify(how === 'modelList' ? models : models[0], null, 1)}\n`);
    return;
  }
  if (options.format === 'csv') {
    const { modelCsv, modelListCsv } = await import('../show/judged/judged-csv.ts');
    process.stdout.write(how === 'modelList' ? modelListCsv(models) : modelCsv(models[0]!));
    return;
  }
  const show = await import('../show/judged/model-text.ts');
  process.stdout.write(show[how](models, { stream: process.stdout, width: tableWidth() }));
}
