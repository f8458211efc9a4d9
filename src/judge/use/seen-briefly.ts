import { formatDuration } from '../../base/duration.ts';
import type { Material } from '../../query/material.ts';
import type { CpuUse } from '../../query/use/cpu-total.ts';
import type { NodeReport, Unmeasured } from '../report-schema.ts';

/** Sampled for less than this share of the job, a node does not tell what the job did there. */
const ENOUGH = 0.5;

/** Whether samples cover too little of the job. Their time is the node's: what others did in it counts as the job's. */
function isBrief({ job, range }: Material, { recorded_seconds: seconds = 0 }: NodeReport): boolean {
  return range === undefined && job.end !== undefined && seconds * 1e6 < ENOUGH * (job.end - job.start);
}

/** What is known of the job's CPU time: neither what all did on the node in a small part of its time, nor nothing in that where the agent has gone. */
export function unlessBrief(material: Material, node: NodeReport, cpu: CpuUse | undefined): CpuUse | undefined {
  if (cpu === undefined || !isBrief(material, node)) return cpu;
  const isIdle =
    node.status === 'stopped early' && cpu.seconds === 0 && (cpu.source === 'cgroup' || cpu.source === 'processes');
  return cpu.source === 'node' || isIdle ? undefined : cpu;
}

/** Nodes whose CPU time is not known for that. */
export function brieflySeenOf(material: Material, nodes: readonly NodeReport[], wall: number): Unmeasured[] {
  const some = nodes.filter(
    (n) => n.cpu_seconds === undefined && n.recorded_seconds !== undefined && isBrief(material, n),
  );
  return some.map(({ node, recorded_seconds, reason }) => ({
    what: 'CPU time of the job',
    why: `only ${formatDuration(recorded_seconds!)} of ${formatDuration(wall)} were sampled${reason === undefined ? '' : `: ${reason}`}`,
    nodes: [node],
  }));
}
