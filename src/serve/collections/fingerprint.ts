import * as fs from 'node:fs';
import * as path from 'node:path';
import { namesIn } from '../../base/folder.ts';

/** Changes when something was added to a recording, removed from it or replaced: the size and time of every file. */
export function fingerprintOf(folder: string): string {
  const marks = [markOf(path.join(folder, 'job.json'))];
  for (const name of fs.readdirSync(folder)) {
    if (!name.startsWith('node=')) continue;
    const node = path.join(folder, name);
    // it may go away between two looks
    for (const file of namesIn(node)) marks.push(`${name}/${file} ${markOf(path.join(node, file))}`);
  }
  return marks.join('\n');
}

function markOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.size} ${stat.mtimeMs}`;
}
