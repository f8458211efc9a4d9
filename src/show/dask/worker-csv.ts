import { line } from '../../base/csv.ts';
import type { DaskCell, DaskSamples, DaskWorkerRows } from '../../query/dask/workers.ts';

/** The CSV file of a worker, with the header and columns of dask-metrics. */
export function* workerCsv(
  { start, custom }: Pick<DaskSamples, 'start' | 'custom'>,
  worker: DaskWorkerRows,
  tracking: readonly string[],
): Generator<string> {
  const hasTasks = tracking.includes('tasks');
  const metrics = [...tracking.filter((name) => name !== 'tasks'), ...custom];
  yield line(['job', 'dag', 'timestamp', ...(hasTasks ? ['tasks'] : []), ...metrics]);
  const cells = metrics.map((name) => worker.metrics.get(name));
  for (const [row, time] of worker.times.entries())
    yield line([
      String(worker.jobs[row]),
      String(worker.dags[row]),
      String(Number(((time - start) / 1e6).toFixed(6))),
      ...(hasTasks ? [worker.tasks[row]!] : []),
      ...cells.map((rows) => cellText(rows?.[row] ?? [])),
    ]);
}

const cellText = (values: readonly DaskCell[]): string => values.map((value) => value ?? '').join(', ');
