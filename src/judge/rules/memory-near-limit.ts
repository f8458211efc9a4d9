import { listed, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { cgroupTable, processTable } from '../../sources/tables.ts';
import type { Evidence, Facts, NodeReport } from '../report-schema.ts';
import { high, low, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import {
  fill,
  fullestOf,
  howMeasured,
  limitedNodes,
  MARGIN,
  memoryFrom,
  NEAR_LIMIT,
  ownPeaks,
  TACHO_BYTES,
  tachoEvidence,
} from './shared/job-memory.ts';
import { usedMemory } from './shared/needs.ts';
import { memoryRequest, roundedUp } from './shared/request.ts';
import { type FindingText, hit, named, ruleOfCases } from './shared/rule.ts';

const thresholds = {
  /** Share of the memory limit that was used. */
  near: NEAR_LIMIT,
  /** Share of the used memory that is file cache, from which the cache explains it. */
  cache: 0.1,
  /** Share of the limit below which a part of the memory is not named. */
  worth_naming: 0.02,
  /** Factor between the peak and the memory that is proposed. */
  margin: MARGIN,
};

/** What was used at least: peaks of processes that are added up count pages that they share several times. */
function least({ summary }: Facts, n: NodeReport): number {
  if (n.memory_source !== 'processes' && n.memory_source !== 'pss') return n.memory_peak_bytes!;
  const memory = summary.memory_peak_node === n.node ? summary.memory : undefined;
  return Math.max(memory?.process_peak_max ?? 0, (n.memory_source === 'pss' && memory?.process_pss_max) || 0);
}

interface Full {
  nodes: NodeReport[];
  fullest: NodeReport;
  limit: number;
  used: number;
  /** The programs' own memory, at most. */
  anon: number | undefined;
  /** What the job's own processes took at most. */
  peaks: number | undefined;
  tachoBytes: number;
  /** What filled it that is no danger by itself. */
  why: 'cache' | 'tacho' | undefined;
}

export default ruleOfCases({
  id: 'memory-near-limit',
  title: 'memory close to its limit',
  help: 'A node used more than 90 % of the memory the job may have there. If only the sum of its processes’ peaks reaches that, it is advice: shared pages count several times in the sum.',
  kind: 'trouble',
  order: 510,
  needs: [usedMemory],
  thresholds,
  when(facts, limits) {
    const full = limitedNodes(facts).filter((n) => fill(n) > limits.near);
    const sure = full.filter((n) => least(facts, n) > limits.near * n.memory_limit_bytes!);
    if (sure.length > 0) return [hit(surelyFull, fullOf(facts, sure, limits))];
    return full.length === 0 ? [] : [hit(perhapsFull, full)];
  },
});

function fullOf(facts: Facts, nodes: NodeReport[], { near, cache }: typeof thresholds): Full {
  const fullest = fullestOf(nodes);
  const limit = fullest.memory_limit_bytes!;
  const used = least(facts, fullest);
  const isPeakNode = facts.summary.memory_peak_node === fullest.node;
  // page cache fills what is free and is given back when it is needed
  const anon = isPeakNode ? facts.summary.memory?.cgroup_anon_max : undefined;
  const isCache = anon !== undefined && anon < limit * near && used - anon > used * cache;
  // programs need what is left without Tacho: with a small limit that matters
  const tachoBytes = Math.min(used, fullest.memory_own_bytes ?? 0);
  const peaks = isPeakNode ? ownPeaks(facts) : undefined;
  const programs = peaks ?? Math.min(used, anon ?? used) - tachoBytes;
  const why = isCache ? 'cache' : tachoBytes > 0 && programs < limit * near ? 'tacho' : undefined;
  return { nodes, fullest, limit, used, anon, peaks, tachoBytes, why };
}

const surelyFull: FindingText<Full, typeof thresholds> = {
  severity: ({ why }) => (why === undefined ? 'warning' : 'info'),
  say({ nodes, fullest, limit, used, why }) {
    const isExact = fullest.memory_source === 'cgroup' || fullest.memory_source === 'node';
    const note = why === 'cache' ? ', much of it file cache' : why === 'tacho' ? ', with what Tacho itself took' : '';
    return `Memory reached ${isExact ? '' : 'at least '}${percent(used / limit)} of its limit on ${listed(nodes.map((n) => n.node))}${note}`;
  },
  evidence({ nodes, fullest, limit, anon, tachoBytes }, facts, { near, worth_naming }) {
    const evidence: Evidence[] = shown(nodes).map((n) => ({
      text: `${n.node}: ${formatBytes(least(facts, n))} of ${formatBytes(n.memory_limit_bytes!)} (${n.memory_source === 'processes' ? 'largest process' : howMeasured(n)})`,
      from: memoryFrom(n),
      node: n.node,
      value: least(facts, n),
      threshold: n.memory_limit_bytes! * near,
    }));
    if (anon !== undefined)
      evidence.push({
        text: `programs’ own memory at most ${formatBytes(anon)}`,
        from: named(cgroupTable.col.memory_anon_bytes),
        node: fullest.node,
        value: anon,
      });
    if (tachoBytes >= limit * worth_naming) evidence.push(tachoEvidence(fullest.node, tachoBytes));
    return evidence;
  },
  advise({ fullest, peaks, why }, facts, { margin }) {
    if (why === 'cache') return 'No danger by itself: the kernel gives file cache back when programs need memory.';
    if (why === 'tacho') {
      const own = peaks === undefined ? '' : `The job’s own processes took at most ${formatBytes(peaks)}. `;
      return `${own}Tacho needs up to ${formatBytes(TACHO_BYTES)} in the job’s cgroup: leave it that much above what they need.`;
    }
    if (fullest.memory_limit_source === 'machine') return 'Run on a machine with more memory, or on more nodes.';
    const more = roundedUp(fullest.memory_peak_bytes! * margin);
    return `Ask for more, e.g. ${memoryRequest(facts, more)}, or use more nodes.`;
  },
  confidence({ fullest: { memory_source: source } }) {
    if (source === 'cgroup') return high('peak counted by the kernel');
    if (source === 'pss') return medium('measured when the shared memory of its processes was read');
    return medium(
      source === 'node' ? 'counted for the whole node, also for others on it' : 'one process alone used this much',
    );
  },
};

/** Of nodes of which only an upper bound lies near the limit. */
const perhapsFull: FindingText<NodeReport[], typeof thresholds> = {
  severity: 'advice',
  say(nodes) {
    const fullest = fullestOf(nodes);
    const how = fullest.memory_source === 'pss' ? 'its processes took perhaps' : 'the peaks of all processes add up to';
    return `Memory may have come near its limit on ${listed(nodes.map((n) => n.node))}: ${how} ${percent(fill(fullest))}`;
  },
  evidence(nodes, facts, { near }) {
    const line = (n: NodeReport, text: string, value: number): Evidence => ({
      text: `${n.node}: ${text}`,
      from: named(processTable.col.rss_bytes),
      node: n.node,
      value,
      threshold: n.memory_limit_bytes! * near,
    });
    const evidence = shown(nodes).map((n) => {
      const { memory_peak_bytes: peak, memory_limit_bytes: limit, memory_source: source } = n;
      const most = source === 'processes' ? 'at most ' : '';
      return line(n, `${most}${formatBytes(peak!)} of ${formatBytes(limit!)} (${howMeasured(n)})`, peak!);
    });
    const fullest = fullestOf(nodes);
    const largest = least(facts, fullest);
    if (largest > 0)
      evidence.push(line(fullest, `at least ${formatBytes(largest)} (largest process of the fullest node)`, largest));
    return evidence;
  },
  advise:
    'Nothing to do where processes share their memory, as forked ones do; where each has its own, ask for more. In a cgroup of its own a job’s memory is counted exactly.',
  confidence: low('an upper bound: pages that processes share count once for each of them'),
};
