import type { Recording } from '../../recording/folder/open.ts';
import { textAt } from '../../recording/read/batch.ts';
import { readDefined } from '../../recording/read/read.ts';
import { daskGraphTable } from '../../sources/own/dask.ts';
import { type PrefixUse, prefixLabel, prefixUse } from './prefixes.ts';
import { type DaskUse, daskUse } from './task-use.ts';
import { textOf } from './tasks.ts';
import type { WorkerUse } from './worker-use.ts';

/** A graph that a client submitted. */
export interface DaskGraph {
  time: number;
  name: string;
  job: number;
  dag: number;
  tasks: number;
}

/** What a worker did: seconds of its threads. */
export interface WorkerWork {
  use: WorkerUse;
  /** Epoch microseconds: from its first to its last sample. */
  from: number;
  to: number;
  tasks: number;
  /** Time of its tasks together, and for transfers and for disks. */
  busySeconds: number;
  transferSeconds: number;
  diskSeconds: number;
  /** Time that its threads had. */
  threadSeconds: number;
}

/** A Dask cluster as it was recorded: all that rules and the page ask about. */
export interface DaskRun {
  uses: DaskUse[];
  prefixes: PrefixUse[];
  workers: WorkerWork[];
  graphs: DaskGraph[];
  /** Workers that left, and when (epoch microseconds). */
  gone: { worker: string; time: number }[];
  /** What was not recorded of it, and why. */
  unmeasured: { what: string; why: string }[];
  /** Tasks that ended, and from the start of the first to the end of the last (epoch microseconds). */
  tasks: number;
  from: number;
  to: number;
}

/** undefined: no task of Dask was recorded. */
export function daskRun(recording: Pick<Recording, 'nodes'>): DaskRun | undefined {
  const uses = daskUse(recording);
  const tasks = uses.reduce((sum, each) => sum + each.tasks.length, 0);
  if (tasks === 0) return undefined;
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { tasks: set } of uses)
    for (let row = 0; row < set.length; row++) {
      const start = set.start[row]!;
      if (start < from) from = start;
      if (set.stop[row]! > to) to = set.stop[row]!;
    }
  const events = recording.nodes.flatMap(eventsOf);
  return {
    uses,
    prefixes: prefixUse(uses).map((use) => ({ ...use, prefix: prefixLabel(use.prefix) })),
    workers: uses.flatMap((use) => workOf(use, from, to)),
    graphs: events.filter(({ event }) => event === 'graph'),
    gone: events.flatMap(({ event, worker, time }) => (event === 'worker-gone' ? [{ worker, time }] : [])),
    unmeasured: unmeasuredOf(events, uses),
    tasks,
    from,
    to,
  };
}

function eventsOf(node: Recording['nodes'][number]): (DaskGraph & { event: string; worker: string })[] {
  if (!node.tables.has(daskGraphTable.name)) return [];
  const batch = readDefined(node, daskGraphTable);
  const number = (name: 'dask_job' | 'dag' | 'tasks', row: number): number =>
    batch.numbers.get(name)?.[row] ?? Number.NaN;
  return Array.from({ length: batch.rows }, (_, row) => ({
    event: textAt(batch, 'event', row),
    worker: textAt(batch, 'worker', row),
    time: batch.time[row]!,
    name: textAt(batch, 'name', row),
    job: number('dask_job', row),
    dag: number('dag', row),
    tasks: number('tasks', row),
  }));
}

function unmeasuredOf(events: ReturnType<typeof eventsOf>, uses: readonly DaskUse[]): DaskRun['unmeasured'] {
  let way = '';
  return events.flatMap(({ event, name, worker }) => {
    if (event === 'way') way = name;
    else if (event === 'missing') return [{ what: name, why: `Dask was recorded by ${way}` }];
    else if (event === 'note') {
      const workerName = uses.map(({ workers }) => workers.get(worker)?.name).find(Boolean) ?? worker;
      return [{ what: worker === '' ? 'Dask' : `Dask, first on worker ${workerName}`, why: name }];
    }
    return [];
  });
}

/** What each worker did between the first task of the cluster and the last. */
function workOf({ tasks, workers }: DaskUse, from: number, to: number): WorkerWork[] {
  const all = new Map<string, WorkerWork>();
  for (const use of workers.values()) {
    const begin = Math.max(from, use.times[0]!);
    const end = Math.max(begin, Math.min(to, use.times.at(-1)!));
    const threadSeconds = ((end - begin) / 1e6) * (Number.isNaN(use.threads) ? 1 : use.threads);
    const none = { tasks: 0, busySeconds: 0, transferSeconds: 0, diskSeconds: 0 };
    all.set(use.worker, { use, from: begin, to: end, threadSeconds, ...none });
  }
  for (let row = 0; row < tasks.length; row++) {
    const work = all.get(textOf(tasks.worker, row));
    if (work === undefined) continue;
    work.tasks++;
    work.busySeconds += (tasks.stop[row]! - tasks.start[row]!) / 1e6 || 0;
    work.transferSeconds += tasks.transfer[row]! / 1e6 || 0;
    work.diskSeconds += tasks.disk[row]! / 1e6 || 0;
  }
  return [...all.values()];
}
