import { stated } from '../../base/stated.ts';
import type { SacctJob } from './sacct-job.ts';

/** Runs of jobs: components of a heterogeneous job are one, and so are the sizes of a job that lost nodes. Each run of an id has its number. */
export function runsOf(jobs: readonly SacctJob[]): SacctJob[] {
  const key = ({ cluster = '', id }: SacctJob): string => `${cluster} ${id}`;
  return [...Map.groupBy(jobs, key).values()].flatMap((own) => numbered(resized(joined(own))));
}

/** Of each run the components, in order: the first one says who and what. */
function joined(own: readonly SacctJob[]): SacctJob[] {
  if (!own.some(({ component }) => component !== undefined)) return [...own];
  const runs = new Map<string, SacctJob[]>();
  const runsOfComponent = new Map<number, number>();
  for (const job of own) {
    const component = job.component ?? 0;
    const run = runsOfComponent.get(component) ?? 0;
    runsOfComponent.set(component, run + 1);
    runs.set(String(run), [...(runs.get(String(run)) ?? []), job]);
  }
  return [...runs.values()].map((components) =>
    oneJob(components.toSorted((a, b) => (a.component ?? 0) - (b.component ?? 0))),
  );
}

function oneJob(components: readonly SacctJob[]): SacctJob {
  const [first] = components as [SacctJob];
  if (components.length === 1) return first;
  const all = (pick: (job: SacctJob) => number | undefined): number | undefined => {
    const values = components.map(pick);
    return values.some((value) => value === undefined) ? undefined : values.reduce<number>((a, b) => a + b!, 0);
  };
  const some = (pick: (job: SacctJob) => number | undefined): number | undefined => {
    const numbers = components.flatMap((job) => pick(job) ?? []);
    return numbers.length === 0 ? undefined : numbers.reduce((a, b) => a + b, 0);
  };
  const worst = components.find(({ state }) => state !== 'completed') ?? first;
  const limit = first.asked.time_limit_seconds;
  return {
    ...first,
    ...stated({
      state: worst.state,
      exit_code: worst.exit_code,
      signal: worst.signal,
      reason: worst.reason,
      node_count: all(({ node_count }) => node_count),
      cpus: all(({ cpus }) => cpus),
      memory_bytes: all(({ memory_bytes }) => memory_bytes),
      gpus: some(({ gpus }) => gpus),
      cpu_seconds: some(({ cpu_seconds }) => cpu_seconds),
      energy_joules: some(({ energy_joules }) => energy_joules),
    }),
    nodes: [...new Set(components.flatMap(({ nodes }) => nodes))],
    asked: stated({
      nodes: all(({ asked }) => asked.nodes),
      cpus: all(({ asked }) => asked.cpus),
      memory_bytes: all(({ asked }) => asked.memory_bytes),
      gpus: some(({ asked }) => asked.gpus),
      time_limit_seconds: limit,
    }),
    steps: components.flatMap(({ steps }) => steps),
  };
}

/** A job that lost a node and went on has a line for each of its sizes. */
function resized(own: readonly SacctJob[]): SacctJob[] {
  const runs: SacctJob[] = [];
  for (const job of own) {
    const before = runs.at(-1);
    if (before?.state !== 'resizing') runs.push(job);
    else
      runs[runs.length - 1] = {
        ...job,
        ...stated({
          start: before.start,
          submit: before.submit,
          wall_seconds:
            before.start === undefined || job.end === undefined ? job.wall_seconds : (job.end - before.start) / 1e6,
        }),
        nodes: [...new Set([...before.nodes, ...job.nodes])],
        steps: [...before.steps, ...job.steps],
      };
  }
  return runs;
}

/** Where accounting does not say how often a job was restarted, the order of its runs does. */
const numbered = (own: readonly SacctJob[]): SacctJob[] =>
  own.map((job, i) => (job.restart !== undefined || i === 0 ? job : { ...job, restart: i }));
