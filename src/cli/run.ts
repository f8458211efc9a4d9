import * as os from 'node:os';
import { type Command, Option } from 'commander';
import type { CommandEnding } from '../agent/command.ts';
import { usage } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { warn } from '../base/warn.ts';
import { configFlags, configOf } from '../config/flags.ts';
import { known } from '../jobs/scheduler.ts';
import { type LaunchOptions, launchOptions } from './launch-options.ts';
import { near } from './near.ts';
import { RECORDER_SETTINGS, recorderOptions } from './recorder-options.ts';
import type { ReportOptions } from './report.ts';
import { parseTags } from './tags.ts';

interface Options extends Record<string, unknown>, LaunchOptions {
  name?: string;
  tag: string[];
  output?: string;
  jobFile?: string;
  config?: string;
  report: boolean;
  format: NonNullable<ReportOptions['format']>;
  processes: boolean;
}

export function define(command: Command): void {
  configFlags(command, RECORDER_SETTINGS, { interval: '-i' })
    .usage('[options] -- COMMAND [ARGUMENT…]')
    .argument('[command...]', 'the command to record, after --')
    .option('-n, --name <name>', 'a name for the job (default: the command)')
    .option('-t, --tag <key:value>', 'a tag; may be given several times', (value, all: string[]) => [...all, value], [])
    .option('-o, --output <folder>', 'the recording (default: tacho-<date>-<command> here)');
  launchOptions(command, { missing: 'all of them, with a warning', timeout: '15 s' })
    .option('--job-file <file>', 'facts of the job from a file instead of a scheduler')
    .option('--no-processes', 'do not have every process and thread recorded, only sampled')
    .option('--no-report', 'do not print the report card')
    .addOption(
      new Option('--format <format>', 'of the report card').choices(['text', 'markdown', 'json']).default('text'),
    )
    .passThroughOptions()
    .addHelpText(
      'after',
      `
The command's input, outputs, terminal, exit code and signals are its own; the report card goes to stderr.

Examples:
  tacho run -- ./simulate input.nml
  tacho run --interval 0.1s --tag case:baseline -- make -j8
  tacho run -- srun ./a.out                  inside an allocation: records on all of its nodes
  tacho run --allow-missing 1 -- srun ./a.out      … but not at all when two of them do not record
`,
    )
    .action(async (words: string[], options: Options) => {
      if (words.length === 0) throw usage('no command given', 'tacho run -- COMMAND [ARGUMENT…]');
      const config = await configOf(options, RECORDER_SETTINGS);
      const { recordCommand } = await import('../agent/record.ts');
      const { folder, ending } = await recordCommand({
        command: words,
        ...known({
          hosts: options.hosts,
          allowMissing: options.allowMissing,
          limitSeconds: options.timeout,
          config: options.config,
        }),
        ...(options.name === undefined ? {} : { name: options.name }),
        tags: parseTags(options.tag),
        ...(options.jobFile === undefined ? {} : { jobFile: options.jobFile }),
        ...(options.output === undefined ? {} : { folder: options.output }),
        parent: config.recordings ?? '.',
        processes: options.processes,
        ...recorderOptions(config),
      });
      // what the terminal shows of Ctrl-C stays on a line of its own
      if (ending.signal === 'SIGINT' && process.stderr.isTTY) process.stderr.write('\n');
      await finish(folder, options.report ? options.format : undefined);
      endAs(ending);
    });
}

/** Whatever goes wrong here, the command's own end is what counts. */
async function finish(folder: string, format: Options['format'] | undefined): Promise<void> {
  const shown = near(folder);
  try {
    if (format !== undefined) {
      const { reportCard } = await import('./report.ts');
      const card = await reportCard([folder], { stream: process.stderr, format });
      process.stderr.write(format === 'json' ? card : `${card}\nRecording ${printable(shown)}\n`);
    } else await (await import('../agent/adopt-abandoned.ts')).adoptAbandoned();
    const { openRecording } = await import('../recording/open.ts');
    const { isWorthSealing, sealRecording } = await import('../recording/seal.ts');
    const recording = openRecording(folder);
    if (isWorthSealing(recording)) sealRecording(recording, { force: true });
  } catch (error) {
    const { tell } = await import('./failure.ts');
    tell(error);
    warn(`the recording is ${shown}`);
  }
}

/** Signals after which a shell should see the signal itself; others would dump our own core or cannot be caught. */
const RAISED = new Set<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGALRM']);

/** Ends this process as the command has ended. */
function endAs(ending: CommandEnding): void {
  if (ending.signal === undefined) process.exit(ending.exitCode ?? 0);
  // also for a signal that is ignored here: Node does so with SIGPIPE, nohup with SIGHUP
  process.exitCode = 128 + (os.constants.signals[ending.signal] ?? 0);
  if (!RAISED.has(ending.signal)) process.exit();
  process.removeAllListeners(ending.signal);
  process.kill(process.pid, ending.signal);
}
