import * as fs from 'node:fs';
import * as os from 'node:os';
import { isatty } from 'node:tty';
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { SINK_SETTINGS } from '../agent/service/make-sinks.ts';
import type { Service } from '../agent/service/service.ts';
import { METRICS_SETTINGS, openServiceMetrics } from '../agent/service/service-metrics.ts';
import { usage } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { configFlags, configOf, forgivenConfig } from '../config/flags.ts';
import type { SettingKey } from '../config/settings.ts';
import { processId, stillRuns } from '../jobs/on-node/process-id.ts';
import { RECORDER_SETTINGS, recorderOptions } from './recorder-options.ts';

const SETTINGS = [
  'service.spool',
  'service.jobs',
  'service.interval',
  'service.idle_interval',
  'service.node',
  'service.hooks_only',
  ...SINK_SETTINGS,
  ...METRICS_SETTINGS,
  ...RECORDER_SETTINGS.filter((key) => key !== 'recordings'),
] as const satisfies readonly SettingKey[];

interface Options extends Record<string, unknown> {
  recording?: string;
  interval?: number;
  jobId?: string;
  scheduler?: string;
  pid?: string;
  lifeline?: boolean;
  watchPid?: string;
}

export function define(command: Command): void {
  configFlags(command, SETTINGS);
  const interval = command.options.find(({ long }) => long === '--interval')!;
  interval.description = 'with --recording: time between samples (the service has --job-interval and --idle-interval)';
  command
    .option('--recording <folder>', 'write to this recording alone, as `tacho start` has agents do')
    .option('--job-id <id>', 'with --recording: the job whose processes are recorded')
    .option('--scheduler <name>', 'with --recording: slurm, flux, pbs or none')
    .option('--pid <pid>', 'with --recording: this process and its descendants are the job')
    .option('--lifeline', 'end when standard input ends')
    .option('--watch-pid <pid>', 'end when this process has gone')
    .addHelpText(
      'after',
      `
Runs as a service of the node until SIGTERM ends it. It records the node itself, and every job that a prolog reports (tacho
slurm hooks) or that has a cgroup of Slurm's, each in a recording of its own in the spool.

Examples:
  tacho agent
  tacho agent --spool /tmp/spool --jobs /tmp/jobs --idle-interval 10s
  tacho list /var/spool/tacho
`,
    )
    .action(async (options: Options) => {
      // a job's agent records what it can
      const config = await (options.recording === undefined ? configOf : forgivenConfig)(options, SETTINGS);
      const node = config['service.node'] ?? process.env.SLURMD_NODENAME ?? os.hostname().split('.')[0]!;
      const { spareCompilers } = await import('../agent/loop/spare-compilers.ts');
      spareCompilers();
      collectEarly();
      let end: (why: string) => void = () => {};
      const over = new Promise<string>((resolve) => {
        end = resolve;
      });
      endBySignal(end, options.recording === undefined || isatty(0));
      if (options.lifeline) {
        process.stdin.resume();
        process.stdin.once('end', () => end('the connection that started it has ended'));
        process.stdin.once('error', () => end('the connection that started it has ended'));
      }
      if (options.watchPid !== undefined)
        watch(Number(options.watchPid), () => end('the shell that started it has ended'));
      const recording = recorderOptions(config);
      if (options.recording !== undefined) await record(options, { ...recording, node }, over, end);
      else {
        for (const only of ['jobId', 'scheduler', 'pid', 'interval'] as const) {
          if (options[only] === undefined) continue;
          const flag = `--${only.replace('Id', '-id')}`;
          throw usage(
            `${flag} needs --recording`,
            only === 'interval' ? '--job-interval and --idle-interval are those of the service' : undefined,
          );
        }
        await serve(config, { ...recording, node }, over);
      }
      process.exit(0);
    });
}

/** When all is loaded: V8 takes code that it compiled earlier only with the usual options. */
const LOADED_MS = 10_000;

/** An agent lives long and its sinks make garbage with every message: V8 is not to wait until there is much of it. */
function collectEarly(): void {
  setTimeout(() => setFlagsFromString('--heap-growing-percent=20'), LOADED_MS).unref();
}

type Config = Awaited<ReturnType<typeof configOf>>;
type Recorder = ReturnType<typeof recorderOptions> & { node: string };

/** The node's own agent, until it is asked to end. */
async function serve(config: Config, recorder: Recorder, over: Promise<string>): Promise<void> {
  const { Service } = await import('../agent/service/service.ts');
  const { giveBackStart } = await import('../agent/loop/give-back.ts');
  const { makeOutlet } = await import('../agent/service/make-sinks.ts');
  const spool = config['service.spool'];
  let service: Service | undefined;
  const metrics = await openServiceMetrics(config, () => service);
  const outlet = await makeOutlet({ config, spool, node: recorder.node, say: warn }, () => service?.roll());
  giveBackStart();
  service = new Service({
    ...recorder,
    spool,
    jobs: config['service.jobs'],
    intervalSeconds: config['service.interval'],
    idleIntervalSeconds: config['service.idle_interval'],
    watchCgroups: !config['service.hooks_only'],
    say: warn,
    ...stated({ outlet }),
  });
  const sinks = outlet?.sinks.map(({ name }) => name).join(', ') ?? 'nowhere: recordings stay there';
  warn(`records ${recorder.node} in ${spool}; jobs come in by ${config['service.jobs']}; samples go to ${sinks}`);
  if (metrics !== undefined)
    warn(`metrics: ${metrics.address}${metrics.showsJobs ? '' : ' (of the node; metrics.token_file adds its jobs)'}`);
  const why = await over;
  await service.stop(why);
  await metrics?.close();
}

/** An agent that `tacho start` has started: one recording, one job. */
async function record(
  options: Options,
  recorder: Recorder,
  over: Promise<string>,
  end: (why: string) => void,
): Promise<void> {
  const recording = options.recording!;
  const { startNodeAgent } = await import('../agent/loop/node-agent.ts');
  const { findScope } = await import('../jobs/on-node/scope.ts');
  const { readJob } = await import('../recording/folder/open.ts');
  // thousands of agents begin at once: none of them looks at the others' folders
  const { process_records: records, marks_file: marks } = readJob(recording) ?? {};
  const step = process.env.SLURM_STEP_ID;
  const { noteAgent } = await import('../control/active.ts');
  const { giveBackStart } = await import('../agent/loop/give-back.ts');
  const forget = noteAgent(process.env, recording, (what, why) => {
    warn(`${what}: ${why}`);
  });
  giveBackStart();
  const node = await startNodeAgent({
    ...recorder,
    recording,
    ...stated({ step, records, marks }),
    gone: () => end('the recording folder has gone'),
  });
  node.follow(
    findScope(node.host, {
      ...stated({ jobId: options.jobId, scheduler: options.scheduler }),
      ...(options.pid === undefined ? {} : { rootPid: Number(options.pid) }),
      uid: process.getuid!(),
      exclude: [process.pid],
      redact: recorder.redact,
    }),
  );
  const why = await over;
  forget();
  await node.stop(why);
}

/**
 * Ends when told to. In a job SIGINT, SIGHUP and SIGQUIT may be an application's, as others are (`scancel -s INT`): there,
 * only SIGTERM counts, and what ends whoever started the agent.
 */
function endBySignal(end: (why: string) => void, isAlone: boolean): void {
  process.on('SIGTERM', () => end('SIGTERM'));
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => isAlone && end(signal));
  if (!isAlone) process.on('SIGQUIT', () => {});
  // the kernel sends it when this process has used up its own CPU time; a scheduler, when the job has
  process.on('SIGXCPU', () => isOverLimit() && end('SIGXCPU'));
}

/** This process has used as much CPU time as its soft limit allows. */
function isOverLimit(): boolean {
  const limit = /^Max cpu time\s+(\d+)/m.exec(fs.readFileSync('/proc/self/limits', 'latin1'))?.[1];
  const { user, system } = process.cpuUsage();
  return limit !== undefined && user + system >= (Number(limit) - 1) * 1e6;
}

function watch(pid: number, gone: () => void): void {
  const watched = processId(pid);
  const timer = setInterval(() => {
    if (stillRuns(watched)) return;
    clearInterval(timer);
    gone();
  }, 1000);
  timer.unref();
}
