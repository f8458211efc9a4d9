import { greatest, smallest } from '../../base/extremes.ts';
import { textOf } from '../dask/tasks.ts';
import { type Material, wholeOf } from '../material.ts';
import { commandOf } from '../processes/columns.ts';
import { operationsOf } from '../processes/operations.ts';
import { phaseSpans } from './phases.ts';
import type { Span, SpanKind } from './span.ts';
import { stepsOf } from './steps.ts';

/** What a job is made of, by its start; of the whole job, also where a part of it is looked at. */
export const spansOf = (material: Material, kind: SpanKind): Span[] =>
  READERS[kind](wholeOf(material)).sort((a, b) => a.from - b.from);

const endOf = ({ job, now }: Material): number => job.end ?? now;

const jobSpan = (material: Material): Span => {
  const { id, start, tags } = material.job;
  return { kind: 'job', name: id, from: start, to: endOf(material), tags };
};

const READERS: Record<SpanKind, (material: Material) => Span[]> = {
  job: (material) => [jobSpan(material)],
  phase: ({ job, markers, now }) => phaseSpans(job, markers, now),
  step: (material) =>
    (material.job.steps ?? []).flatMap(({ id, name = id, start, end = endOf(material) }): Span[] =>
      start === undefined
        ? []
        : [{ kind: 'step', name, from: start, to: end, parent: jobSpan(material), tags: { step: id } }],
    ),
  operation: (material) =>
    (material.processes === undefined ? [] : operationsOf(material.processes)).flatMap(({ name, tags, runs }) =>
      runs.map(
        ([from, to]): Span => ({
          ...{ kind: 'operation', name, from, to, parent: jobSpan(material) },
          tags: Object.fromEntries(tags),
        }),
      ),
    ),
  process: processSpans,
  task: (material) => [...rankSpans(material), ...daskSpans(material)],
};

function processSpans(material: Material): Span[] {
  const { processes: set } = material;
  const all = Array.from({ length: set?.length ?? 0 }, (_, i): Span => {
    const end = set!.end[i]!;
    const time = Number.isNaN(end) ? ({ to: endOf(material), open: true } as const) : { to: end };
    return { kind: 'process', name: commandOf(set!, i), node: set!.node[i]!, from: set!.start[i]!, ...time, tags: {} };
  });
  all.forEach((span, i) => {
    span.parent = all[set!.parent[i]!] ?? jobSpan(material);
  });
  return all;
}

/** The tasks of parallel programs: the processes that a launcher gave the same rank in the same step, on one node. */
function rankSpans({ processes: set, job }: Material): Span[] {
  if (set === undefined) return [];
  const steps = stepsOf(set, job.steps);
  const ranked = Array.from({ length: set.length }, (_, i) => i).filter((i) => set.rank[i] !== '');
  const tasks = Map.groupBy(ranked, (i) => JSON.stringify([steps[i], set.rank[i], set.node[i]]));
  return [...tasks.values()].flatMap((rows): Span[] => {
    const [first] = rows as [number];
    const ends = rows.map((i) => set.end[i]!).filter((end) => !Number.isNaN(end));
    if (ends.length === 0) return [];
    const from = smallest(rows.map((i) => set.start[i]!));
    const tags = { step: steps[first]!, rank: set.rank[first]! };
    return [{ kind: 'task', name: `rank ${tags.rank}`, node: set.node[first]!, from, to: greatest(ends), tags }];
  });
}

/** The tasks of a Dask cluster, on the hosts of their workers. */
function daskSpans(material: Material): Span[] {
  const parent = jobSpan(material);
  return (material.dask?.()?.uses ?? []).flatMap(({ tasks, workers }) =>
    Array.from({ length: tasks.length }, (_, row) => row)
      .filter((row) => tasks.start[row]! <= tasks.stop[row]!)
      .map((row): Span => {
        const worker = textOf(tasks.worker, row);
        const [job, dag] = [tasks.job[row]!, tasks.dag[row]!];
        return {
          kind: 'task',
          name: textOf(tasks.key, row),
          node: workers.get(worker)?.host ?? tasks.node,
          from: tasks.start[row]!,
          to: tasks.stop[row]!,
          parent,
          tags: {
            prefix: textOf(tasks.prefix, row),
            worker,
            outcome: textOf(tasks.outcome, row),
            ...(Number.isNaN(job) ? {} : { job: String(job), dag: String(dag) }),
          },
        };
      }),
  );
}
