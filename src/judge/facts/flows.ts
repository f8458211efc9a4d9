import { known, type Material, type NodeMaterial, seriesOf } from '../../query/material.ts';
import type { ReportColumn } from '../../query/report-columns.ts';
import { cgroupOf, hasOwnCgroup } from '../../query/use/cpu-total.ts';
import { storedBytes } from '../../query/use/process-work.ts';
import type { SeriesStatistics } from '../../recording/sealed/statistics.ts';
import { agentTable, cgroupTable, diskTable, lustreTable, networkTable, nfsTable } from '../../sources/tables.ts';
import type { FlowReport } from '../report-schema.ts';

interface Door {
  what: string;
  scope: 'job' | 'node';
  in: ReportColumn;
  out: ReportColumn;
  /** The text that says what a series is. */
  class?: ReportColumn;
  /** Whether one of this class counts (not a partition of a disk that is counted, not the loopback interface). */
  counts?: (name: string | undefined) => boolean;
  /** Where none on a node does: what counts in their place. */
  else?: (name: string | undefined) => boolean;
}

/** Traffic that stays on the node, or that is counted at the hardware or at the interfaces below. */
const REPEATED = new Set(['loopback', 'virtual', 'stacked', 'ipoib', 'cxi-ethernet']);

const DOORS: readonly Door[] = [
  {
    what: 'job, local disks',
    scope: 'job',
    in: cgroupTable.col.io_read_bytes,
    out: cgroupTable.col.io_written_bytes,
  },
  {
    what: 'disk',
    scope: 'node',
    in: diskTable.col.read_bytes,
    out: diskTable.col.written_bytes,
    class: diskTable.col.class,
    counts: (name = 'disk') => name === 'disk',
  },
  { what: 'NFS', scope: 'node', in: nfsTable.col.read_bytes, out: nfsTable.col.written_bytes },
  { what: 'Lustre', scope: 'node', in: lustreTable.col.read_bytes, out: lustreTable.col.written_bytes },
  {
    what: 'network',
    scope: 'node',
    in: networkTable.col.received_bytes,
    out: networkTable.col.sent_bytes,
    class: networkTable.col.class,
    counts: (name = '') => !REPEATED.has(name),
    else: (name) => name === 'virtual',
  },
];

export function flowsOf(material: Material): FlowReport[] {
  return DOORS.flatMap((door) => flowOf(material, door) ?? []);
}

function flowOf(material: Material, door: Door): FlowReport | undefined {
  const flow: FlowReport = { what: door.what, scope: door.scope };
  for (const node of material.nodes) {
    const isCgroup = door.scope === 'job';
    const recorded = node.tables.get(door.in.table)?.series ?? [];
    const all = recorded.filter((s) => !isCgroup || (s.keys.cgroup === '.' && hasOwnCgroup(node)));
    const classOf = ({ texts }: SeriesStatistics) => door.class && texts[door.class.name];
    let counted = all.filter((series) => door.counts?.(classOf(series)) !== false);
    if (counted.length === 0 && door.else !== undefined) {
      counted = all.filter((series) => door.else!(classOf(series)));
      if (counted.length > 0) flow.virtual = true;
    }
    const own = isCgroup ? agentBytes(material, node) : 0;
    for (const series of counted) {
      const where = isCgroup ? node.node : [node.node, ...Object.values(series.keys)].join(' ');
      add(flow, 'in', series, door.in, where, 0);
      add(flow, 'out', series, door.out, where, own);
    }
  }
  return flow.in_bytes === undefined && flow.out_bytes === undefined ? undefined : flow;
}

/** What the agent wrote into its recording from within the job's cgroup, as far as the job's own processes leave room for it. */
function agentBytes(material: Material, node: NodeMaterial): number {
  if (node.agent?.scope.cgroup_with_agent !== true || node.agent.on_disk !== true) return 0;
  const [agent] = seriesOf(node, agentTable);
  const [own] = seriesOf(node, cgroupTable, { cgroup: '.' });
  const written = known(agent?.columns.written_bytes?.increase) ?? 0;
  const all = known(cgroupOf(node, cgroupTable.col.io_written_bytes)?.increase) ?? 0;
  if (written === 0 || all === 0) return 0;
  // the cgroup may have been watched for less time than the agent was there
  const share = Math.min(1, (own!.end - own!.start) / (agent!.end - agent!.start));
  return Math.max(0, Math.min(written * share, all - storedBytes(material, node)));
}

function add(
  flow: FlowReport,
  way: 'in' | 'out',
  series: SeriesStatistics,
  column: ReportColumn,
  where: string,
  own: number,
): void {
  const found = series.columns[column.name];
  const bytes = known(found?.increase);
  if (bytes === undefined) return;
  flow[`${way}_bytes`] = (flow[`${way}_bytes`] ?? 0) + bytes - own;
  // how much of a moment's rate was the agent's is not known
  const peak = own > 0 && bytes - own <= 0 ? 0 : known(found?.rate?.max);
  if (peak !== undefined && peak > (flow[`${way}_peak`] ?? -1)) {
    flow[`${way}_peak`] = peak;
    flow[`${way}_peak_at`] = where;
  }
}
