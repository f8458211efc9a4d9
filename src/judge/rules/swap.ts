import { listed } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { cgroupTable, processTable, vmstatTable } from '../../sources/tables.ts';
import type { Evidence, NodeReport } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

export default rule({
  id: 'swap',
  title: 'swapping',
  help: 'More than 64 MiB of the job was in swap. If neither its cgroup nor its processes report swap: more than that was read back from swap on the node.',
  kind: 'trouble',
  order: 530,
  needs: [
    {
      what: 'use of swap',
      columns: [cgroupTable.col.swap_current_bytes, processTable.col.swap_bytes, vmstatTable.col.pswpin],
      has: ({ nodes }) => nodes.some((n) => n.swap_peak_bytes !== undefined || n.swapped_in_bytes !== undefined),
      otherwise: { unmeasurable: 'swap use was not recorded' },
    },
  ],
  thresholds: {
    /** Bytes of the job in swap; a few forgotten pages do no harm. */
    bytes: 64 * 2 ** 20,
  },
  when({ nodes }, { bytes }) {
    const own = nodes.filter((n) => (n.swap_peak_bytes ?? 0) > bytes);
    // where the job is known to have had nothing there, it was that of others
    const perhaps = nodes.filter((n) => n.swap_peak_bytes === undefined && (n.swapped_in_bytes ?? 0) > bytes);
    const swapping = own.length > 0 ? own : perhaps;
    return swapping.length === 0 ? [] : [{ swapping, isOwn: own.length > 0 }];
  },
  severity: 'warning',
  say({ swapping, isOwn }) {
    const where = listed(swapping.map((n) => n.node));
    return `${isOwn ? 'The job' : 'The node'} swapped on ${where}: memory was too small${isOwn ? '' : ' for all that ran there'}`;
  },
  evidence: ({ swapping }, _, { bytes }) => shown(swapping).flatMap((n) => evidenceOf(n, bytes)),
  advise: ({ isOwn }) =>
    `${isOwn ? 'A' : 'If it was the job’s memory: a'}sk for more memory, or run fewer processes on each node.`,
  confidence({ swapping, isOwn }) {
    if (!isOwn) return medium('swapping is the whole node’s, also that of others');
    const isOfProcesses = swapping.every((n) => n.swap_source === 'process');
    return high(isOfProcesses ? 'read from the job’s own processes' : 'counted in the job’s own cgroup');
  },
});

function evidenceOf(n: NodeReport, threshold: number): Evidence[] {
  const { node, swap_peak_bytes: peak, swapped_in_bytes: back } = n;
  const evidence: Evidence[] = [];
  const isOfProcess = n.swap_source === 'process';
  if (peak !== undefined)
    evidence.push({
      text: `${node}: ${formatBytes(peak)} in swap at most${isOfProcess ? ' (largest process)' : ''}`,
      from: named(isOfProcess ? processTable.col.swap_bytes : cgroupTable.col.swap_current_bytes),
      node,
      value: peak,
      threshold,
    });
  if (back !== undefined)
    evidence.push({
      text: `${node}: ${formatBytes(back)} read back`,
      from: named(vmstatTable.col.pswpin),
      node,
      value: back,
      threshold,
    });
  return evidence;
}
