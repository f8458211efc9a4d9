import { usage } from '../../base/fault.ts';
import type { DaskCell, DaskWorkerRows } from './workers.ts';

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
  const missing = workers.find((place) => all[place] === undefined);
  if (missing !== undefined)
    throw usage(`there is no worker ${missing}`, `there are ${all.length}, counted from 0 in the order of their names`);
  const chosen = workers.length === 0 ? all : workers.map((place) => all[place]!);
  const known = new Set(all.flatMap(({ metrics }) => [...metrics.keys()]));
  if (!known.has(metric))
    throw usage(
      `no worker has the metric "${metric}"`,
      known.size === 0 ? 'no GPU and no custom metric was recorded' : `there are ${[...known].join(', ')}`,
    );
  if (perJob) return chosen.map((worker) => peaksOf(worker, metric, (row) => worker.jobs[row]!));
  return chosen.map((worker) => peaksOf(worker, metric, () => 0)[0] ?? []);
}

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
  typeof cell !== 'number' ? peak : peak === null || cell > peak ? cell : peak;
