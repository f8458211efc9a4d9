import { cgroupTable } from '../../sources/tables.ts';
import type { Material, NodeMaterial } from '../facts/material.ts';
import { partCpuOf } from './part-cpu.ts';
import { cgroupOf } from './usage.ts';

/** Whether the cgroup of a job that comes and goes on a node was made anew: what it counted after its last sample is lost. */
export function isMadeAnew(whole: NodeMaterial): boolean {
  const usage = cgroupOf(whole, cgroupTable.col.usage_us);
  return usage !== undefined && usage.increase! > usage.last - usage.first;
}

/** Whether processes tell of more than the cgroup has counted in all of the job. */
export function hasLost(material: Material, whole: NodeMaterial): boolean {
  const { first, increase } = cgroupOf(whole, cgroupTable.col.usage_us)!;
  const all = partCpuOf({ ...material, range: { what: '' } }, whole);
  return all !== undefined && all.seconds > ((first + increase!) / 1e6) * 1.01;
}
