import { Fault, usage } from '../../base/fault.ts';
import { type DaskCell, type DaskWorkerRows, GPU_METRICS } from './workers.ts';

/** The peak of each device; null: it has no value. */
export type DevicePeaks = (number | null)[];

/** One entry per worker: the peaks of all its samples, or by job. */
export type DaskPeaks = DevicePeaks[] | Record<number, DevicePeaks>[];

export interface PeakQuestion {
  metric: string;
  /** Places of workers; all of them when there are none. */
  workers: readonly number[];
  perJob: boolean;
}

/** Peaks of a metric of workers, as numbers: 100 is more than 99. */
export function daskPeaks(all: readonly DaskWorkerRows[], { metric, workers, perJob }: PeakQuestion): DaskPeaks {
  const missing = workers.find((workerIndex) => all[workerIndex] === undefined);
  if (missing !== undefined)
    throw usage(`there is no worker ${missing}`, `there are ${all.length}, counted from 0 in the order of their names`);
  const chosen = workers.length === 0 ? all : workers.map((workerIndex) => all[workerIndex]!);
  const metricNames = new Set(all.flatMap(({ metrics }) => [...metrics.keys()]));
  if (!metricNames.has(metric))
    throw usage(
      `no worker has the metric "${metric}"`,
      metricNames.size === 0 ? 'no GPU and no custom metric was recorded' : `there are ${[...metricNames].join(', ')}`,
    );
  if (!chosen.some(({ metrics }) => metrics.get(metric)?.some((cells) => cells.some(isNumber))))
    throw new Fault(`the workers have no value of "${metric}"`, {
      hint: isGpuMetric(metric)
        ? 'no GPU was found on them while they were recorded; other metrics may have values'
        : 'it gave no number; the notes of the monitor say why',
    });
  if (perJob) return chosen.map((worker) => peaksOf(worker, metric, (row) => worker.jobs[row]!));
  return chosen.map((worker) => peaksOf(worker, metric, () => 0)[0] ?? []);
}

const isNumber = (cell: DaskCell): cell is number => typeof cell === 'number';
const isGpuMetric = (metric: string): boolean => (GPU_METRICS as readonly string[]).includes(metric);

function peaksOf(
  worker: DaskWorkerRows,
  metric: string,
  groupOf: (row: number) => number,
): Record<number, DevicePeaks> {
  const peaks: Record<number, DevicePeaks> = {};
  for (const [row, cells] of (worker.metrics.get(metric) ?? []).entries()) {
    if (cells.length === 0) continue;
    const group = groupOf(row);
    const before = peaks[group] ?? [];
    peaks[group] = Array.from({ length: Math.max(cells.length, before.length) }, (_, device) =>
      larger(before[device] ?? null, cells[device]),
    );
  }
  return peaks;
}

const larger = (peak: number | null, cell: DaskCell): number | null =>
  !isNumber(cell) ? peak : peak === null || cell > peak ? cell : peak;
