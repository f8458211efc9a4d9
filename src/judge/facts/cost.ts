import { columnOf, ifFinite, largest, type Material, type NodeMaterial, sum } from '../../query/material.ts';
import { agentTable } from '../../sources/tables.ts';
import type { CostReport } from '../report-schema.ts';

export function costOf(material: Material, cpus?: number): CostReport {
  const recorded = material.nodes.flatMap((n) => (n.agent === undefined || isBlank(n) ? [] : [[n, n.agent] as const]));
  const agents = recorded.map(([, agent]) => agent);
  const cost: CostReport = {};
  const sampled = sum(recorded.map(([node, a]) => largest([a.cost.cpu_seconds, spentSoFar(node)])));
  const { run_use, finish_seconds } = material.job;
  const cpu = sampled === undefined ? undefined : sum([sampled, run_use?.cpu_seconds, finish_seconds]);
  const alive = sum(recorded.map(([node, a]) => Math.max(0, (a.end ?? lastSeen(node) ?? a.start) - a.start) / 1e6));
  const rss = largest(agents.map((a) => a.cost.max_rss_bytes));
  const bytes = sum(agents.map((a) => a.cost.bytes_written));
  if (cpu !== undefined) cost.cpu_seconds = cpu;
  if (sampled !== undefined && alive !== undefined && alive >= 1) {
    cost.core_share = sampled / alive;
    if (cpus !== undefined && cpus > 0) cost.allocation_share = (cost.core_share * agents.length) / cpus;
  }
  if (rss !== undefined) cost.max_rss_bytes = rss;
  const own = agents.map((a) => a.cost.max_own_bytes);
  if (own.length > 0 && own.every((bytes) => bytes !== undefined)) cost.max_own_bytes = Math.max(...own);
  if (bytes !== undefined) cost.bytes_written = bytes;
  const used = Object.values(material.job.own_use ?? {});
  if (used.length > 0) {
    cost.commands = used.reduce((sum, { commands }) => sum + commands, 0);
    cost.commands_cpu_seconds = used.reduce((sum, { cpu_seconds }) => sum + cpu_seconds, 0);
  }
  const inside = agents.some(({ scope }) => scope.cgroup_with_agent === true && scope.cgroup_shared === false);
  if (inside && agents.some(({ scope }) => scope.members === 'cgroup')) cost.in_memory_peak = true;
  return cost;
}

/** Whether no agent sampled there: zeros in its record were not measured. */
const isBlank = ({ agent, tables }: NodeMaterial): boolean =>
  agent!.ticks === 0 && tables.size === 0 && agent!.cost.cpu_seconds === 0;

/** The record of an agent that runs is older than what it has written. One of a node's service counts for all jobs there. */
const goesOn = ({ agent }: NodeMaterial): boolean => agent?.end === undefined && agent?.service !== true;

function spentSoFar(node: NodeMaterial): number | undefined {
  const spent = goesOn(node) ? ifFinite(columnOf(node, agentTable.col.cpu_us)?.max) : undefined;
  return spent === undefined ? undefined : spent / 1e6;
}

const lastSeen = (node: NodeMaterial): number | undefined =>
  largest([node.agent?.last_sample, goesOn(node) ? node.tables.get(agentTable.name)?.end : undefined]);
