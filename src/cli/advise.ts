import * as fs from 'node:fs';
import { type Command, Option } from 'commander';
import { BATCH_SYSTEMS, type BatchSystem } from '../advise/script.ts';
import { Fault, usage } from '../base/fault.ts';
import { pageWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { count } from '../base/words.ts';
import { progress } from '../show/terminal/progress.ts';
import { several, words } from './processes.ts';
import { parseTags } from './tags.ts';

interface Options {
  user?: string[];
  name?: string[];
  program?: string[];
  account?: string[];
  partition?: string[];
  tag?: string[];
  last?: number;
  for?: BatchSystem;
  format: 'text' | 'json' | 'csv' | 'script';
}

function last(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw usage(`"${text}" is not a number of jobs`);
}

export function define(command: Command): void {
  command
    .usage('[JOB…] [options]')
    .argument(
      '[jobs...]',
      'recordings, folders that hold some, or ids of jobs in the current folder (default: all of it)',
    )
    .option('-u, --user <names>', 'only jobs of these users; * and ? as in file names', words)
    .option('--name <names>', 'only jobs with these names', words)
    .option('--program <names>', 'only runs of these programs', words)
    .option('--account <names>', 'only jobs of these accounts', words)
    .option('-p, --partition <names>', 'only jobs in these partitions', words)
    .option('--tag <key:value>', 'only jobs with this tag', several)
    .option('--last <n>', 'only the newest so many', last)
    .addOption(
      new Option('--for <scheduler>', 'write the script for it (default: that of the jobs)').choices(BATCH_SYSTEMS),
    )
    .addOption(
      new Option('-f, --format <format>', 'how it looks; script: only the lines for a job script')
        .choices(['text', 'json', 'csv', 'script'])
        .default('text'),
    )
    .addHelpText(
      'after',
      `
What to ask for next time: time, memory, CPUs, GPUs and nodes, from what past runs
used (95th percentile and a margin, never less than any run used), as the head of a
job script, with what it saves and how sure it is. Runs that failed, ran out of
memory or of time show the least that is needed, not how much. Jobs of several kinds
are advised one by one; the tasks of an array are one.

Examples:
  tacho advise tacho-4711                        from one run
  tacho advise runs/ --user ada --name train --last 20
  tacho advise 4711                              the tasks of an array, recorded here
  tacho advise runs/ --format script > head.sh
  tacho advise runs/ --for pbs
`,
    )
    .action(async (names: string[], options: Options) => {
      const [{ adviceOf }, jobs] = await Promise.all([import('../advise/advise.ts'), jobsOf(names, options)]);
      const advice = adviceOf(jobs, stated({ system: options.for }));
      const { adviseCsv, adviseJson, adviseScript, adviseText } = await import('../show/advise-text.ts');
      if (options.format === 'script' && advice.every(({ script }) => script.length === 0))
        throw usage('these jobs had no scheduler', 'say for which one the script is: --for slurm, flux or pbs');
      const print = { json: adviseJson, csv: adviseCsv, script: adviseScript, text: adviseText };
      process.stdout.write(print[options.format](advice, { stream: process.stdout, width: pageWidth() }));
    });
}

type Jobs = Awaited<ReturnType<typeof import('../history/ask/history.ts')['selectJobs']>>;

async function jobsOf(names: readonly string[], options: Options): Promise<Jobs> {
  const [{ openHistory, selectJobs }, { isOver }] = await Promise.all([
    import('../history/ask/history.ts'),
    import('../advise/evidence.ts'),
  ]);
  const isPath = (name: string): boolean => name.includes('/') || fs.existsSync(name);
  const folders = names.filter(isPath);
  const ids = names.filter((name) => !isPath(name));
  let bar: ReturnType<typeof progress> | undefined;
  const history = await openHistory({
    folders: folders.length === 0 || ids.length > 0 ? [...folders, '.'] : folders,
    leftOut: ({ message }) => {
      warn(`left out: ${message}`);
      process.exitCode = 1;
    },
    progress: (done, of) => {
      bar ??= progress('reading jobs', of);
      bar.advance(1);
      if (done === of) bar.done();
    },
  });
  try {
    const { user, name, program, account, partition, tag } = options;
    const wanted = await selectJobs(
      history,
      stated({
        users: user,
        names: name,
        programs: program,
        accounts: account,
        partitions: partition,
        tags: tag === undefined ? undefined : parseTags(tag),
        jobs: ids.length === 0 || folders.length > 0 ? undefined : ids,
      }),
    );
    const over = wanted.filter(isOver);
    if (wanted.length === 0)
      throw new Fault('no job is what was asked for', { hint: 'tacho list shows the jobs in a folder' });
    if (over.length === 0)
      throw new Fault(`${count(wanted.length, 'job')}, none of which is over: what they need is not known yet`, {
        hint: 'ask again when one has ended',
      });
    return options.last === undefined ? over : over.toSorted((a, b) => a.time - b.time).slice(-options.last);
  } finally {
    await history.close();
  }
}
