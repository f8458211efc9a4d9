import { cgroupTable } from '../../sources/tables.ts';
import type { Material, NodeMaterial } from '../material.ts';
import { sum } from '../material.ts';
import { cgroupAround, cgroupOf } from './cpu-total.ts';

/** asked: the user or scheduler said so. limit: the kernel holds the job to it. machine: all that the machine has. */
export const ALLOCATION_SOURCES = ['asked', 'limit', 'machine'] as const;

export interface Share {
  value: number;
  source: (typeof ALLOCATION_SOURCES)[number];
}

function even(total: number | undefined, nodes: number): number | undefined {
  return total === undefined || nodes === 0 ? undefined : total / nodes;
}

/** What an imported recording does not know of its machine is not there. */
function ofMachine(value: number | undefined): Share | undefined {
  return Number.isFinite(value) ? { value: value!, source: 'machine' } : undefined;
}

/** CPUs of the job on this node. */
export function cpusOn(material: Material, node: NodeMaterial): Share | undefined {
  const { job } = material;
  const facts = node.agent?.facts;
  const askedCpus = job.per_node?.[node.node]?.cpus ?? (job.nodes.length === 1 ? job.asked.cpus : undefined);
  if (askedCpus !== undefined) return { value: askedCpus, source: 'asked' };
  const quota = cgroupAround(node, cgroupTable.col.cpu_limit)?.max;
  const allowed = Math.min(facts?.allowed_cpus ?? Number.POSITIVE_INFINITY, quota ?? Number.POSITIVE_INFINITY);
  if (facts !== undefined && allowed < facts.cpus) return { value: allowed, source: 'limit' };
  const shared = even(job.asked.cpus, job.nodes.length);
  if (shared !== undefined) return { value: shared, source: 'asked' };
  return ofMachine(facts?.allowed_cpus ?? facts?.cpus);
}

/** Memory that the job may use on this node. */
export function memoryOn(material: Material, node: NodeMaterial): Share | undefined {
  const { job } = material;
  const facts = node.agent?.facts;
  const askedBytes =
    job.per_node?.[node.node]?.memory_bytes ?? even(job.asked.memory_bytes, job.asked.nodes ?? job.nodes.length);
  if (askedBytes !== undefined) return { value: askedBytes, source: 'asked' };
  const limit = cgroupOf(node, cgroupTable.col.memory_limit_bytes)?.max ?? facts?.memory_limit_bytes;
  if (facts !== undefined && limit !== undefined && limit < facts.memory_bytes)
    return { value: limit, source: 'limit' };
  return ofMachine(facts?.memory_bytes);
}

/** CPUs of the whole job, and who said so. */
export function cpusOfJob(material: Material): Share | undefined {
  const { job } = material;
  if (job.asked.cpus !== undefined && material.range?.nodes === undefined) {
    return { value: job.asked.cpus, source: 'asked' };
  }
  const shares = material.nodes.map((node) => cpusOn(material, node));
  const total = sum(shares.map((s) => s?.value));
  if (total === undefined) return undefined;
  return { value: total, source: shares.find((s) => s !== undefined)!.source };
}
