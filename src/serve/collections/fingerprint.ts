import * as fs from 'node:fs';
import * as path from 'node:path';

/** Changes when something was added to a recording, removed from it or replaced: the size and time of every file. */
export function fingerprintOf(folder: string): string {
  const marks = [markOf(path.join(folder, 'job.json'))];
  for (const name of fs.readdirSync(folder)) {
    if (!name.startsWith('node=')) continue;
    const node = path.join(folder, name);
    for (const file of filesIn(node)) marks.push(`${name}/${file} ${markOf(path.join(node, file))}`);
  }
  return marks.join('\n');
}

function filesIn(node: string): string[] {
  try {
    return fs.readdirSync(node);
  } catch {
    // it went away between two looks
    return [];
  }
}

function markOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.size} ${stat.mtimeMs}`;
}
