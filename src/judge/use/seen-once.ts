import { count } from '../../base/words.ts';
import type { Material, NodeMaterial } from '../../query/material.ts';
import { processCpuSeconds, processSeries } from '../../query/processes/sampled.ts';
import type { NodeReport, Unmeasured } from '../report-schema.ts';

/** Processes of a node that left no record, and of which nobody knows what they used. */
function unknownOn(material: Material, node: NodeMaterial): number {
  const { processes: set } = material;
  if (set === undefined)
    return processSeries(node).filter(
      (series) => series.columns.user_ms !== undefined && processCpuSeconds(material, node, series) === undefined,
    ).length;
  let found = 0;
  for (let i = 0; i < set.length; i++)
    if (set.node[i] === node.node && set.source[i] === 'sample' && Number.isNaN(set.cpu_time[i]!)) found++;
  return found;
}

/** What processes used that were seen once, on nodes where nobody else has counted it. */
export function seenOnceOf(material: Material, nodes: readonly NodeReport[]): Unmeasured[] {
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
