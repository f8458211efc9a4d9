import { percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { meminfoTable } from '../../sources/tables.ts';
import type { Evidence, NodeReport } from '../report-schema.ts';
import { medium, sampled } from './shared/confidence.ts';
import { fullestOf, howMeasured, limitedNodes, MARGIN, memoryFrom } from './shared/job-memory.ts';
import { usedMemory } from './shared/needs.ts';
import { memoryRequest, roundedUp } from './shared/request.ts';
import { named, rule } from './shared/rule.ts';

/** With files in memory that may be the job's. */
const most = (n: NodeReport): number => n.memory_peak_bytes! + (n.memory_shm_bytes ?? 0);
const mostFill = (n: NodeReport): number => most(n) / n.memory_limit_bytes!;

export default rule({
  id: 'memory-unused',
  title: 'memory that was asked for and not used',
  help: 'The fullest node used less than half of its memory, and at least 2 GiB could be given back. The proposal has a margin of 20 %.',
  kind: 'waste',
  order: 500,
  needs: [usedMemory],
  thresholds: {
    /** Share of the requested memory that was used, below which there is a finding. */
    used_below: 0.5,
    /** Bytes that could be given back. */
    worth_saving_bytes: 2 * 2 ** 30,
    /** Factor between the peak and the memory that is proposed. */
    margin: MARGIN,
  },
  when(facts, { used_below, worth_saving_bytes, margin }) {
    const asked = limitedNodes(facts).filter((n) => n.memory_limit_source !== 'machine');
    if (asked.length === 0) return { skipped: 'no memory was asked for: the job had the machine’s' };
    const fullest = fullestOf(asked, mostFill);
    const enough = roundedUp(most(fullest) * margin);
    const isWorthIt = fullest.memory_limit_bytes! - enough >= worth_saving_bytes;
    return mostFill(fullest) < used_below && isWorthIt ? [{ fullest, limit: fullest.memory_limit_bytes!, enough }] : [];
  },
  severity: 'advice',
  say({ fullest, limit }) {
    // of the others a peak between two samples may have been higher
    const isBound = fullest.memory_source !== 'pss' && fullest.memory_source !== 'process';
    return `${formatBytes(most(fullest))} of ${formatBytes(limit)} memory were ${isBound ? 'used at most' : 'in use in the samples'} (${percent(mostFill(fullest))})`;
  },
  evidence({ fullest, limit }, _, { used_below }) {
    const { node, memory_peak_bytes: peak, memory_shm_bytes: shared } = fullest;
    const evidence: Evidence[] = [
      {
        text: `${node}: peak ${formatBytes(peak!)} (${howMeasured(fullest)})`,
        from: memoryFrom(fullest),
        node,
        value: peak!,
        threshold: limit * used_below,
      },
    ];
    if (shared !== undefined)
      evidence.push({
        text: `perhaps ${formatBytes(shared)} more in files in memory (/dev/shm)`,
        from: named(meminfoTable.col.Shmem_bytes),
        node,
        value: shared,
      });
    return evidence;
  },
  advise: ({ enough }, facts) => `Ask for ${memoryRequest(facts, enough)}: peak plus 20 %.`,
  confidence({ fullest }) {
    if (fullest.memory_source !== 'cgroup') return medium('added up from sampled processes: short peaks may be missed');
    const sure = sampled(fullest.samples);
    return sure.confidence === 'high' ? { ...sure, confidence_reason: 'peak counted by the kernel' } : sure;
  },
});
