import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { hang } from '../base/hang.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { configFlags } from '../config/flags.ts';
import type { Submitted } from '../database/submit.ts';
import type { SubmitResult } from '../database/submit-folder.ts';
import { epmtJobs } from '../import/epmt/archive.ts';
import { recordingFolders } from '../recording/folder/open.ts';
import { progress } from '../show/terminal/progress.ts';
import { printable } from '../show/terminal/text-table.ts';
import { needAddress } from './database-address.ts';
import { tell } from './failure.ts';
import { type PlaceOptions, pathsNamed } from './named-recordings.ts';
import { changedRules } from './rule-settings.ts';

interface Options extends PlaceOptions {
  replace?: boolean;
  incomplete?: boolean;
  dryRun?: boolean;
  format: string;
}

export function define(command: Command): void {
  command
    .usage('RECORDING… --db ADDRESS [options]')
    .argument('<recordings...>', 'recordings, EPMT archives, folders of either, or job ids')
    .option('--replace', 'replace what the database already has of these jobs')
    .option('--incomplete', 'also store damaged recordings, without what cannot be read; the job lists what is missing')
    .option('--dry-run', 'only print what would be stored')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'));
  configFlags(command, ['db'])
    .addHelpText(
      'after',
      `
A job is stored completely or not at all. Submitting it again changes nothing, unless its end was not known before. The
recording is not changed. EPMT archives are stored directly, without making a recording. Keep the password in ~/.pgpass
or PGPASSWORD. tacho db migrate makes the tables.

Examples:
  tacho submit tacho-4711 --db postgres://ada@db.site/tacho
  tacho submit /staged/*.tgz --db postgres://ada@db.site/tacho --dry-run
  TACHO_DB=postgres://db.site/tacho tacho submit /archive/2026 --format json
`,
    )
    .action(async (paths: string[], options: Options) => {
      const address = await needAddress(options);
      const inputs = (await pathsNamed(paths, { ...options, takesFiles: true })).map(inputsIn);
      const archives = new Set(inputs.flatMap((each) => each.archives));
      const folders = [...new Set([...inputs.flatMap((each) => each.folders), ...archives])];
      const { submitAll } = await import('../database/submit-all.ts');
      const bar = progress('submitting', folders.length);
      const results = await submitAll(address, folders, {
        ...(options.replace === true ? { replace: true } : {}),
        ...(options.incomplete === true ? { incomplete: true } : {}),
        ...(options.dryRun === true ? { dryRun: true } : {}),
        archives,
        ...stated({ rules: await changedRules(options.config) }),
        tell(result) {
          bar.advance(1);
          if (options.format === 'text') printResult(result);
        },
      });
      bar.done();
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(results.map(plain), null, 1)}\n`);
      if (results.some((result) => 'refused' in result)) process.exitCode = 1;
    });
}

/** The recordings that a name stands for, and what EPMT left there. */
function inputsIn(path: string): { folders: string[]; archives: string[] } {
  const archives = epmtJobs(path);
  if (archives.length === 1 && archives[0] === path) return { folders: [], archives };
  const folders = recordingFolders(path);
  if (folders.length === 0 && archives.length === 0)
    throw usage(`no recording in ${path}`, 'tacho list FOLDER shows the recordings in a folder');
  return { folders, archives };
}

function printResult(result: SubmitResult): void {
  if ('refused' in result) {
    tell(result.refused);
    return;
  }
  const { path, id, submitted } = result;
  const { outcome, troubles } = submitted;
  if (outcome === 'planned') {
    const what = `job ${id} would be stored (${count(submitted.processes, 'process', 'processes')})`;
    process.stdout.write(`${hang(printable(`${path}: ${what}`), tableWidth(), 2)}\n`);
    return;
  }
  printJob(path, id, { stored: 'stored', present: 'is there already', replaced: 'replaced' }[outcome], submitted);
  if (submitted.differs !== undefined)
    warn(`job ${id} is there with other ${submitted.differs}; --replace puts the recording in its place`);
  if (submitted.mended === true) warn(`${repairedText(id, troubles)}; --replace puts the recording in its place`);
  if (outcome !== 'present') for (const trouble of troubles) warn(trouble);
}

/** What became of a recording, on a terminal in lines that fit. */
export function printJob(path: string, id: string, what: string, { job, processes, threads }: Submitted): void {
  const held = `#${job}, ${count(processes, 'process', 'processes')}, ${count(threads, 'thread')}`;
  process.stdout.write(`${hang(printable(`${path}: job ${id} ${what} (${held})`), tableWidth(), 2)}\n`);
}

/** The job lacks something that the recording may have now. */
export const repairedText = (id: string, troubles: readonly string[]): string =>
  `job ${id} is there without what could not be read then (${troubles.join('; ')})`;

function plain(result: SubmitResult): object {
  const { path, id } = result;
  if ('submitted' in result) return { path, id, ...result.submitted };
  const { message, hint } = result.refused;
  return { path, id, outcome: 'refused', error: message, ...stated({ hint }) };
}
