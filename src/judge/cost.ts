import { largest, type Material, sum } from './material.ts';

/** What recording itself cost, all nodes together. */
export interface CostReport {
  cpu_seconds?: number;
  /** Of one core, mean over the nodes: 0.01 is a hundredth of a core on each node. Starting up outweighs all in less than a second. */
  core_share?: number;
  /** Of the CPU time that the job was given. */
  allocation_share?: number;
  /** Of the agent that used most. */
  max_rss_bytes?: number;
  bytes_written?: number;
}

export function costOf(material: Material, cpus?: number): CostReport {
  const agents = material.nodes.flatMap((n) => (n.agent === undefined ? [] : [n.agent]));
  const cost: CostReport = {};
  const cpu = sum(agents.map((a) => a.cost.cpu_seconds));
  const alive = sum(agents.map((a) => Math.max(0, (a.end ?? a.last_sample ?? a.start) - a.start) / 1e6));
  const rss = largest(agents.map((a) => a.cost.max_rss_bytes));
  const bytes = sum(agents.map((a) => a.cost.bytes_written));
  if (cpu !== undefined) cost.cpu_seconds = cpu;
  if (cpu !== undefined && alive !== undefined && alive >= 1) {
    cost.core_share = cpu / alive;
    if (cpus !== undefined && cpus > 0) cost.allocation_share = (cost.core_share * agents.length) / cpus;
  }
  if (rss !== undefined) cost.max_rss_bytes = rss;
  if (bytes !== undefined) cost.bytes_written = bytes;
  return cost;
}
