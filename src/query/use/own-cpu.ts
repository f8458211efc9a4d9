import type { OwnUse } from '../../recording/folder/job.ts';
import { agentTable } from '../../sources/tables.ts';
import { columnOf, ifFinite, type Material, type NodeMaterial } from '../material.ts';
import { type Curve, even, sumOf } from './curve.ts';
import { countersOf } from './samples.ts';

/** What Tacho itself used of the CPU time that was counted for the job. */

/** What its commands used that ran inside the job. */
export function ownSeconds({ job }: Material, { node }: NodeMaterial): number {
  const own = job.own_use?.[node];
  return own === undefined ? 0 : own.cpu_seconds + usualEnds(own);
}

/** What `tacho run` used in the job where it only started agents and the command. */
export function runSeconds({ job }: Material, { node }: NodeMaterial): number {
  return job.run_use?.node === node ? job.run_use.cpu_seconds : 0;
}

/** What the agent used in the cgroup of the job. */
export function agentSeconds(node: NodeMaterial): number {
  if (node.agent?.scope.cgroup_with_agent !== true) return 0;
  return (ifFinite(columnOf(node, agentTable.col.cpu_us)?.increase) ?? 0) / 1e6;
}

/** When its commands used that, as far as they noted it, or when that was over; in microseconds. */
export function commandsCurve(
  { job }: Material,
  { node }: NodeMaterial,
  when: 'running' | 'over' = 'running',
): Curve | undefined {
  const own = job.own_use?.[node];
  if (own?.spans === undefined) return undefined;
  const withEnds = 1 + (own.cpu_seconds > 0 ? usualEnds(own) / own.cpu_seconds : 0);
  return sumOf(
    own.spans.map(([from, to, seconds]) => even(when === 'running' ? from : to, to, seconds * withEnds * 1e6)),
  );
}

/** When the agent did, in microseconds. */
export function agentCurve(material: Material, node: NodeMaterial): Curve | undefined {
  if (agentSeconds(node) === 0) return undefined;
  return countersOf(material, node, agentTable.col.cpu_us)[0]?.counter()?.curve;
}

/** A command of Tacho's in the job uses a part of what it has used, at most so many seconds, to end after it has noted that. */
const OWN_END_SHARE = 0.06;
const OWN_END_SECONDS = 0.01;
/** A large one may use so much more for each byte: the kernel takes its memory back at its cost. */
const OWN_END_SECONDS_PER_BYTE = 1.5e-4 / 2 ** 20;

const usualEnds = ({ cpu_seconds, commands }: OwnUse): number =>
  Math.min(cpu_seconds * OWN_END_SHARE, commands * OWN_END_SECONDS);

/** What the scheduler's command and its daemon use to start and to end the agent beside the command, and nobody notes. */
export const RUN_REST_SECONDS = 0.02;

/** What ends of Tacho's own commands may have used beyond the usual: as much again, and more for a large one. */
export function ownEnds({ job }: Material, { node }: NodeMaterial): number {
  const own = job.own_use?.[node];
  return own === undefined || own.commands === 0 ? 0 : usualEnds(own) + own.max_rss_bytes * OWN_END_SECONDS_PER_BYTE;
}

/**
 * A count of everything without what was Tacho's own, which is known to some hundredths of a second: not less than the
 * job's processes say, and not more where the ends of Tacho's commands explain the rest.
 */
export function without(own: number, all: number, least: number, ends: number): number {
  const rest = Math.min(all, Math.max(all - own, least));
  return rest - least <= ends ? Math.min(rest, least) : rest;
}
