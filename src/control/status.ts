import * as path from 'node:path';
import { stated } from '../base/stated.ts';
import { isGone, newestWrite } from '../recording/folder/alive.ts';
import { type LostSamples, lostSamplesText } from '../recording/folder/lost-samples.ts';
import { openRecording } from '../recording/folder/open.ts';
import { readDefined } from '../recording/read/read.ts';
import { agentTable } from '../sources/own/agent.ts';

/** How recording goes on one node. */
export interface NodeStatus {
  node: string;
  /**
   * recording: it writes. blocked: the disk refuses its samples, which wait in memory. silent: it should have written and
   * has not. ended: it said so. missing: it never began.
   */
  state: 'recording' | 'blocked' | 'silent' | 'ended' | 'missing';
  /** Since the newest sample. */
  last_sample_seconds?: number;
  ticks: number;
  late_ticks: number;
  missed_ticks: number;
  unmeasured: number;
  end_reason?: string;
  /** What could not be written, or not yet, since when and why. */
  trouble?: string;
  lost_samples?: LostSamples[];
}

export interface Status {
  recording: string;
  job: string;
  interval_seconds: number;
  nodes: NodeStatus[];
}

/** Three intervals without a sample, and two seconds for slow file systems, are too long. */
const tooLong = (interval: number): number => 3 * interval + 2;

export function recordingStatus(folder: string, now = Date.now() * 1000): Status {
  const { job, nodes } = openRecording(folder);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const names = new Set([...job.nodes, ...byName.keys()]);
  return {
    recording: path.resolve(folder),
    job: job.id,
    interval_seconds: job.interval_seconds,
    nodes: [...names].map((name) => {
      const node = byName.get(name);
      const agent = node?.agent;
      const last = agent?.end ?? (node === undefined ? undefined : newestWrite(node));
      const age = last === undefined ? undefined : Math.max(0, (now - last) / 1e6);
      const lost = agent?.lost_samples;
      const state =
        agent?.end !== undefined
          ? 'ended'
          : age === undefined
            ? 'missing'
            : age > tooLong(agent?.interval_seconds ?? job.interval_seconds) || (agent !== undefined && isGone(agent))
              ? 'silent'
              : lost?.some(({ waiting = 0 }) => waiting > 0)
                ? 'blocked'
                : 'recording';
      // the agent's own table is newer than its record
      const own = node?.tables.has(agentTable.name)
        ? readDefined(node, agentTable, { columns: ['late_ticks', 'missed_ticks'] })
        : undefined;
      const newest = (column: 'late_ticks' | 'missed_ticks'): number | undefined =>
        own?.numbers.get(column)?.[own.rows - 1];
      return {
        node: name,
        state,
        ...stated({ last_sample_seconds: age }),
        ticks: Math.max(agent?.ticks ?? 0, own?.rows ?? 0),
        late_ticks: newest('late_ticks') ?? agent?.late_ticks ?? 0,
        missed_ticks: newest('missed_ticks') ?? agent?.missed_ticks ?? 0,
        unmeasured: agent?.unmeasured.length ?? 0,
        ...(agent?.end_reason === undefined ? {} : { end_reason: agent.end_reason }),
        ...(lost === undefined ? {} : { trouble: lostSamplesText(lost).join('; '), lost_samples: lost }),
      };
    }),
  };
}
