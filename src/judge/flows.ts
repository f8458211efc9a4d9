import type { SeriesStatistics } from '../recording/statistics.ts';
import { known, type Material, seriesOf } from './material.ts';
import { hasOwnCgroup } from './usage.ts';

/** Bytes that went in and out through one kind of door, all nodes together. */
export interface FlowReport {
  /** "processes", "disk", "network", "nfs", "lustre". */
  what: string;
  /** job: the job's own. node: everything on the node, others' included. */
  scope: 'job' | 'node';
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
}

/** Traffic that stays on the node, or that is counted at the hardware below. */
const REPEATED = new Set(['loopback', 'virtual', 'ipoib', 'cxi-ethernet']);

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
  },
];

export function flowsOf(material: Material): FlowReport[] {
  return DOORS.flatMap((door) => flowOf(material, door) ?? []);
}

function flowOf(material: Material, door: Door): FlowReport | undefined {
  const flow: FlowReport = { what: door.what, scope: door.scope };
  for (const node of material.nodes) {
    for (const series of seriesOf(node, door.table)) {
      if (door.table === 'cgroup' && (series.keys.cgroup !== '.' || !hasOwnCgroup(node))) continue;
      if (door.counts?.(series) === false) continue;
      const where = door.table === 'cgroup' ? node.node : [node.node, ...Object.values(series.keys)].join(' ');
      add(flow, 'in', series, door.in, where);
      add(flow, 'out', series, door.out, where);
    }
  }
  return flow.in_bytes === undefined && flow.out_bytes === undefined ? undefined : flow;
}

function add(flow: FlowReport, way: 'in' | 'out', series: SeriesStatistics, column: string, where: string): void {
  const found = series.columns[column];
  const bytes = known(found?.increase);
  if (bytes === undefined) return;
  flow[`${way}_bytes`] = (flow[`${way}_bytes`] ?? 0) + bytes;
  const peak = known(found?.rate?.max);
  if (peak !== undefined && peak > (flow[`${way}_peak`] ?? -1)) {
    flow[`${way}_peak`] = peak;
    flow[`${way}_peak_at`] = where;
  }
}
