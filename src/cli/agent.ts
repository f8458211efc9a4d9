import * as fs from 'node:fs';
import * as os from 'node:os';
import type { Command } from 'commander';
import { configFlags, configOf } from '../config/flags.ts';
import { RECORDER_SETTINGS, recorderOptions } from './recorder-options.ts';

interface Options extends Record<string, unknown> {
  recording: string;
  node?: string;
  jobId?: string;
  scheduler?: string;
  pid?: string;
  lifeline?: boolean;
  watchPid?: string;
}

export function define(command: Command): void {
  configFlags(command, RECORDER_SETTINGS)
    .requiredOption('--recording <folder>', 'the recording to write to')
    .option('--node <name>', "this node's name (default: the scheduler's name for it, else the host name)")
    .option('--job-id <id>', 'the job whose processes are recorded')
    .option('--scheduler <name>', 'slurm, flux, pbs or none')
    .option('--pid <pid>', 'record this process and its descendants as the job')
    .option('--lifeline', 'end when standard input ends')
    .option('--watch-pid <pid>', 'end when this process has gone')
    .addHelpText('after', '\nExample:\n  tacho agent --recording tacho-4711 --interval 1s\n')
    .action(async (options: Options) => {
      const config = await configOf(options, RECORDER_SETTINGS);
      const { startNodeAgent } = await import('../agent/node-agent.ts');
      const { findScope } = await import('../jobs/scope.ts');
      const { readJob } = await import('../recording/open.ts');
      // thousands of agents begin at once: none of them looks at the others' folders
      const records = readJob(options.recording)?.process_records;
      const { giveBackStart } = await import('../agent/give-back.ts');
      giveBackStart();
      const step = process.env.SLURM_STEP_ID;
      let end: (why: string) => void = () => {};
      const over = new Promise<string>((resolve) => {
        end = resolve;
      });
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGXCPU'] as const) process.on(signal, () => end(signal));
      const { noteAgent } = await import('../jobs/active.ts');
      const forget = noteAgent(process.env, options.recording, (what, why) => {
        process.stderr.write(`tacho: ${what}: ${why}\n`);
      });
      const node = await startNodeAgent({
        recording: options.recording,
        node: options.node ?? process.env.SLURMD_NODENAME ?? os.hostname().split('.')[0]!,
        ...recorderOptions(config),
        ...(step === undefined ? {} : { step }),
        ...(records === undefined ? {} : { records }),
        gone: () => end('the recording folder has gone'),
      });
      node.follow(
        findScope(node.host, {
          ...(options.jobId === undefined ? {} : { jobId: options.jobId }),
          ...(options.scheduler === undefined ? {} : { scheduler: options.scheduler }),
          ...(options.pid === undefined ? {} : { rootPid: Number(options.pid) }),
          uid: process.getuid!(),
          exclude: [process.pid],
          redact: config.redact,
        }),
      );
      if (options.lifeline) {
        process.stdin.resume();
        process.stdin.once('end', () => end('the connection that started it has ended'));
        process.stdin.once('error', () => end('the connection that started it has ended'));
      }
      if (options.watchPid !== undefined)
        watch(Number(options.watchPid), () => end('the shell that started it has ended'));
      const why = await over;
      forget();
      await node.agent.stop(why);
      process.exit(0);
    });
}

function watch(pid: number, gone: () => void): void {
  const started = startTime(pid);
  const timer = setInterval(() => {
    if (started === undefined || startTime(pid) !== started) {
      clearInterval(timer);
      gone();
    }
  }, 1000);
  timer.unref();
}

function startTime(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')')).split(' ')[20];
  } catch {
    return undefined;
  }
}
