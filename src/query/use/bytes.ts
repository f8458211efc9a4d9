import { agentTable, cgroupTable, diskTable, lustreTable, networkTable, nfsTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import { type Material, type NodeMaterial, wholeOf } from '../material.ts';
import { hasOwnCgroup } from './cpu-total.ts';
import { type Curve, minus, over, scaled, times, total } from './curve.ts';
import { storedBytes } from './process-work.ts';
import { type Counters, countersOf } from './samples.ts';

/** Where bytes come in and go out. */
export interface Door {
  what: string;
  /** Of the job alone, or of all that runs on the node. */
  scope: 'job' | 'node';
  in: TableColumn;
  out: TableColumn;
  /** Whether one of this class counts (not a partition of a disk that is counted, not the loopback interface). */
  counts?: (name: string | undefined) => boolean;
  /** Where none on a node does: what counts in their place. */
  else?: (name: string | undefined) => boolean;
}

/** Traffic that stays on the node, or that is counted at the hardware or at the interfaces below. */
const REPEATED = new Set(['loopback', 'virtual', 'stacked', 'ipoib', 'cxi-ethernet']);

export const DOORS = [
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
    counts: (name = 'disk') => name === 'disk',
  },
  { what: 'NFS', scope: 'node', in: nfsTable.col.read_bytes, out: nfsTable.col.written_bytes },
  { what: 'Lustre', scope: 'node', in: lustreTable.col.read_bytes, out: lustreTable.col.written_bytes },
  {
    what: 'network',
    scope: 'node',
    in: networkTable.col.received_bytes,
    out: networkTable.col.sent_bytes,
    counts: (name = '') => !REPEATED.has(name),
    else: (name) => name === 'virtual',
  },
] as const satisfies readonly Door[];

/** What went through one disk, mount or interface, in bytes. */
export interface Traffic {
  keys: Counters['keys'];
  in: Curve | undefined;
  out: Curve | undefined;
  /** It only counts because nothing better does. */
  isVirtual: boolean;
}

/** All that counts of a node; `material` is the whole job, or a part of it whose node this is. */
export function trafficOf(material: Material, node: NodeMaterial, door: Door): Traffic[] {
  const isJob = door.scope === 'job';
  if (isJob && !hasOwnCgroup(node)) return [];
  const all = countersOf(wholeOf(material), node, door.in, isJob ? { cgroup: '.' } : {});
  const counted = all.filter(({ texts }) => door.counts?.(texts.class) !== false);
  const isVirtual = counted.length === 0 && door.else !== undefined;
  const chosen = isVirtual ? all.filter(({ texts }) => door.else!(texts.class)) : counted;
  return chosen.map(({ keys, counter }): Traffic => {
    const [into, out] = [counter(door.in), counter(door.out)];
    const sent = isJob && out !== undefined ? withoutAgent(material, node, out.curve, out.moments) : out?.curve;
    return { keys, in: into?.curve, out: sent, isVirtual };
  });
}

/** Without what the agent wrote into its recording from within the job's cgroup, as far as the job's own processes leave room for it. */
function withoutAgent(material: Material, node: NodeMaterial, all: Curve, moments: ArrayLike<number>): Curve {
  if (node.agent?.scope.cgroup_with_agent !== true || node.agent.on_disk !== true) return all;
  const agent = countersOf(wholeOf(material), node, agentTable.col.written_bytes)[0]?.counter()?.curve;
  // the cgroup may have been watched for less time than the agent was there
  const written = (agent && over(agent, [[all.from, all.to]])?.amount) ?? 0;
  const own = Math.max(0, Math.min(written, total(all) - storedBytes(wholeOf(material), node)));
  return own === 0 ? all : scaled(minus(all, times(agent!, own / written), moments), total(all) - own);
}
