import type { Material } from '../query/material.ts';
import { sampleKey, sampleKeyAt } from '../query/processes/sampled-cpu.ts';
import { ranksOf, type World } from '../query/ranks/ranks.ts';
import { processTable } from '../sources/tables.ts';
import type { DrawnSeries } from './draw.ts';

/** The largest start of ranks; undefined: the job has none. */
function largestWorld({ processes, job }: Material): World | undefined {
  if (processes === undefined) return undefined;
  const worlds = ranksOf(processes, job.steps);
  return worlds.length === 0 ? undefined : worlds.reduce((a, b) => (b.ranks.length > a.ranks.length ? b : a));
}

/** Whether processes of ranks were sampled: else nobody knows what they did in between. */
export const hasRanks = (material: Material): boolean =>
  material.nodes.some(({ tables }) => tables.has(processTable.name)) && largestWorld(material) !== undefined;

interface Steps {
  from: number;
  to: number;
  begin: number;
  step: number;
  steps: number;
  node?: string;
}

/** CPUs that each rank used over time, its processes added up, as sampling saw them; in the order of ranks. */
export function rankSeries(material: Material, { from, to, begin, step, steps, node }: Steps): DrawnSeries[] {
  const { series: ask, processes: set } = material;
  const world = largestWorld(material);
  if (ask === undefined || set === undefined || world === undefined) return [];
  const rankAt = new Map<string, number>();
  const size = String(world.ranks.at(-1)?.rank ?? 0).length;
  for (let i = 0; i < set.length; i++) {
    if (set.rank[i] === '' || Number.isNaN(set.sampled_birth[i]!)) continue;
    rankAt.set(`${set.node[i]} ${sampleKeyAt(set, i)}`, Number(set.rank[i]));
  }
  const sums = new Map<number, DrawnSeries>();
  const selection = { from, to, step, ...(node === undefined ? {} : { node }) };
  for (const column of [processTable.col.user_ms, processTable.col.system_ms])
    for (const one of ask(column, selection)) {
      const rank = rankAt.get(`${one.node} ${sampleKey(one.keys.pid, one.keys.start)}`);
      if (rank === undefined) continue;
      const rankSum = sums.get(rank) ?? emptyRank(one.node, String(rank).padStart(size, '0'), steps);
      sums.set(rank, rankSum);
      for (const [i, time] of one.time.entries()) {
        const at = Math.round((time - begin) / step);
        if (at < 0 || at >= steps || Number.isNaN(one.mean[i]!)) continue;
        rankSum.mean[at] = (rankSum.mean[at] || 0) + one.mean[i]! / 1000;
      }
    }
  return [...sums].sort(([a], [b]) => a - b).map(([, one]) => one);
}

function emptyRank(node: string, key: string, steps: number): DrawnSeries {
  const mean = new Float64Array(steps).fill(Number.NaN);
  // processes are sampled too seldom for more than a mean
  return { node, key, min: mean, mean, max: mean };
}
