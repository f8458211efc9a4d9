import type { Command } from 'commander';
import { splitPassword } from '../base/address.ts';
import { usage } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import type { Subject } from '../show/notebook.ts';
import { type DatabaseOptions, databaseFor, databaseOption } from './database-option.ts';
import { pathsNamed } from './named-recordings.ts';

interface Options extends DatabaseOptions {
  output?: string;
  port?: number;
  browser: boolean;
}

export function define(command: Command): void {
  databaseOption(command)
    .usage('[RECORDING…] [options] [-- JUPYTER ARGUMENTS]')
    .argument(
      '[recordings...]',
      'recordings, folders of recordings (default: the current folder), jobs in a database, or one notebook to open again',
    )
    .option('-o, --output <file>', 'the notebook (default: tacho.ipynb here, or tacho-2.ipynb…)')
    .option('--port <n>', "the port it listens on (default: Jupyter's, 8888)", port)
    .option('--no-browser', 'only print the address')
    .addHelpText(
      'after',
      `
Jupyter is the one in your path. It listens on this machine only, behind its token; Ctrl-C ends it. In its notebooks
import tacho works without installation; docs/python.md says what it can do. What comes after -- goes to Jupyter.

Examples:
  tacho notebook tacho-4711
  tacho notebook runs/ -o runs.ipynb --no-browser --port 8899
  tacho notebook --db postgres://db.site/tacho 4711 4712
  tacho notebook tacho.ipynb                            open it again
`,
    )
    .action(async (commandWords: string[], options: Options, self: Command) => {
      const { checkArguments, findJupyter, runJupyter } = await import('../show/jupyter.ts');
      const { names, extra } = split(commandWords, raw(self));
      checkArguments(extra);
      const jupyter = findJupyter();
      const again = names.length === 1 && names[0]!.endsWith('.ipynb') ? names[0] : undefined;
      const { subject, environment } = again === undefined ? await subjectOf(names, options) : {};
      const { writeNotebook } = await import('../show/notebook.ts');
      const notebook = again ?? writeNotebook(subject!, options.output);
      if (again === undefined) warn(`the notebook is ${notebook}`);
      process.exitCode = await runJupyter(jupyter, notebook, {
        browser: options.browser,
        extra,
        ...stated({ port: options.port, environment }),
      });
    });
}

/** The command line as it was given: commander leaves `--` out of the words. */
const raw = (command: Command): readonly string[] => (command.parent as unknown as { rawArgs: string[] }).rawArgs;

/** What stands before `--` is for Tacho, the rest for Jupyter. */
function split(commandWords: readonly string[], raw: readonly string[]): { names: string[]; extra: string[] } {
  const at = raw.indexOf('--');
  const own = at === -1 ? commandWords.length : commandWords.length - (raw.length - at - 1);
  return { names: commandWords.slice(0, own), extra: commandWords.slice(own) };
}

/** What the notebook is about, looked for before anything is started. */
async function subjectOf(
  names: readonly string[],
  options: DatabaseOptions,
): Promise<{ subject: Subject; environment?: Record<string, string> }> {
  const database = await databaseFor(names, options);
  if (database === undefined) {
    const recordings = await pathsNamed(names, options);
    const { findRecordings } = await import('./find-recordings.ts');
    await findRecordings(recordings);
    return { subject: { recordings } };
  }
  if (names.length > 0) {
    const { namedJobs } = await import('../database/find-jobs.ts');
    await namedJobs(database, names);
  }
  const { address, password } = splitPassword(database.address);
  const subject = { database: address, jobs: names };
  return password === undefined ? { subject } : { subject, environment: { PGPASSWORD: password } };
}

function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65535) {
    throw usage(`"${text}" is not a port`, 'write it like --port 8899');
  }
  return Number(text);
}
