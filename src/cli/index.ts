import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { warn, warnAll } from '../base/warn.ts';
import type { Built } from '../history/index/build.ts';
import { indexFolder } from '../history/index/index-files.ts';
import { progress } from '../show/terminal/progress.ts';
import { ascii, printable } from '../show/terminal/text-table.ts';
import { pathsNamed } from './named-recordings.ts';
import { forgivingRules } from './rule-settings.ts';

interface Options {
  add?: string[];
  rebuild?: boolean;
  keep?: boolean;
  verify?: boolean;
  parallel?: number;
  format: string;
}

export function define(command: Command): void {
  command
    .argument('<archive>', 'a folder of recordings, or the archive of a hub')
    .option('--add <recording...>', 'only these recordings, without a look at the others')
    .option('--rebuild', 'make the index again from all recordings')
    .option('--keep', 'keep rows of recordings that were deleted, as a hub does')
    .option('--verify', 'read the whole index and report damage')
    .option('--parallel <n>', 'use N processes (default: one per core)', wholeNumber)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
The index has one row per job, per job and node, per node and hour, and per finding, as Parquet files in
ARCHIVE/.tacho-index. tacho jobs, history, hogs, waste, load, uptime and sql answer from it. It is made from the recordings: only new
and changed ones are read, and the folder can be deleted without loss. A hub updates the index of its archive itself.

Exit code: 1 when a recording could not be read (the others are in the index), or the index is damaged.

Examples:
  tacho index /archive/tacho
  tacho index runs --add runs/tacho-4711
  tacho index runs --verify
`,
    )
    .action(async (archive: string, options: Options) => {
      if (options.verify === true) return verify(archive, options.format);
      if (options.add !== undefined && options.rebuild === true)
        throw usage('--add and --rebuild exclude each other', '--rebuild reads all recordings again');
      const { buildIndex } = await import('../history/index/build.ts');
      let bar: ReturnType<typeof progress> | undefined;
      const built = await buildIndex(archive, {
        rebuild: options.rebuild === true,
        keep: options.keep === true,
        progress: (_done, of) => {
          bar ??= progress('summarising recordings', of);
          bar.advance();
        },
        ...(options.add === undefined ? {} : { only: await pathsNamed(options.add) }),
        ...(options.parallel === undefined ? {} : { workers: options.parallel }),
        rules: await forgivingRules(),
      }).finally(() => bar?.done());
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(built, null, 1)}\n`);
      else say(builtText(archive, built));
      warnAll(built.troubles.map(({ why }) => `left out: ${why}`));
      for (const { why } of built.damaged) warn(`damaged: ${why}; the rest of the recording is in the index`);
      if (built.troubles.length > 0) process.exitCode = 1;
    });
}

const say = (text: string): void => void process.stdout.write(process.stdout.isTTY ? text : ascii(text));

function builtText(archive: string, { recordings, added, changed, removed, troubles }: Built): string {
  const left = troubles.length === 0 ? '' : `, ${troubles.length} left out`;
  return `${printable(archive)}: ${count(recordings, 'recording')}, ${added} new, ${changed} changed, ${removed} removed${left}\n`;
}

async function verify(archive: string, format: string): Promise<void> {
  const { verifyIndex } = await import('../history/index/verify.ts');
  const { verifyMonths } = await import('../history/index/months.ts');
  const verified = verifyIndex(archive);
  verified.wrong.push(...(await verifyMonths(indexFolder(archive))));
  if (format === 'json') process.stdout.write(`${JSON.stringify(verified, null, 1)}\n`);
  else if (verified.wrong.length === 0) {
    const rows = Object.entries(verified.rows).map(([table, all]) => `${all} in ${table}`);
    say(`${printable(archive)}: ok; ${count(verified.recordings, 'recording')}, rows: ${rows.join(', ')}\n`);
  } else {
    say(verified.wrong.map((line) => `${printable(line)}\n`).join(''));
    say('tacho index ARCHIVE --rebuild makes the index again from the recordings\n');
  }
  if (verified.wrong.length > 0) process.exitCode = 1;
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw usage(`"${text}" is not a number of processes`, 'write it like --parallel 4');
  return Number(text);
}
