import { type Command, Option } from 'commander';
import { parseDuration } from '../../base/duration.ts';
import { usage } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { count } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import { warn } from '../../base/warn.ts';
import { configFlags, configOf } from '../../config/flags.ts';
import type { JobType } from '../../dask/job-numbers.ts';
import { near } from '../near.ts';
import { recorderOptions } from '../recorder-options.ts';

const TRACKED = ['tasks', 'total-mem', 'mem-util', 'compute-util'] as const;

interface Options extends Record<string, unknown> {
  tracking: string[];
  interval: number;
  jobType: JobType;
  custom?: string;
  readOnly?: boolean;
  paused?: boolean;
  output?: string;
  tlsCa?: string;
  tlsCert?: string;
  tlsKey?: string;
  format: 'text' | 'json';
}

const SETTINGS = [
  'recordings',
  'sources.enable',
  'sources.disable',
  'spool.part_size',
  'spool.part_time',
  'spool.memory',
] as const;

const SHORTEST = 0.02;

export function tracked(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(TRACKED as readonly string[]).includes(name));
  if (unknown !== undefined) throw usage(`"${unknown}" cannot be tracked`, `there are ${TRACKED.join(', ')}`);
  return names;
}

function interval(text: string): number {
  const seconds = parseDuration(text);
  if (seconds < SHORTEST) throw usage(`${text} is too short: workers sample every 20 ms at most`);
  return seconds;
}

export function defineAttach(command: Command): void {
  configFlags(
    command
      .description('Record a running cluster: its graphs, tasks and workers.')
      .argument('<cluster>', 'http://HOST:8787, tcp://HOST:8786, tls://HOST:8786, or a scheduler file')
      .addOption(
        new Option('--tracking <names>', 'columns of the CSV files that are made of it')
          .argParser(tracked)
          .default([...TRACKED], TRACKED.join(',')),
      )
      .addOption(
        new Option('--interval <duration>', 'time between samples of workers')
          .argParser(interval)
          .default(0.2, '200ms'),
      )
      .addOption(
        new Option('--job-type <type>', 'a job is a client, or what tacho dask new-job begins')
          .choices(['client', 'manual'])
          .default('client'),
      )
      .option('--custom <file>', 'custom metrics: FILE.py is run by the workers, FILE.ts here')
      .option('--read-only', 'run no code on the cluster: fewer values')
      .option('--paused', 'record nothing until tacho dask start')
      .option('-o, --output <folder>', 'the recording (default: tacho-<date>-dask here)')
      .option('--tls-ca <file>', 'the certificate of the authority, for tls://')
      .option('--tls-cert <file>', 'the certificate to connect with')
      .option('--tls-key <file>', 'its key (default: in the certificate’s file)')
      .addOption(
        new Option('-f, --format <format>', 'output format at the start').choices(['text', 'json']).default('text'),
      ),
    SETTINGS,
  )
    .addHelpText(
      'after',
      `
It records until tacho dask detach, Ctrl-C, or the end of the cluster. Without --read-only it runs code on the scheduler and its
workers, as any client of Dask does. What it put there goes when the connection ends, also when it is killed. Inside a
recording (tacho run, tacho start) it writes into that one.

Examples:
  tacho dask attach tcp://localhost:8786 -o run7
  tacho dask attach http://login1:8787/status --interval 100ms
  tacho dask attach scheduler.json --job-type manual --custom power.py
`,
    )
    .action(run);
}

async function run(given: string, options: Options): Promise<void> {
  const config = await configOf(options, SETTINGS);
  const { attach } = await import('../../dask/attach.ts');
  const { WAYS } = await import('../../dask/monitor.ts');
  const { intervalSeconds, only, without, custom, writer } = recorderOptions(config);
  const { TACHO_RECORDING: into } = process.env;
  const attached = await attach({
    given,
    parent: config.recordings ?? '.',
    ...stated({
      folder: options.output,
      into: options.output === undefined && into !== '' ? into : undefined,
      custom: options.custom,
    }),
    tracking: options.tracking,
    intervalSeconds: options.interval,
    jobType: options.jobType,
    readOnly: options.readOnly === true,
    paused: options.paused === true,
    certificates: stated({ ca: options.tlsCa, cert: options.tlsCert, key: options.tlsKey }),
    hardware: { intervalSeconds, only, without, custom },
    writer,
    say: (text) => warn(printable(text)),
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => attached.detach(signal));
  const { opened, monitor, recording } = attached;
  const { way, passed } = opened;
  const { version, workers } = monitor.status();
  if (options.format === 'json') {
    const { name, missing } = way;
    process.stdout.write(`${JSON.stringify({ recording, way: name, missing, passed, version, workers })}\n`);
  } else {
    const dask = version === '' ? 'Dask' : `Dask ${version}`;
    process.stderr.write(
      `recording ${opened.cluster.scheduler?.text ?? given} (${dask}, ${count(workers.length, 'worker')}) by ${WAYS[way.name]} into ${printable(near(recording))}\n`,
    );
    for (const why of passed) process.stderr.write(`  ${printable(why)}\n`);
    for (const what of way.missing) process.stderr.write(`  not recorded this way: ${what}\n`);
  }
  const why = await attached.ended;
  const { tasks, graphs } = monitor.status();
  if (options.format === 'text')
    process.stderr.write(
      `${printable(why)}: ${count(tasks, 'task')} of ${count(graphs, 'graph')} are in ${printable(near(recording))}\n`,
    );
  // whoever asked it to detach still gets the answer
  setTimeout(() => process.exit(0), 500).unref();
}
