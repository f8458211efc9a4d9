import type { SeriesStatistics } from '../recording/statistics.ts';
import { known, type Material, type NodeMaterial, seriesOf } from './material.ts';
import { storedBytes } from './process-work.ts';
import { cgroupOf, hasOwnCgroup } from './usage.ts';

/** Bytes that went in and out through one kind of door, all nodes together. */
export interface FlowReport {
  /** "processes", "disk", "network", "nfs", "lustre". */
  what: string;
  /** job: the job's own. node: everything on the node, others' included. */
  scope: 'job' | 'node';
  /** Network: counted at virtual interfaces, as a node (a container, most likely) has no other. */
  virtual?: true;
  in_bytes?: number;
  out_bytes?: number;
  /** The highest rate of any one device, bytes a second, and where. */
  in_peak?: number;
  in_peak_at?: string;
  out_peak?: number;
  out_peak_at?: string;
}

interface Door {
  what: string;
  table: string;
  scope: 'job' | 'node';
  in: string;
  out: string;
  /** Whether this series counts (not a partition of a disk that is counted, not the loopback interface). */
  counts?: (series: SeriesStatistics) => boolean;
  /** Where none on a node does: what counts in their place. */
  else?: (series: SeriesStatistics) => boolean;
}

/** Traffic that stays on the node, or that is counted at the hardware or at the interfaces below. */
const REPEATED = new Set(['loopback', 'virtual', 'stacked', 'ipoib', 'cxi-ethernet']);

const DOORS: readonly Door[] = [
  { what: 'job, local disks', table: 'cgroup', scope: 'job', in: 'io_read_bytes', out: 'io_written_bytes' },
  {
    what: 'disk',
    table: 'disk',
    scope: 'node',
    in: 'read_bytes',
    out: 'written_bytes',
    counts: (s) => (s.texts.class ?? 'disk') === 'disk',
  },
  { what: 'NFS', table: 'nfs', scope: 'node', in: 'read_bytes', out: 'written_bytes' },
  { what: 'Lustre', table: 'lustre', scope: 'node', in: 'read_bytes', out: 'written_bytes' },
  {
    what: 'network',
    table: 'network',
    scope: 'node',
    in: 'received_bytes',
    out: 'sent_bytes',
    counts: (s) => !REPEATED.has(s.texts.class ?? ''),
    else: (s) => s.texts.class === 'virtual',
  },
];

export function flowsOf(material: Material): FlowReport[] {
  return DOORS.flatMap((door) => flowOf(material, door) ?? []);
}

function flowOf(material: Material, door: Door): FlowReport | undefined {
  const flow: FlowReport = { what: door.what, scope: door.scope };
  for (const node of material.nodes) {
    const isCgroup = door.table === 'cgroup';
    const all = seriesOf(node, door.table).filter((s) => !isCgroup || (s.keys.cgroup === '.' && hasOwnCgroup(node)));
    let counted = all.filter((series) => door.counts?.(series) !== false);
    if (counted.length === 0 && door.else !== undefined) {
      counted = all.filter(door.else);
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
  const [agent] = seriesOf(node, 'agent');
  const [own] = seriesOf(node, 'cgroup', { cgroup: '.' });
  const written = known(agent?.columns.written_bytes?.increase) ?? 0;
  const all = known(cgroupOf(node, 'io_written_bytes')?.increase) ?? 0;
  if (written === 0 || all === 0) return 0;
  // the cgroup may have been watched for less time than the agent was there
  const share = Math.min(1, (own!.end - own!.start) / (agent!.end - agent!.start));
  return Math.max(0, Math.min(written * share, all - storedBytes(material, node)));
}

function add(
  flow: FlowReport,
  way: 'in' | 'out',
  series: SeriesStatistics,
  column: string,
  where: string,
  own: number,
): void {
  const found = series.columns[column];
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
