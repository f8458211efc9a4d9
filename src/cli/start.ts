import * as path from 'node:path';
import type { Command } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { usage } from '../base/fault.ts';
import { parseTags } from './tags.ts';

interface Options {
  interval: number;
  output?: string;
  name?: string;
  tag: string[];
  hosts?: string[];
  allowMissing: number;
  timeout: number;
  jobFile?: string;
  redact?: boolean;
  without: string[];
  format: string;
}

export function define(command: Command): void {
  command
    .option('-i, --interval <duration>', 'time between samples, from 0.1s', interval, 10)
    .option('-o, --output <folder>', 'the recording (default: tacho-<job id> here)')
    .option('-n, --name <name>', "a name for the job (default: the scheduler's)")
    .option('-t, --tag <key:value>', 'a tag; may be given several times', (value, all: string[]) => [...all, value], [])
    .option('--hosts <names>', 'record these machines (by ssh outside of a scheduler)', (names) =>
      names.split(',').filter(Boolean),
    )
    .option('--allow-missing <nodes>', 'go on although so many nodes do not record', count, 0)
    .option('--timeout <duration>', 'how long to wait for the first samples', parseDuration, 30)
    .option('--job-file <file>', 'take the facts of the job from a JSON file with RMS_* keys')
    .option('--redact', 'leave arguments out of what is recorded')
    .option('--without <tables...>', 'tables that are not wanted', [])
    .option('--format <format>', 'text or json', 'text')
    .addHelpText(
      'after',
      `
In a Slurm, Flux or PBS job every node of the job is recorded; elsewhere this machine, or those named by --hosts.

Examples:
  tacho start --interval 10
  srun ./a.out
  tacho stop

  tacho start --hosts c1,c2 -o run7
`,
    )
    .action(async (options: Options) => {
      const { startRecording } = await import('../jobs/start.ts');
      const begun = performance.now();
      const { recording, job, missing } = await startRecording(process.env, {
        intervalSeconds: options.interval,
        allowMissing: options.allowMissing,
        limitSeconds: options.timeout,
        tags: parseTags(options.tag),
        watchPid: process.ppid,
        redact: options.redact === true,
        without: options.without,
        tell: (what, why) => void process.stderr.write(`tacho: ${what}: ${why}\n`),
        ...(options.output === undefined ? {} : { folder: options.output }),
        ...(options.name === undefined ? {} : { name: options.name }),
        ...(options.hosts === undefined ? {} : { hosts: options.hosts }),
        ...(options.jobFile === undefined ? {} : { jobFile: options.jobFile }),
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
        `tacho: recording ${nodes} node${nodes === 1 ? '' : 's'} every ${options.interval} s in ${path.relative('.', recording) || '.'} (after ${seconds} s)\n`,
      );
    });
}

function interval(text: string): number {
  const seconds = parseDuration(text);
  if (seconds < 0.1) throw usage(`"${text}" is too short an interval`, 'the shortest is 0.1s');
  return seconds;
}

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw usage(`"${text}" is not a number of nodes`);
  return Number(text);
}
