import { agentTable, cgroupTable, meminfoTable, processTable } from '../../../sources/tables.ts';
import type { Evidence, Facts, NodeReport } from '../../report-schema.ts';
import { named } from './rule.ts';

/** The job's memory on a node beside its limit, as findings speak of it. */

/** Above this share of the limit a slightly larger input ends the job. */
export const NEAR_LIMIT = 0.9;

/** Margin of the memory that is proposed over the highest use. */
export const MARGIN = 1.2;

/** What Tacho takes of a job's memory at most, with what the kernel needs for it (docs/decisions/memory-inside-a-job.md). */
export const TACHO_BYTES = 50 * 2 ** 20;

export const limitedNodes = ({ nodes }: Facts): NodeReport[] =>
  nodes.filter((n) => n.memory_peak_bytes !== undefined && n.memory_limit_bytes !== undefined);

export const fill = (n: NodeReport): number => n.memory_peak_bytes! / n.memory_limit_bytes!;

export const fullestOf = (nodes: readonly NodeReport[], by = fill): NodeReport =>
  nodes.reduce((a, b) => (by(b) > by(a) ? b : a));

const FROM = {
  cgroup: named(cgroupTable.col.memory_peak_bytes),
  processes: named(processTable.col.rss_bytes),
  pss: named(processTable.col.pss_bytes),
  process: named(processTable.col.rss_bytes),
  node: named(meminfoTable.col.MemAvailable_bytes),
};

export const memoryFrom = (n: NodeReport): string => FROM[n.memory_source!];

const MEASURED = {
  cgroup: 'cgroup, file cache included',
  processes: 'peaks of all processes added up',
  pss: 'all processes, shared memory once',
  process: 'largest process',
  node: 'whole node',
};

/** How its memory was measured. */
export const howMeasured = (n: NodeReport): string => MEASURED[n.memory_source!];

/** What the job's own processes took at most; an agent that was killed has not seen all of it. */
export const ownPeaks = ({ job, summary }: Facts): number | undefined =>
  job.memory_kills === undefined ? summary.memory?.process_peaks_sum : undefined;

/** What of it is Tacho's. */
export const tachoEvidence = (node: string, value: number): Evidence => ({
  text: 'Tacho’s own is in it: its agent and its commands in the job',
  from: named(agentTable.col.rss_bytes),
  node,
  value,
});
