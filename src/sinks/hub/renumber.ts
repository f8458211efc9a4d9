import * as fs from 'node:fs';
import * as path from 'node:path';
import { partName } from '../../recording/folder/part-name.ts';
import { listParts } from '../../recording/live/file-parts.ts';
import type { Position } from '../../recording/live/position.ts';

/**
 * A hub has more of a stream than this folder has ever told it: the spool was lost (a node without a disk was started
 * again). What is here now gets numbers behind what the hub has, so that nothing is taken for something it has already.
 */
export function renumber(folder: string, tables: Readonly<Record<string, Position>>): void {
  const local = listParts(folder);
  for (const [table, { part: last }] of Object.entries(tables)) {
    const numbered = local.get(table)?.numbered ?? [];
    // from the newest down: no name is taken twice
    for (const { part: filePart, plain, packed } of numbered.toReversed()) {
      const from = path.join(folder, partName(table, filePart));
      const to = path.join(folder, partName(table, filePart + last));
      if (packed) fs.renameSync(`${from}.zst`, `${to}.zst`);
      else if (plain) fs.renameSync(from, to);
      if (packed && plain) fs.rmSync(from, { force: true });
    }
    // an empty part keeps the number for the live one
    if (numbered.length === 0) fs.writeFileSync(path.join(folder, partName(table, last)), '', { mode: 0o600 });
  }
}
