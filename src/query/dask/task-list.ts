import { chosenRows, type TaskChoice } from './prefixes.ts';
import { type DaskUse, type UsedFigures, UsedSum } from './task-use.ts';
import { textOf } from './tasks.ts';

/** One execution of a task, and what it used. Epoch seconds, seconds, bytes; undefined: not known. */
export interface TaskUse extends UsedFigures {
  key: string;
  prefix: string;
  worker: string;
  /** The name of the worker. */
  name: string;
  thread?: number;
  job?: number;
  dag?: number;
  outcome: string;
  error?: string;
  start?: number;
  stop: number;
  seconds?: number;
  transfer_seconds?: number;
  disk_seconds?: number;
  bytes?: number;
  /** Part of its time in which other tasks ran on the same worker. */
  shared: number;
}

/** A row of a monitor's tasks: there may be millions. */
export interface TaskRow {
  use: DaskUse;
  row: number;
}

/** The tasks of a recording, the longest first. */
export function longestTasks(all: readonly DaskUse[], choice: TaskChoice): TaskRow[] {
  const length = ({ use: { tasks }, row }: TaskRow): number => tasks.stop[row]! - tasks.start[row]! || 0;
  const rows = all.flatMap((use) => Array.from(chosenRows(use, choice), (row): TaskRow => ({ use, row })));
  return rows.sort((a, b) => length(b) - length(a));
}

export function taskUse({ use: { tasks, workers, shares }, row }: TaskRow): TaskUse {
  const worker = textOf(tasks.worker, row);
  const [start, stop] = [tasks.start[row]!, tasks.stop[row]!];
  const error = textOf(tasks.error, row);
  const numbers = {
    thread: tasks.thread[row]!,
    job: tasks.job[row]!,
    dag: tasks.dag[row]!,
    start: start / 1e6,
    seconds: (stop - start) / 1e6,
    transfer_seconds: tasks.transfer[row]! / 1e6,
    disk_seconds: tasks.disk[row]! / 1e6,
    bytes: tasks.bytes[row]!,
  };
  return {
    key: textOf(tasks.key, row),
    prefix: textOf(tasks.prefix, row),
    worker,
    name: workers.get(worker)?.name ?? '',
    outcome: textOf(tasks.outcome, row),
    ...(error !== '' && { error }),
    stop: stop / 1e6,
    ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => !Number.isNaN(value))),
    ...new UsedSum().add(shares, row).figures(),
    shared: stop > start ? Math.min(1, shares.shared[row]! / (stop - start)) : 0,
  };
}
