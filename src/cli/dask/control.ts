import { type Command, Option } from 'commander';
import { usage } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { count } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import type { ControlAnswer } from '../../dask/control.ts';
import type { MonitorStatus } from '../../dask/monitor.ts';

interface Options {
  job?: number;
  format: 'text' | 'json';
}

const REQUESTS = {
  start: 'Continue recording.',
  stop: 'Pause recording, after everything until now is written.',
  'new-job': 'Begin a job (with --job-type manual).',
  status: 'Show what the attached monitor does.',
  detach: 'End the monitor and seal its recording.',
} as const;

type Request = keyof typeof REQUESTS;

function jobNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw usage(`"${text}" is not the number of a job`, 'write it like --job 42');
  return Number(text);
}

/** The verbs that talk to an attached monitor. */
export function defineControl(parent: Command): void {
  for (const [name, description] of Object.entries(REQUESTS)) {
    const command = parent
      .command(name)
      .description(description)
      .argument('[recording]', 'the recording of the monitor (default: the only one here)');
    if (name === 'new-job') command.option('--job <number>', 'its number (default: the next)', jobNumber);
    command
      .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
      .addHelpText('after', `\nExample:\n  tacho dask ${name} run7${name === 'new-job' ? ' --job 42' : ''}\n`)
      .action(async (recording: string | undefined, { job, format }: Options) => {
        const { askMonitor } = await import('../../dask/control.ts');
        const { findMonitor } = await import('../../dask/find-monitor.ts');
        const { pathNamed, placesOfRecordings } = await import('../named-recordings.ts');
        const folder = recording === undefined ? undefined : await pathNamed(recording);
        const { control } = findMonitor(folder, folder === undefined ? await placesOfRecordings() : []);
        const monitorAnswer = await askMonitor(control, { op: name, ...stated({ job }) });
        const { ok: _, ...reply } = monitorAnswer;
        if (format === 'json') process.stdout.write(`${JSON.stringify(reply, null, 1)}\n`);
        else process.stdout.write(`${errorLine(name as Request, monitorAnswer)}\n`);
      });
  }
}

function errorLine(request: Request, monitorAnswer: ControlAnswer): string {
  if (request === 'new-job') return `job ${monitorAnswer.job}`;
  const { recording, version, way, recording_folder, workers, job, dag, tasks, samples, graphs, notes, missing, disk } =
    monitorAnswer as unknown as MonitorStatus & {
      way: string;
      recording_folder: string;
      missing: string[];
      disk: { table: string; why: string; keptRows: number }[];
    };
  const amount = `${count(tasks, 'task')}, ${count(graphs, 'graph')}, ${count(samples, 'sample')} of workers`;
  if (request === 'detach') return `detached: ${amount} are in ${printable(recording_folder)}`;
  if (request !== 'status') return `${recording ? 'recording' : 'paused'}: ${amount}`;
  return [
    `${recording ? 'recording' : 'paused'} into ${printable(recording_folder)}`,
    `Dask ${version || '(version not known)'}, ${count(workers.length, 'worker')}, by ${way}`,
    `job ${job}, graph ${dag}: ${amount}`,
    ...missing.map((what) => `not recorded this way: ${what}`),
    ...disk.map(({ table, why, keptRows }) => `${table}: the disk refuses ${keptRows} rows: ${why}`),
    ...notes.map((note) => `not measured: ${printable(note)}`),
  ].join('\n');
}
