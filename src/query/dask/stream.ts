import { byName } from '../../recording/folder/open.ts';
import type { DaskRun } from './dask-run.ts';
import { prefixLabel } from './prefixes.ts';
import { textOf } from './tasks.ts';

/** What is drawn as one rectangle: a task, or several that are too short. Times are epoch microseconds. */
export interface DrawnTasks {
  from: number;
  to: number;
  /** Of several: the one that took most of their time. */
  prefix: number;
  lane: number;
  /** Of several: empty. */
  key: string;
  outcome: string;
  count: number;
}

/** The tasks of a cluster as they are drawn: a lane for each thread of each worker. */
export interface DaskStream {
  lanes: { worker: string; name: string; thread: number }[];
  /** The names that tasks point at, the longest time first. */
  prefixes: { prefix: string; tasks: number; seconds: number }[];
  tasks: DrawnTasks[];
  /** Tasks that are shorter than this are drawn together, in seconds; 0: each is drawn alone. */
  together_below: number;
  /** Tasks that erred or were lost. */
  failed: number;
  /** All that ran between the two moments; `graphs` has the first of them. */
  graph_count: number;
  graphs: {
    time: number;
    name: string;
    job: number;
    dag: number;
    tasks: number;
    done: number;
    /** Tasks that erred, and were not tried again. */
    failed: number;
    end: number | null;
  }[];
}

/** Number of graphs that are shown. */
const MOST_GRAPHS = 20;
/** A lane has at least so many places for tasks that are drawn together. */
const LEAST_PLACES = 100;

/** What of it falls between two moments; of more than `most` tasks the short ones are drawn together. */
export function daskStream(run: DaskRun, from: number, to: number, most: number): DaskStream {
  const lanes = lanesOf(run, from, to);
  const drawn = new DrawnStream(run, lanes, from, to, most);
  const done = new Map<string, { done: number; failed: number; end: number }>();
  let failed = 0;
  run.uses.forEach(({ tasks }, use) => {
    for (let row = 0; row < tasks.length; row++) {
      const graph = `${tasks.job[row]} ${tasks.dag[row]}`;
      const graphTotals = done.get(graph) ?? { done: 0, failed: 0, end: 0 };
      const isOk = textOf(tasks.outcome, row) === 'ok';
      if (isOk) graphTotals.done++;
      else if (textOf(tasks.outcome, row) === 'erred' && textOf(tasks.error, row) !== 'retried') graphTotals.failed++;
      graphTotals.end = Math.max(graphTotals.end, tasks.stop[row]!);
      done.set(graph, graphTotals);
      if (!isWithin(run, use, row, from, to)) continue;
      if (!isOk) failed++;
      drawn.add(use, row, isOk);
    }
  });
  const graphs = run.graphs
    .map((graph) => progressOf(graph, done.get(`${graph.job} ${graph.dag}`)))
    .filter(({ time, end }) => time <= to && (end ?? Number.POSITIVE_INFINITY) >= from);
  return {
    lanes: lanes.list,
    prefixes: run.prefixes.map(({ prefix, tasks, seconds }) => ({ prefix, tasks, seconds })),
    tasks: drawn.all(),
    together_below: drawn.width / 1e6,
    failed,
    graph_count: graphs.length,
    graphs: graphs.slice(0, MOST_GRAPHS),
  };
}

/** How far a graph came. */
function progressOf(
  { time, name, job, dag, tasks }: DaskRun['graphs'][number],
  { done, failed, end }: { done: number; failed: number; end: number } = { done: 0, failed: 0, end: 0 },
): DaskStream['graphs'][number] {
  const count = Number.isNaN(tasks) ? done : tasks;
  return {
    ...{ time, name: name.slice(0, 200), job, dag, tasks: count, failed },
    done: Math.min(done, count),
    end: done + failed >= count && end > 0 ? end : null,
  };
}

interface Lanes {
  list: DaskStream['lanes'];
  placeOf: Map<string, number>;
  tasks: number;
  /** Of the tasks. */
  from: number;
  to: number;
}

const isWithin = ({ uses }: DaskRun, use: number, row: number, from: number, to: number): boolean => {
  const { start, stop } = uses[use]!.tasks;
  return start[row]! <= stop[row]! && stop[row]! >= from && start[row]! <= to;
};

const laneKey = ({ uses }: DaskRun, use: number, row: number): string => {
  const { worker, thread } = uses[use]!.tasks;
  return `${textOf(worker, row)} ${thread[row] || 0}`;
};

/** The threads of workers that have tasks between two moments, by the names of the workers. */
function lanesOf(run: DaskRun, from: number, to: number): Lanes {
  const lanesByKey = new Map<string, DaskStream['lanes'][number]>();
  const lanes: Lanes = {
    list: [],
    placeOf: new Map(),
    tasks: 0,
    from: Number.POSITIVE_INFINITY,
    to: Number.NEGATIVE_INFINITY,
  };
  run.uses.forEach(({ tasks, workers }, use) => {
    for (let row = 0; row < tasks.length; row++) {
      if (!isWithin(run, use, row, from, to)) continue;
      lanes.tasks++;
      lanes.from = Math.min(lanes.from, tasks.start[row]!);
      lanes.to = Math.max(lanes.to, tasks.stop[row]!);
      const key = laneKey(run, use, row);
      if (lanesByKey.has(key)) continue;
      const worker = textOf(tasks.worker, row);
      lanesByKey.set(key, { worker, name: workers.get(worker)?.name ?? '', thread: tasks.thread[row] || 0 });
    }
  });
  const order = [...lanesByKey].sort(
    ([, a], [, b]) => byName(a.name, b.name) || byName(a.worker, b.worker) || a.thread - b.thread,
  );
  lanes.list = order.map(([, lane]) => lane);
  for (const [graphIndex, [key]] of order.entries()) lanes.placeOf.set(key, graphIndex);
  return lanes;
}

/** Collects what is drawn. */
class DrawnStream {
  /** Of a place for tasks that are drawn together, in microseconds; 0: none are. */
  readonly width: number;
  private readonly run: DaskRun;
  private readonly lanes: Lanes;
  private readonly from: number;
  private readonly cellsPerLane: number;
  private readonly most: number;
  private readonly prefixOf: Map<string, number>;
  private readonly single: DrawnTasks[] = [];
  private readonly together = new Map<number, DrawnTasks & { times: Map<number, number> }>();

  constructor(run: DaskRun, lanes: Lanes, from: number, to: number, most: number) {
    this.run = run;
    this.lanes = lanes;
    this.from = Math.max(from, lanes.from);
    this.most = most;
    this.cellsPerLane = Math.max(LEAST_PLACES, Math.floor(most / Math.max(1, lanes.list.length)));
    this.width = lanes.tasks <= most ? 0 : (Math.min(to, lanes.to) - this.from) / this.cellsPerLane;
    this.prefixOf = new Map(run.prefixes.map(({ prefix }, i) => [prefix, i]));
  }

  add(use: number, row: number, isOk: boolean): void {
    const { tasks } = this.run.uses[use]!;
    const [from, to] = [tasks.start[row]!, tasks.stop[row]!];
    const task: DrawnTasks = {
      from,
      to,
      prefix: this.prefixOf.get(prefixLabel(textOf(tasks.prefix, row))) ?? 0,
      lane: this.lanes.placeOf.get(laneKey(this.run, use, row))!,
      key: textOf(tasks.key, row).slice(0, 200),
      outcome: textOf(tasks.outcome, row),
      count: 1,
    };
    // what failed is worth a rectangle of its own
    if (to - from >= this.width || (!isOk && this.single.length < this.most)) this.single.push(task);
    else this.join(task);
  }

  private join(task: DrawnTasks): void {
    const at = Math.floor(((task.from + task.to) / 2 - this.from) / this.width);
    const cellIndex = task.lane * this.cellsPerLane + Math.min(this.cellsPerLane - 1, Math.max(0, at));
    const before = this.together.get(cellIndex);
    const time = task.to - task.from;
    if (before === undefined) {
      this.together.set(cellIndex, { ...task, times: new Map([[task.prefix, time]]) });
      return;
    }
    before.from = Math.min(before.from, task.from);
    before.to = Math.max(before.to, task.to);
    before.count++;
    before.key = '';
    const sum = (before.times.get(task.prefix) ?? 0) + time;
    before.times.set(task.prefix, sum);
    if (sum > before.times.get(before.prefix)!) before.prefix = task.prefix;
  }

  all(): DrawnTasks[] {
    return [...[...this.together.values()].map(({ times: _, ...drawn }) => drawn), ...this.single];
  }
}
