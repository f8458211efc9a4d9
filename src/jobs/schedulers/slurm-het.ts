import { stated } from '../../base/stated.ts';
import type { Environment } from './command.ts';
import type { SchedulerFacts } from './scheduler.ts';

/**
 * The components of a heterogeneous job, each with the environment that a job of its own would have: SLURM_JOB_NODELIST
 * for SLURM_JOB_NODELIST_HET_GROUP_1. None: it is an ordinary job.
 */
export function componentsOf(env: Environment): Environment[] {
  const size = Number(env.SLURM_HET_SIZE ?? 1);
  if (!(size > 1)) return [];
  return Array.from({ length: size }, (_, group) => {
    const suffix = `_HET_GROUP_${group}`;
    const own = Object.entries(env).flatMap(([name, value]) =>
      name.endsWith(suffix) ? [[name.slice(0, -suffix.length), value]] : [],
    );
    return { ...env, ...Object.fromEntries(own) };
  });
}

/** What is known of a job's components, as of one job: all their nodes, and what was asked for in all. */
export function joinFacts(components: readonly SchedulerFacts[]): SchedulerFacts {
  const [first] = components as [SchedulerFacts];
  const total = (what: 'nodes' | 'cpus' | 'memory_bytes' | 'gpus'): number | undefined => {
    const values = components.map((component) => component.asked[what]);
    if (what === 'gpus')
      return values.every((v) => v === undefined) ? undefined : values.reduce<number>((a, v) => a + (v ?? 0), 0);
    return values.some((v) => v === undefined) ? undefined : values.reduce<number>((a, v) => a + v!, 0);
  };
  return {
    ...first,
    nodes: [...new Set(components.flatMap((component) => component.nodes))],
    asked: stated({
      ...first.asked,
      nodes: total('nodes'),
      cpus: total('cpus'),
      memory_bytes: total('memory_bytes'),
      gpus: total('gpus'),
    }),
    ...(components.every((component) => component.per_node === undefined)
      ? {}
      : { per_node: Object.assign({}, ...components.map((component) => component.per_node)) }),
  };
}
