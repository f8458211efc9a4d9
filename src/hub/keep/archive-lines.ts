import * as path from 'node:path';
import { isAlive } from '../../recording/folder/alive.ts';
import type { Job } from '../../recording/folder/job.ts';
import { lastTime } from '../../recording/folder/last-time.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import { readStatistics } from '../../recording/sealed/statistics-file.ts';
import type { NodeLine } from '../../sinks/hub/protocol.ts';
import type { Wanted } from '../ask-nodes.ts';
import { nodeFiles } from '../receive/node-files.ts';
import { readReceived } from '../receive/received.ts';

const DAY = /^fleet-\d{4}-\d{2}-\d{2}$/;

/** What a hub would say of an archive, from its files alone; rates are not known. */
export function archiveLines(
  recordings: readonly Recording[],
  wanted: Wanted = {},
  now = Date.now() * 1000,
): NodeLine[] {
  const lines: NodeLine[] = [];
  for (const { job, nodes } of recordings) {
    const kind = DAY.test(job.id) ? 'fleet' : 'job';
    if (wanted.job !== undefined && job.id !== wanted.job) continue;
    if (wanted.user !== undefined && job.user !== wanted.user) continue;
    for (const node of nodes) {
      if (wanted.node !== undefined && node.name !== wanted.node) continue;
      const state =
        node.agent?.end !== undefined || readReceived(node.folder).done === true || job.end !== undefined
          ? 'ended'
          : isAlive(node, now)
            ? 'live'
            : 'late';
      for (const [table, { bytes, changed }] of nodeFiles(node.folder).tables) {
        lines.push({
          node: node.name,
          user: job.user,
          job: job.id,
          kind,
          table,
          newest: newestSample(job, node, table, Math.round(changed * 1000)),
          rows_per_second: Number.NaN,
          bytes_per_second: Number.NaN,
          bytes,
          state,
        });
      }
    }
  }
  return lines;
}

/** When the newest samples of a table were taken. When its files were changed they may have been copied or sealed. */
function newestSample(job: Job, node: NodeRecording, table: string, changed: number): number {
  const { folder, agent } = node;
  const files = node.tables.get(table);
  const live = files?.parts.at(-1);
  const ended = agent?.end === undefined ? undefined : (agent.last_sample ?? agent.end);
  // of an agent that was killed the job's end says less than the table itself
  const measured = (): number | undefined =>
    files?.statistics === undefined
      ? undefined
      : readStatistics(path.join(folder, files.statistics), { columns: new Set() })?.end;
  const taken = live?.endsWith('.csv') ? lastTime(path.join(folder, live)) : undefined;
  const newestKnown = taken ?? ended ?? measured() ?? job.end ?? agent?.last_sample;
  return Math.min(changed, newestKnown || changed);
}
