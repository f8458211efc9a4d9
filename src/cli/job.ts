import { type Command, Option } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { Fault, reason, usage } from '../base/fault.ts';
import { warn } from '../base/warn.ts';
import { configFlags, configOf } from '../config/flags.ts';
import type { BeginFlags } from '../jobs/on-node/job-variables.ts';

const SETTINGS = ['service.jobs'] as const;

interface Options extends BeginFlags, Record<string, unknown> {
  exitCode?: string;
  strict?: boolean;
  format: string;
}

export function define(command: Command): void {
  command
    .helpCommand(false)
    .usage('begin|end [options]')
    .addHelpText(
      'after',
      `
Tells the agent of this node that a job begins or has ended. Slurm's own hooks
(tacho slurm hooks) do the same without starting a program. If the job file cannot be
written, a warning says so and the exit code is still 0 (with --strict: 1).

Examples:
  tacho job begin                          in a prolog: from SLURM_JOB_ID and the like
  tacho job begin --job-id 4711 --user ada --uid 1001 --nodes c[1-4]
  tacho job end --job-id 4711 --exit-code 0
`,
    );
  common(command.command('begin').description('Report that a job begins on this node.'))
    .option('--user <name>', "the job's user (default: SLURM_JOB_USER)")
    .option('--uid <number>', "the user's number (default: SLURM_JOB_UID, else that of --user)", number)
    .option('--nodes <list>', "the job's nodes, such as c[1-4] (default: SLURM_NODELIST)")
    .option('--name <name>', 'a name for the job')
    .option('--cluster <name>', 'the cluster (default: SLURM_CLUSTER_NAME)')
    .option('--directory <folder>', 'where the job runs (default: SLURM_JOB_WORK_DIR)')
    .option('--scheduler <name>', 'slurm, pbs, flux or none (default: slurm)')
    .option('-i, --interval <duration>', 'time between samples of this job, at least 100ms', interval)
    .option('--job-file <file>', 'take the facts of the job from a JSON file with RMS_* keys')
    .addHelpText('after', '\nExample:\n  tacho job begin --job-id 4711 --user ada --uid 1001\n')
    .action(async (options: Options) => {
      const { beginVariables } = await import('../jobs/on-node/job-variables.ts');
      const { JOB_KEYS, writeJobFile } = await import('../jobs/on-node/job-file.ts');
      await tell(options, (folder) => writeJobFile(folder, beginVariables(process.env, options), JOB_KEYS));
    });
  common(command.command('end').description('Report that a job has ended on this node.'))
    .option('--exit-code <number>', 'how it ended (default: SLURM_JOB_EXIT_CODE2)', number)
    .addHelpText('after', '\nExample:\n  tacho job end --job-id 4711 --exit-code 0\n')
    .action(async (options: Options) => {
      const { endVariables } = await import('../jobs/on-node/job-variables.ts');
      const { END_KEYS, writeJobFile } = await import('../jobs/on-node/job-file.ts');
      await tell(options, (folder) => writeJobFile(folder, endVariables(process.env, options), END_KEYS));
    });
}

function common(command: Command): Command {
  return configFlags(command, SETTINGS)
    .option('--job-id <id>', 'the job (default: SLURM_JOB_ID)')
    .option('--restart <number>', 'how often it was restarted (default: SLURM_RESTART_COUNT)', number)
    .option('--strict', 'exit with 1 when the agent cannot be reached; without it only a warning is printed')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'));
}

/** A prolog that fails takes a node out of service: whoever cannot be told of a job must not keep it from running. */
async function tell(options: Options, write: (folder: string) => string): Promise<void> {
  let isUsed = false;
  try {
    const config = await configOf(options, SETTINGS);
    isUsed = true;
    print(write(config['service.jobs']), options);
  } catch (error) {
    const isWrongUse = isUsed && error instanceof Fault && error.exit === 2;
    if (options.strict === true || isWrongUse || !(error instanceof Error)) throw error;
    warn(`the agent was not notified of the job: ${reason(error)}`);
  }
}

function interval(text: string): number {
  const seconds = parseDuration(text);
  if (!(seconds >= 0.1 && seconds <= 86_400)) throw usage(`"${text}": samples are 100 ms to a day apart`);
  return seconds;
}

function number(text: string): string {
  if (!/^\d+$/.test(text)) throw usage(`"${text}" is not a number`);
  return text;
}

/** A prolog's output is part of the job's environment in some places: nothing is printed unless it is asked for. */
function print(file: string, { format }: Options): void {
  if (format === 'json') process.stdout.write(`${JSON.stringify({ file })}\n`);
}
