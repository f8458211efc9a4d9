import * as path from 'node:path';
import type { Recording } from './open.ts';

/** Nodes that recorded, and whose agent.json is gone. */
export function lostRecords({ nodes, troubles }: Recording): string[] {
  return nodes.flatMap(({ agent, folder, tables }) => {
    const file = path.join(folder, 'agent.json');
    const isExplained =
      agent !== undefined || tables.size === 0 || troubles.some((troubleText) => troubleText.includes(file));
    return isExplained ? [] : [`cannot read ${file}: it is missing`];
  });
}
