import { formatDuration } from '../../base/duration.ts';
import { largest, type Material, type NodeMaterial } from '../../query/material.ts';
import { processSeries } from '../../query/processes/sampled.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { NodeReport, Unmeasured } from '../report-schema.ts';

/** A node's agent that first sampled a job so much after its start was late, however short the job. */
const LATE_SECONDS = 2;

export const isLate = (seconds: number, interval: number): boolean => seconds > Math.max(LATE_SECONDS, interval * 2);

/**
 * How long after the job's start the agent of a node was there, where it came late. One that was there before may have found
 * nothing of the job to sample until then.
 */
export function lateSeconds(
  { job, range }: Material,
  agent: AgentRecord | undefined,
  firstSample: number | undefined,
): number | undefined {
  if (range !== undefined || !((agent?.service_start ?? Number.NaN) > job.start)) return undefined;
  const seconds = ((firstSample ?? Number.NaN) - job.start) / 1e6;
  return isLate(seconds, job.interval_seconds) ? seconds : undefined;
}

/**
 * From when on a job's use of a node is known, in epoch microseconds: from its start, also where the agent came late, if
 * something that it found there had begun with the job; else from when the oldest of that began. What was over by then nobody
 * has seen, and a cgroup that nothing ran in is made anew.
 */
export function knownSince(material: Material, node: NodeMaterial, firstSample: number | undefined): number {
  const { job, processes } = material;
  if (lateSeconds(material, node.agent, firstSample) === undefined) return job.start;
  let oldest = firstSample!;
  for (const { keys } of processSeries(node)) oldest = Math.min(oldest, Number(keys.start) * 1000 || oldest);
  for (let i = 0; i < (processes?.length ?? 0); i++)
    if (processes!.node[i] === node.node) oldest = Math.min(oldest, processes!.birth[i] || oldest);
  return isLate((oldest - job.start) / 1e6, 0) ? oldest : job.start;
}

/** What is not known of nodes whose agents came late. */
export function unseenOf(material: Material, nodes: readonly NodeReport[], wall: number): Unmeasured[] {
  const late = nodes.filter((n) => n.late_seconds !== undefined);
  const isCounted = ({ node, cpu_source, first_sample }: NodeReport): boolean => {
    const own = material.nodes.find((n) => n.node === node)!;
    const isWhole = cpu_source === 'cgroup' || cpu_source === 'records';
    return isWhole && knownSince(material, own, first_sample) === material.job.start;
  };
  return [...Map.groupBy(late, isCounted)].map(([counted, some]) => {
    const first = `first ${formatDuration(Math.min(wall, largest(some.map((n) => n.late_seconds))!))} of the job`;
    return {
      what: `${some.length === 1 ? 'the' : 'up to the'} ${first}${counted ? ', but for its CPU time' : ''}`,
      why: 'the agent of the node came only then',
      nodes: some.map(({ node }) => node),
    };
  });
}
