import { type Command, Option } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { usage } from '../base/fault.ts';
import { configFlags, configOf } from '../config/flags.ts';
import { known } from '../jobs/scheduler.ts';
import { near } from './near.ts';
import { RECORDER_SETTINGS, recorderOptions } from './recorder-options.ts';
import { parseTags } from './tags.ts';

interface Options extends Record<string, unknown> {
  output?: string;
  name?: string;
  tag: string[];
  hosts?: string[];
  allowMissing: number;
  timeout: number;
  jobFile?: string;
  format: string;
  processes: boolean;
  config?: string;
}

export function define(command: Command): void {
  configFlags(command, RECORDER_SETTINGS, { interval: '-i' })
    .option('-o, --output <folder>', 'the recording (default: tacho-<job id> here)')
    .option('-n, --name <name>', "a name for the job (default: the scheduler's)")
    .option('-t, --tag <key:value>', 'a tag; may be given several times', (value, all: string[]) => [...all, value], [])
    .option('--hosts <names>', 'record these machines (by ssh outside of a scheduler)', hosts)
    .option('--allow-missing <nodes>', 'go on although so many nodes do not record', count, 0)
    .option('--timeout <duration>', 'how long to wait for the first samples', parseDuration, 30)
    .option('--job-file <file>', 'take the facts of the job from a JSON file with RMS_* keys')
    .option('--no-processes', 'do not let `tacho env` have every process and thread recorded')
    .addOption(new Option('--format <format>', 'how it looks').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
In a Slurm, Flux or PBS job every node of the job is recorded. Elsewhere this machine is, and the job is what the calling
shell starts until tacho stop; of machines named by --hosts all that runs there counts as the job.

Examples:
  tacho start --interval 10
  srun ./a.out
  tacho stop

  tacho start --hosts c1,c2 -o run7
`,
    )
    .action(async (options: Options) => {
      const { startRecording } = await import('../jobs/start.ts');
      const config = await configOf(options, RECORDER_SETTINGS);
      const begun = performance.now();
      const { recording, job, missing } = await startRecording(process.env, {
        ...recorderOptions(config),
        parent: config.recordings ?? '.',
        processes: options.processes,
        allowMissing: options.allowMissing,
        limitSeconds: options.timeout,
        tags: parseTags(options.tag),
        watchPid: process.ppid,
        tell: (what, why) => void process.stderr.write(`tacho: ${what}: ${why}\n`),
        ...known({
          folder: options.output,
          name: options.name,
          hosts: options.hosts,
          jobFile: options.jobFile,
          config: options.config,
        }),
      });
      if (options.format === 'json') {
        process.stdout.write(`${JSON.stringify({ recording, job: job.id, nodes: job.nodes, missing })}\n`);
        return;
      }
      for (const { node, words } of missing) {
        process.stderr.write(`tacho: ${node} does not record${words.map((line) => `\n       ${line}`).join('')}\n`);
      }
      const nodes = job.nodes.length - missing.length;
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      process.stderr.write(
        `tacho: recording ${nodes} node${nodes === 1 ? '' : 's'} every ${config.interval} s in ${near(recording)} (after ${seconds} s)\n`,
      );
    });
}

/** An empty list is a variable that was not set: this machine is not what was meant. */
function hosts(text: string): string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  if (names.length === 0) throw usage(`--hosts "${text}" names no machine`, 'it is a list such as --hosts c1,c2');
  return names;
}

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw usage(`"${text}" is not a number of nodes`);
  return Number(text);
}
