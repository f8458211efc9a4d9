import type { Step } from '../../recording/folder/job.ts';
import { intervalOf } from '../series/agent.ts';
import type { OmnistatSource } from './source.ts';

/** What rmsjob_info says of a job. Times are epoch milliseconds. */
export interface OmnistatJob {
  id: string;
  user: string;
  partition: string;
  scheduler: 'slurm' | 'flux' | 'pbs' | 'none';
  /** Nodes that the scheduler gave to it, where that is said. */
  asked?: number;
  /** When it was seen on each instance. */
  nodes: Map<string, { from: number; to: number }>;
  from: number;
  to: number;
  /** Seconds between samples. */
  interval: number;
  steps: Step[];
}

interface Seen {
  first: number;
  last: number;
}

/** Jobs, by when they began. Omnistat says on every node, with every sample, which job and step runs there. */
export async function readJobs(source: OmnistatSource): Promise<OmnistatJob[]> {
  const jobs = new Map<
    string,
    OmnistatJob & { seenSteps: Map<string, Seen & { nodes: Set<string> }>; times: Float64Array[] }
  >();
  for await (const { labels, times, values } of source.samples({ name: 'rmsjob_info' })) {
    const { jobid: id = '', instance = '', jobstep: step = '' } = labels;
    const there = times.filter((_, i) => values[i]! > 0);
    // without a job all labels are empty
    if (id === '' || there.length === 0) continue;
    const from = there[0]!;
    const to = there.at(-1)!;
    let job = jobs.get(id);
    if (job === undefined) {
      job = {
        id,
        user: labels.user ?? '',
        partition: labels.partition ?? '',
        scheduler: schedulerOf(labels.type ?? ''),
        ...(Number(labels.nodes) > 0 ? { asked: Number(labels.nodes) } : {}),
        nodes: new Map(),
        from,
        to,
        interval: Number.NaN,
        steps: [],
        seenSteps: new Map(),
        times: [],
      };
      jobs.set(id, job);
    }
    job.from = Math.min(job.from, from);
    job.to = Math.max(job.to, to);
    const node = job.nodes.get(instance);
    job.nodes.set(instance, { from: Math.min(node?.from ?? from, from), to: Math.max(node?.to ?? to, to) });
    job.times.push(there);
    if (step === '' || step === '-1') continue;
    const seenStep = job.seenSteps.get(step);
    const nodes = (seenStep?.nodes ?? new Set()).add(instance);
    job.seenSteps.set(step, {
      first: Math.min(seenStep?.first ?? from, from),
      last: Math.max(seenStep?.last ?? to, to),
      nodes,
    });
  }
  return [...jobs.values()]
    .sort((a, b) => a.from - b.from)
    .map(({ seenSteps, times, ...job }) => ({
      ...job,
      interval: intervalOf(times),
      steps: [...seenSteps].map(
        ([id, { first, last, nodes }]): Step => ({
          id,
          start: first * 1000,
          end: last * 1000,
          nodes: [...nodes],
        }),
      ),
    }));
}

const SCHEDULERS = ['slurm', 'flux', 'pbs'] as const;

function schedulerOf(type: string): OmnistatJob['scheduler'] {
  return SCHEDULERS.find((name) => type.toLowerCase().includes(name)) ?? 'none';
}
