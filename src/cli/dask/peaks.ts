import { type Command, Option } from 'commander';
import { line } from '../../base/csv.ts';
import { usage } from '../../base/fault.ts';
import { tableWidth } from '../../base/page-width.ts';
import type { DaskPeaks, DevicePeaks } from '../../query/dask/peaks.ts';
import type { DaskWorkerRows } from '../../query/dask/workers.ts';
import { samplesArgument, samplesOf } from './dask-source.ts';

interface Options {
  metric: string;
  workers: number[];
  perJob?: boolean;
  format: 'text' | 'json' | 'csv';
}

function workerIndexes(text: string): number[] {
  if (!/^\d{1,6}(,\d{1,6})*$/.test(text)) throw usage(`"${text}" names no workers`, 'write it like --workers 0,8');
  return text.split(',').map(Number);
}

export function definePeaks(command: Command): void {
  samplesArgument(command)
    .description('Print the highest value of a metric, per worker and GPU.')
    .requiredOption('--metric <name>', 'total-mem, mem-util, compute-util or a custom metric')
    .option('--workers <places>', 'only these, counted from 0 in the order of their names', workerIndexes, [])
    .option('--per-job', 'one value per job')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      '\nExamples:\n  tacho dask peaks run7 --metric compute-util --workers 0,8 --per-job\n  tacho dask peaks csv --metric total-mem --format json\n',
    )
    .action(async (source: string | undefined, { metric, workers, perJob = false, format }: Options) => {
      const samples = await samplesOf(source);
      const { daskPeaks } = await import('../../query/dask/peaks.ts');
      const peaks = daskPeaks(samples.workers, { metric, workers, perJob });
      if (format === 'json') process.stdout.write(`${JSON.stringify(peaks)}\n`);
      else if (format === 'csv') process.stdout.write(peaksCsv(samples.workers, workers, peaks, perJob));
      else process.stdout.write(await peaksText(samples.workers, workers, peaks, perJob));
    });
}

/** Of each worker, and with `perJob` of each of its jobs, the peaks of its devices. */
function* peaksOf(
  all: readonly DaskWorkerRows[],
  chosen: readonly number[],
  peaks: DaskPeaks,
  perJob: boolean,
): Generator<[place: number, worker: string, job: string, devices: DevicePeaks]> {
  const order = chosen.length === 0 ? all.map((_, i) => i) : chosen;
  for (const [i, entry] of peaks.entries()) {
    const workerIndex = order[i]!;
    const jobs = perJob ? Object.entries(entry as Record<number, DevicePeaks>) : [['', entry as DevicePeaks] as const];
    for (const [job, devices] of jobs) yield [workerIndex, all[workerIndex]!.name, job, devices];
  }
}

function peaksCsv(...asked: Parameters<typeof peaksOf>): string {
  const [, , , perJob] = asked;
  const rows = [...peaksOf(...asked)].flatMap(([workerIndex, worker, job, devices]) =>
    devices.map((value, device) => [workerIndex, worker, ...(perJob ? [job] : []), device, value ?? '']),
  );
  const heads = ['place', 'worker', ...(perJob ? ['job'] : []), 'device', 'peak'];
  return [heads, ...rows].map((row) => line(row.map(String))).join('');
}

async function peaksText(...asked: Parameters<typeof peaksOf>): Promise<string> {
  const [, , , perJob] = asked;
  const { textTable } = await import('../../show/terminal/text-table.ts');
  const { paint } = await import('../../show/terminal/paint.ts');
  const lines = [...peaksOf(...asked)].map(([workerIndex, worker, job, devices]) => [
    String(workerIndex),
    worker,
    ...(perJob ? [job] : []),
    devices.map((value) => value ?? '-').join(', '),
  ]);
  const columns = [
    { head: '#', align: 'right' },
    { head: 'worker', most: 30, shrinks: true },
    ...(perJob ? [{ head: 'job', align: 'right' } as const] : []),
    { head: 'peak of each device' },
  ] as const;
  const [heads, ...rows] = textTable(columns, lines, tableWidth());
  return `${[paint(process.stdout).dim(heads!), ...rows].join('\n')}\n`;
}
