import { type Command, Option } from 'commander';
import type { Recorded, StartCommand } from '../agent/run/command-first.ts';
import { usage } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { rescueWith } from '../base/rescue.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { configFlags, configOf, forgivenConfig } from '../config/flags.ts';
import type { Results } from '../judge/keep-results.ts';
import type { WriterOptions } from '../recording/live/append.ts';
import { errorLine, NOT_RECORDED } from './error-text.ts';
import { keepFinish, ownSeconds } from './finish-cost.ts';
import { type LaunchOptions, launchOptions } from './launch-options.ts';
import { near } from './near.ts';
import { RECORDER_SETTINGS, recorderOptions } from './recorder-options.ts';
import type { ReportOptions } from './report.ts';
import { forgivenTags, parseTags } from './tags.ts';

interface Options extends Record<string, unknown>, LaunchOptions {
  name?: string;
  tag: string[];
  output?: string;
  jobFile?: string;
  config?: string;
  report: boolean;
  format: NonNullable<ReportOptions['format']>;
  processes: boolean;
  strict?: boolean;
}

/** Time between samples of Dask workers. */
const DASK_SECONDS = 0.2;
/** No cluster is there sooner. */
const DASK_AFTER_MS = 700;

export function define(command: Command): void {
  configFlags(command, RECORDER_SETTINGS, { interval: '-i' })
    .usage('[options] -- COMMAND [ARGUMENT…]')
    .argument('[command...]', 'the command to record, after --')
    .option('--name <name>', 'a name for the job (default: the command)')
    .option('-t, --tag <key:value>', 'a tag; may be given several times', (value, all: string[]) => [...all, value], [])
    .option('-o, --output <folder>', 'the recording (default: tacho-<date>-<command> here)');
  launchOptions(command, { missing: 'all of them, with a warning', timeout: '15 s' })
    .option('--job-file <file>', 'facts of the job from a file instead of a scheduler')
    .option('--no-processes', 'do not have every process and thread recorded, only sampled')
    .option('--no-report', 'do not print the report card')
    .addOption(
      new Option('-f, --format <format>', 'of the report card')
        .choices(['text', 'markdown', 'json', 'html'])
        .default('text'),
    )
    .passThroughOptions()
    .addHelpText(
      'after',
      `
The command's input, outputs, terminal, exit code and signals are its own; the report card goes to stderr. If it cannot
be recorded, it runs all the same and a line on stderr says so. With --strict it does not run then.

Examples:
  tacho run -- ./simulate input.nml
  tacho run --interval 0.1s --tag case:baseline -- make -j8
  tacho run -- srun ./a.out                  inside an allocation: records on all of its nodes
  tacho run --allow-missing 1 -- srun ./a.out      … but not at all when two of them do not record
  tacho run --strict -- ./simulate           only if it can be recorded
`,
    )
    .action(async (command: string[], options: Options) => {
      if (command.length === 0) throw usage('no command given', 'tacho run -- COMMAND [ARGUMENT…]');
      const { commandFirst } = await import('../agent/run/command-first.ts');
      const { endAs } = await import('../agent/run/end-as.ts');
      const { folder, ending } = await commandFirst(
        command,
        (start) => record(command, options, start),
        (error, running) => {
          if (options.strict && !running) throw error;
          warn(`${running ? 'recording has failed, the command goes on' : NOT_RECORDED}: ${errorLine(error)}`);
        },
      );
      // what the terminal shows of Ctrl-C stays on a line of its own
      if (ending.signal === 'SIGINT' && process.stderr.isTTY) process.stderr.write('\n');
      rescueWith((error) => {
        warn(errorLine(error));
        endAs(ending);
      });
      if (folder !== undefined) await finish(folder, options.report ? options.format : undefined, options.config);
      endAs(ending);
    });
}

async function record(command: readonly string[], options: Options, start: StartCommand): Promise<Recorded> {
  const { strict = false } = options;
  const config = await (strict ? configOf : forgivenConfig)(options, RECORDER_SETTINGS);
  const { recordCommand } = await import('../agent/run/record.ts');
  return recordCommand(
    {
      command,
      strict,
      ...stated({
        hosts: options.hosts,
        allowMissing: options.allowMissing ?? (strict ? 0 : undefined),
        limitSeconds: options.timeout,
        config: options.config,
        name: options.name,
        jobFile: options.jobFile,
        folder: options.output,
      }),
      tags: (strict ? parseTags : forgivenTags)(options.tag),
      parent: config.recordings ?? '.',
      processes: options.processes,
      ...recorderOptions(config),
      ...(config.dask && { beside: (pid, recording) => besideDask(pid, recording, recorderOptions(config).writer) }),
    },
    start,
  );
}

/** Looks for Dask clusters of the command. A short command has none: the code for it is loaded a moment later. */
function besideDask(pid: number, recording: string, writer: WriterOptions): { stop(): Promise<void> } {
  let notice: Promise<{ stop(): Promise<void> }> | undefined;
  const say = (text: string): void => warn(printable(text));
  const timer = setTimeout(() => {
    notice = import('../dask/notice.ts').then(({ noticeClusters }) =>
      noticeClusters({ pid, recording, intervalSeconds: DASK_SECONDS, writer, say }),
    );
  }, DASK_AFTER_MS);
  return {
    async stop() {
      clearTimeout(timer);
      await (await notice)?.stop();
    },
  };
}

/** Whatever goes wrong here, the command's own end is what counts. */
async function finish(folder: string, format: Options['format'] | undefined, config?: string): Promise<void> {
  const shown = near(folder);
  try {
    const { openRecording } = await import('../recording/folder/open.ts');
    const { isWorthSealing } = await import('../recording/sealed/worth-sealing.ts');
    const recording = openRecording(folder);
    const here = recording.nodes.find(({ agent }) => agent?.pid === process.pid)?.agent;
    const counted = here?.cost.cpu_seconds ?? recording.job.run_use?.cpu_seconds ?? 0;
    const spent = (): number => Math.max(0, ownSeconds() - counted);
    // before the card, which then has what that cost, too
    const isSealed = isWorthSealing(recording);
    if (isSealed) (await import('../recording/sealed/seal.ts')).sealRecording(recording, { force: true });
    let results: Results | undefined;
    if (format !== undefined) {
      await (await import('../jobs/schedulers/refresh.ts')).fileJob(recording, { steps: true });
      const { reportCard } = await import('./report.ts');
      const card = await reportCard([folder], {
        ...{ stream: process.stderr, format, spent, isForgiving: true },
        ...stated({ config }),
        ...(isSealed && {
          keep: (all) => {
            results = all;
          },
        }),
      });
      process.stderr.write(format === 'json' || format === 'html' ? card : `${card}\nRecording ${printable(shown)}\n`);
    }
    if (isSealed) {
      const { keep, keepResults } = await import('../judge/keep-results.ts');
      const sealed = openRecording(folder);
      const made = results === undefined ? keepResults(sealed) : keep(results);
      (await import('../judge/outliers/kept-features.ts')).keepFeatures(sealed, made);
    }
    keepFinish(folder, spent());
    // others' recordings: nobody waits for them with the card
    await (await import('../agent/run/adopt-abandoned.ts')).adoptAbandoned();
  } catch (error) {
    const { tell } = await import('./failure.ts');
    tell(error);
    warn(`the recording is ${shown}`);
  }
}
