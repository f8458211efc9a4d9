import * as fs from 'node:fs';
import * as path from 'node:path';
import type { NodeRecording } from './open.ts';

/** So many intervals (and at least so many seconds) without a new sample mean that the agent is gone. */
const INTERVALS = 5;
const SECONDS = 30;

/** When the newest sample of a node was written to its live files, in epoch microseconds; undefined: there are none. */
export function newestWrite(node: NodeRecording): number | undefined {
  let newest: number | undefined;
  for (const files of node.tables.values()) {
    const live = files.parts.at(-1);
    if (live === undefined) continue;
    const stat = fs.statSync(path.join(node.folder, live), { throwIfNoEntry: false });
    if (stat !== undefined && !(stat.mtimeMs * 1e3 <= (newest ?? 0))) newest = stat.mtimeMs * 1e3;
  }
  return newest;
}

/** Is the node's agent still writing? It has not said that it ended, and its newest sample is fresh. */
export function isAlive(node: NodeRecording, now = Date.now() * 1000): boolean {
  if (node.agent?.end !== undefined) return false;
  const newest = newestWrite(node);
  if (newest === undefined) return false;
  return now - newest < Math.max(SECONDS, INTERVALS * (node.agent?.interval_seconds ?? 1)) * 1e6;
}
