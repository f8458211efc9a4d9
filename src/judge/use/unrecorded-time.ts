import { formatDuration } from '../../base/duration.ts';
import { count } from '../../base/readable.ts';
import { largest, type Material, type NodeMaterial } from '../../query/material.ts';
import { processCpuSeconds, processSeries } from '../../query/processes/sampled.ts';
import type { CpuUse } from '../../query/use/cpu-total.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { Job } from '../../recording/folder/job.ts';
import type { NodeReport, Unmeasured } from '../report-schema.ts';

/** What nobody saw of a job, and so is not known of it. */

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
export function measuredSince(material: Material, node: NodeMaterial, firstSample: number | undefined): number {
  const { job, processes } = material;
  if (lateSeconds(material, node.agent, firstSample) === undefined) return job.start;
  let oldest = firstSample!;
  for (const { keys } of processSeries(node)) oldest = Math.min(oldest, Number(keys.start) * 1000 || oldest);
  for (let i = 0; i < (processes?.length ?? 0); i++)
    if (processes!.node[i] === node.node) oldest = Math.min(oldest, processes!.birth[i] || oldest);
  return isLate((oldest - job.start) / 1e6, 0) ? oldest : job.start;
}

/** What is not known of nodes whose agents came late. */
export function unsampledOf(material: Material, nodes: readonly NodeReport[], wall: number): Unmeasured[] {
  const late = nodes.filter((n) => n.late_seconds !== undefined);
  const isCounted = ({ node, cpu_source, first_sample }: NodeReport): boolean => {
    const own = material.nodes.find((n) => n.node === node)!;
    const isWhole = cpu_source === 'cgroup' || cpu_source === 'records';
    return isWhole && measuredSince(material, own, first_sample) === material.job.start;
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

/** The agent of a node takes its last sample a moment after the job's end; later than this it did not know of the end. */
const SECONDS = 10;
const INTERVALS = 3;

/** Seconds that the agent of a node recorded after the job's end; undefined: it stopped with the job. */
export function overrunOf(
  { end, interval_seconds: interval }: Job,
  agent: AgentRecord | undefined,
): number | undefined {
  if (end === undefined || agent?.service !== true || agent.last_sample === undefined) return undefined;
  const seconds = (agent.last_sample - end) / 1e6;
  return seconds > Math.max(SECONDS, INTERVALS * (interval || 0)) ? seconds : undefined;
}

/** What was recorded behind the job's end counts nowhere, and that is said. */
export function overruns({ job, nodes, range }: Material): Unmeasured[] {
  if (range !== undefined) return [];
  return nodes.flatMap(({ node, agent }) => {
    const seconds = overrunOf(job, agent);
    if (seconds === undefined) return [];
    const what = `what ${node} recorded for ${formatDuration(seconds)} after the job’s end: it does not count`;
    return [{ what, why: 'the agent of the node learned of the end only then: no epilog told it', nodes: [node] }];
  });
}

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
export function brieflySampledOf(material: Material, nodes: readonly NodeReport[], wall: number): Unmeasured[] {
  const some = nodes.filter(
    (n) => n.cpu_seconds === undefined && n.recorded_seconds !== undefined && isBrief(material, n),
  );
  return some.map(({ node, recorded_seconds, reason }) => ({
    what: 'CPU time of the job',
    why: `only ${formatDuration(recorded_seconds!)} of ${formatDuration(wall)} were sampled${reason === undefined ? '' : `: ${reason}`}`,
    nodes: [node],
  }));
}

/** Processes of a node that left no record, and of which nobody knows what they used. */
function unknownOn(material: Material, node: NodeMaterial): number {
  const { processes: set } = material;
  if (set === undefined)
    return processSeries(node).filter(
      (series) => series.columns.user_ms !== undefined && processCpuSeconds(material, node, series) === undefined,
    ).length;
  let unknownSeconds = 0;
  for (let i = 0; i < set.length; i++)
    if (set.node[i] === node.node && set.source[i] === 'sample' && Number.isNaN(set.cpu_time[i]!)) unknownSeconds++;
  return unknownSeconds;
}

/** What processes used that were seen once, on nodes where nobody else has counted it. */
export function sampledOnce(material: Material, nodes: readonly NodeReport[]): Unmeasured[] {
  // in a part, what is not known of one may have been before it or after it
  if (material.range !== undefined || material.leftOut !== undefined) return [];
  const isCounted = ({ cpu_source: source }: NodeReport): boolean => source === 'cgroup' || source === 'wait4';
  const unknown = new Map(material.nodes.map((node) => [node.node, unknownOn(material, node)]));
  const some = nodes.filter((n) => !isCounted(n) && (unknown.get(n.node) ?? 0) > 0).map(({ node }) => node);
  const total = some.reduce((sum, node) => sum + unknown.get(node)!, 0);
  if (total === 0) return [];
  const why = `older than the recording, and gone at the next sample after ${total === 1 ? 'its' : 'their'} first`;
  return [{ what: `CPU time of ${count(total, 'process', 'processes')}`, why, nodes: some }];
}
