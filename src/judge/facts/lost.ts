import type { Material } from '../../query/material.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { allLost, type LostSamples } from '../../recording/folder/lost-samples.ts';
import type { NodeLostSamples } from '../report-schema.ts';

/** Why samples are missing that were taken, but could not be sent for too long. */
export const SPOOL_FULL = 'the node’s spool was full before they could be sent';

/** Samples that were taken and are not in the recording: the disk refused them, or a spool had to give them up. */
export function lostOf({ nodes, job }: Pick<Material, 'nodes' | 'job'>): NodeLostSamples[] {
  return nodes.flatMap(({ agent }) => {
    if (agent === undefined) return [];
    const over = agent.end !== undefined || job.end !== undefined;
    const refused = agent.lost_samples ?? [];
    return [...(over ? allLost(refused) : refused), ...givenUp(agent)].map((lost) => ({ node: agent.node, ...lost }));
  });
}

/** What a full spool had to give up, a line a table. */
function givenUp(agent: AgentRecord): LostSamples[] {
  const rows = new Map<string, number>();
  for (const each of agent.dropped ?? []) rows.set(each.table, (rows.get(each.table) ?? 0) + each.rows);
  return [...rows].flatMap(([table, lost]) => (lost > 0 ? [{ table, rows: lost, why: SPOOL_FULL }] : []));
}
