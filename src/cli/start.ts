import { type Command, Option } from 'commander';
import { count } from '../base/figure.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { configFlags, configOf, forgivenConfig } from '../config/flags.ts';
import { type LaunchOptions, launchOptions } from './launch-options.ts';
import { near } from './near.ts';
import { RECORDER_SETTINGS, recorderOptions } from './recorder-options.ts';
import { forgivenTags, parseTags } from './tags.ts';

interface Options extends Record<string, unknown>, LaunchOptions {
  output?: string;
  name?: string;
  tag: string[];
  jobFile?: string;
  format: string;
  processes: boolean;
  config?: string;
  strict?: boolean;
}

export function define(command: Command): void {
  configFlags(command, RECORDER_SETTINGS, { interval: '-i' })
    .option('-o, --output <folder>', 'the recording (default: tacho-<job id> here)')
    .option('--name <name>', 'a name for the job (default: that of the scheduler, or of the script)')
    .option(
      '-t, --tag <key:value>',
      'a tag; may be given several times',
      (value, all: string[]) => [...all, value],
      [],
    );
  launchOptions(command, { missing: 'all but one, with a warning', timeout: '30 s' })
    .option('--job-file <file>', 'take the facts of the job from a JSON file with RMS_* keys')
    .option('--no-processes', 'do not let `tacho env` have every process and thread recorded')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
In a Slurm, Flux or PBS job every node of the job is recorded. Elsewhere this machine is, and the job is what the calling
shell starts until tacho stop; of machines named by --hosts all that runs there counts as the job.

Examples:
  tacho start --interval 10
  trap 'tacho stop' EXIT              the script's exit status stays its own
  srun ./a.out

  tacho start --hosts c1,c2 -o run7
`,
    )
    .action(async (options: Options) => {
      const { startRecording } = await import('../control/start.ts');
      const { callingShell } = await import('../control/calling-shell.ts');
      const { strict = false } = options;
      const config = await (strict ? configOf : forgivenConfig)(options, RECORDER_SETTINGS);
      const begun = performance.now();
      const { recording, job, missing } = await startRecording(process.env, {
        ...recorderOptions(config),
        parent: config.recordings ?? '.',
        processes: options.processes,
        strict,
        limitSeconds: options.timeout ?? 30,
        tags: (strict ? parseTags : forgivenTags)(options.tag),
        watchPid: callingShell(),
        tell: (what, why) => warn(`${what}: ${why}`),
        say: warn,
        ...stated({
          allowMissing: options.allowMissing ?? (strict ? 0 : undefined),
          folder: options.output,
          name: options.name,
          hosts: options.hosts,
          jobFile: options.jobFile,
          config: options.config,
        }),
      });
      await (await import('../agent/run/adopt-abandoned.ts')).adoptAbandoned();
      if (options.format === 'json') {
        process.stdout.write(`${JSON.stringify({ recording, job: job.id, nodes: job.nodes, missing })}\n`);
        return;
      }
      const { commonLogLines } = await import('../control/launch.ts');
      for (const { nodes, many, logLines } of commonLogLines(missing)) {
        warn([`${nodes} ${many ? 'do' : 'does'} not record`, ...logLines].join('\n'));
      }
      const nodes = job.nodes.length - missing.length;
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      const every = `${count(nodes, 'node')} every ${config.interval} s`;
      warn(`recording ${every} in ${near(recording)} (after ${seconds} s)`);
    });
}
