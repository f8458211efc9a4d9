import * as fs from 'node:fs';
import * as path from 'node:path';
import { nodeName } from '../../recording/folder/node-folder.ts';

/** What a recording looks like from outside: its job.json, and when the folder of each node was last changed. */
export function stampOf(folder: string, names: readonly string[]): string {
  const job = fs.statSync(path.join(folder, 'job.json'), { throwIfNoEntry: false });
  let [nodes, newest] = [0, 0];
  for (const name of names) {
    if (nodeName(name) === undefined) continue;
    nodes++;
    newest = Math.max(newest, fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  }
  return [job?.mtimeMs ?? 0, job?.size ?? 0, nodes, newest].map((each) => Math.round(each).toString(36)).join('.');
}
