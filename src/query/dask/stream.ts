import { byName } from '../../recording/folder/open.ts';
import type { DaskRun } from './dask-run.ts';
import { textOf } from './tasks.ts';

/** The tasks of a cluster as they are drawn: a lane for each thread of each worker. Times are epoch microseconds. */
export interface DaskStream {
  lanes: { worker: string; name: string; thread: number }[];
  /** The names that tasks point at, the longest time first. */
  prefixes: { prefix: string; tasks: number; seconds: number }[];
  tasks: { from: number; to: number; prefix: number; lane: number; key: string; outcome: string }[];
  /** So many tasks are too short to be drawn. */
  left_out: number;
  graphs: { time: number; name: string; job: number; dag: number; tasks: number; done: number; end: number | null }[];
}

const MOST_GRAPHS = 200;

/** What of it falls between two moments; of too many tasks the longest. */
export function daskStream(run: DaskRun, from: number, to: number, most: number): DaskStream {
  const prefixOf = new Map(run.prefixes.map(({ prefix }, i) => [prefix, i]));
  const lanes = new Map<string, { worker: string; name: string; thread: number }>();
  const chosen: { use: number; row: number; seconds: number }[] = [];
  const done = new Map<string, { done: number; end: number }>();
  run.uses.forEach(({ tasks, workers }, use) => {
    for (let row = 0; row < tasks.length; row++) {
      const [start, stop] = [tasks.start[row]!, tasks.stop[row]!];
      const graph = `${tasks.job[row]} ${tasks.dag[row]}`;
      const seen = done.get(graph) ?? { done: 0, end: 0 };
      if (textOf(tasks.outcome, row) === 'ok') seen.done++;
      seen.end = Math.max(seen.end, stop);
      done.set(graph, seen);
      if (!(start <= stop) || stop < from || start > to) continue;
      const worker = textOf(tasks.worker, row);
      const thread = tasks.thread[row] || 0;
      lanes.set(`${worker} ${thread}`, { worker, name: workers.get(worker)?.name ?? '', thread });
      chosen.push({ use, row, seconds: stop - start });
    }
  });
  const order = [...lanes].sort(
    ([, a], [, b]) => byName(a.name, b.name) || byName(a.worker, b.worker) || a.thread - b.thread,
  );
  const laneOf = new Map(order.map(([key], i) => [key, i]));
  const shown = chosen.length <= most ? chosen : chosen.sort((a, b) => b.seconds - a.seconds).slice(0, most);
  return {
    lanes: order.map(([, lane]) => lane),
    prefixes: run.prefixes.map(({ prefix, tasks, seconds }) => ({ prefix, tasks, seconds })),
    tasks: shown.map(({ use, row }) => {
      const { tasks } = run.uses[use]!;
      return {
        from: tasks.start[row]!,
        to: tasks.stop[row]!,
        prefix: prefixOf.get(textOf(tasks.prefix, row)) ?? 0,
        lane: laneOf.get(`${textOf(tasks.worker, row)} ${tasks.thread[row] || 0}`)!,
        key: textOf(tasks.key, row).slice(0, 200),
        outcome: textOf(tasks.outcome, row),
      };
    }),
    left_out: chosen.length - shown.length,
    graphs: run.graphs.slice(0, MOST_GRAPHS).map(({ time, name, job, dag, tasks }) => {
      const { done: finished = 0, end = 0 } = done.get(`${job} ${dag}`) ?? {};
      const count = Number.isNaN(tasks) ? finished : tasks;
      return {
        time,
        name,
        job,
        dag,
        tasks: count,
        done: Math.min(finished, count),
        end: finished >= count && end > 0 ? end : null,
      };
    }),
  };
}
