import { ifFinite, type Material, matching } from '../../query/material.ts';
import { DOORS, type Door, trafficOf } from '../../query/use/bytes.ts';
import { usedIn } from '../../query/use/use.ts';
import type { FlowReport } from '../report-schema.ts';

export function flowsOf(material: Material): FlowReport[] {
  return DOORS.flatMap((door) => flowOf(material, door) ?? []);
}

function flowOf(material: Material, door: Door): FlowReport | undefined {
  const { what, scope } = door;
  const flow: FlowReport = { what, scope };
  for (const node of material.nodes)
    for (const { keys, isVirtual, ...curves } of trafficOf(material, node, door)) {
      if (isVirtual) flow.virtual = true;
      const where = scope === 'job' ? node.node : [node.node, ...Object.values(keys)].join(' ');
      const [seriesStatistics] = matching(node, door.in.table, keys);
      for (const way of ['in', 'out'] as const) {
        const curve = curves[way];
        const bytes = curve && usedIn(material, curve)?.amount;
        if (bytes === undefined) continue;
        flow[`${way}_bytes`] = (flow[`${way}_bytes`] ?? 0) + bytes;
        // how much of a moment's rate was the agent's is not known
        const most = ifFinite(seriesStatistics?.columns[door[way].name]?.rate?.max);
        const peak = most === undefined || bytes > 0 ? most : 0;
        if (peak === undefined || peak <= (flow[`${way}_peak`] ?? -1)) continue;
        flow[`${way}_peak`] = peak;
        flow[`${way}_peak_at`] = where;
      }
    }
  for (const way of ['in_bytes', 'out_bytes'] as const) if (flow[way] !== undefined) flow[way] = Math.round(flow[way]);
  return flow.in_bytes === undefined && flow.out_bytes === undefined ? undefined : flow;
}
