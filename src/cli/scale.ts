import type { Command } from 'commander';
import { JOBS_ARGUMENT } from './named-recordings.ts';
import { several } from './processes.ts';
import { printScale, type ScaleOptions, sizeBy, studyOptions } from './scale-options.ts';
import { defineRun } from './scale-run.ts';

export function define(command: Command): void {
  studyOptions(
    command
      .usage('[RECORDING…] [options], or: tacho scale run --cores 1,2,4 -- COMMAND')
      .argument('[recordings...]', JOBS_ARGUMENT)
      .option(
        '--by <what>',
        'what sizes are counted in: cores, nodes, gpus or tag:KEY (default: cores or gpus)',
        sizeBy,
      )
      .option('--name <name>', 'only jobs with this name; * and ? as in file names')
      .option('--program <name>', 'only runs of this program')
      .option('-t, --tag <key:value>', 'only jobs with this tag; several must all be there', several),
  )
    .addHelpText(
      'after',
      `
With one recording: what limits it, and what more cores, memory, GPUs or faster storage
would bring at most. With several recordings of one program at different sizes: a fit of
the laws of Amdahl, Gustafson and Gunther (USL) with confidence intervals, and the size
to ask for.

Examples:
  tacho scale tacho-4711                          what one run tells
  tacho scale runs/ --program solver              the study that these runs are
  tacho scale runs/ --by nodes --efficiency 80%
  tacho scale runs/ --figure ns_per_day --by gpus
  tacho scale runs/ --format svg > scaling.svg
  tacho scale run --cores 1,2,4 -- ./solver -t {cores} input.nml
`,
    )
    .action(async (paths: string[], options: ScaleOptions) => {
      const { scaleOf } = await import('./scale-runs.ts');
      await printScale(await scaleOf(paths, options), options.format);
    });
  defineRun(command.command('run'));
}
