import * as path from 'node:path';
import { type Command, Option } from 'commander';
import { formatDuration, parseDuration } from '../base/duration.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { configFlags } from '../config/flags.ts';
import type { WatchEvent } from '../database/watch.ts';
import { printable } from '../show/terminal/text-table.ts';
import { needAddress } from './database-address.ts';
import { changedRules } from './rule-settings.ts';
import { printJob, repairedText } from './submit.ts';

interface Options {
  config?: string;
  once?: boolean;
  dryRun?: boolean;
  interval: number;
  settle: number;
  done?: string;
  format: string;
}

export function define(command: Command): void {
  command
    .usage('FOLDER --db ADDRESS [options]')
    .argument('<folder>', 'where recordings appear, at most four levels deep, or archives of EPMT')
    .option('--once', 'submit what is there and end')
    .option('--dry-run', 'only print what would be stored or refused, and end')
    .addOption(
      new Option('-i, --interval <duration>', 'time between looks').argParser(parseDuration).default(10, '10s'),
    )
    .addOption(
      new Option('--settle <duration>', 'take a recording when nothing in it has changed for this time')
        .argParser(parseDuration)
        .default(10, '10s'),
    )
    .option('--done <folder>', 'where stored recordings go (default: they stay)')
    .addOption(
      new Option('-f, --format <format>', 'output format; json is a line for each event')
        .choices(['text', 'json'])
        .default('text'),
    );
  configFlags(command, ['db'])
    .addHelpText(
      'after',
      `
Recordings that have ended are submitted, and archives of EPMT (.tgz). What is refused goes to FOLDER/failed, with the reason in a text file beside
it. When the database is away, it is tried again until it is back: nothing is moved, nothing is lost. Ctrl-C ends it.

Examples:
  tacho watch /shared/recordings --db postgres://tacho@db.site/tacho
  tacho watch /shared/recordings --once --done /archive/2026
`,
    )
    .action(async (folder: string, options: Options) => {
      const address = await needAddress(options);
      const { watch } = await import('../database/watch.ts');
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      let failed = false;
      await watch({
        address,
        folder,
        ...stated({ rules: await changedRules(options.config) }),
        once: options.once === true || options.dryRun === true,
        ...(options.dryRun === true ? { dryRun: true } : {}),
        every: options.interval * 1000,
        settle: options.settle * 1000,
        ...(options.done === undefined ? {} : { done: path.resolve(options.done) }),
        signal: stop.signal,
        tell(event) {
          failed ||= event.what === 'failed';
          if (options.format === 'json') process.stdout.write(`${JSON.stringify(event)}\n`);
          else print(event);
        },
      });
      if (options.once && failed) process.exitCode = 1;
    });
}

function print(event: WatchEvent): void {
  switch (event.what) {
    case 'stored': {
      printJob(event.path, event.id, 'stored', event.submitted);
      for (const trouble of event.submitted.troubles) warn(trouble);
      return;
    }
    case 'unsettled':
      process.stderr.write(
        `tacho: ${printable(event.path)} changed less than ${formatDuration(event.settle / 1000)} ago: left for later (--settle)\n`,
      );
      return;
    case 'present': {
      const { id, moved, submitted } = event;
      if (submitted.mended === true)
        warn(`${repairedText(id, submitted.troubles)}; tacho submit ${moved ?? event.path} --replace changes that`);
      return;
    }
    case 'failed':
      warn(event.why);
      process.stderr.write(`       moved to ${printable(event.moved)}\n`);
      return;
    case 'planned': {
      const what = event.why === undefined ? `job ${event.id} would be stored` : `would be refused: ${event.why}`;
      process.stdout.write(`${printable(event.path)}: ${printable(what)}\n`);
      return;
    }
    case 'trouble':
      warn(`${event.why}; trying again in ${formatDuration(event.again / 1000)}`);
      return;
    case 'back':
      process.stderr.write('tacho: the database is back\n');
  }
}
