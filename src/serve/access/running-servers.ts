import * as fs from 'node:fs';
import * as path from 'node:path';
import { makeFolder } from '../../base/folder.ts';
import { stateFolder } from './kept-token.ts';

/** Pages of this user that are served now: commands find them by a file that only the user can read. */
const folderOf = (env: NodeJS.ProcessEnv): string | undefined => {
  const state = stateFolder(env);
  return state === undefined ? undefined : path.join(state, 'serving');
};

/** Notes where this process serves; returns what takes the note away. Without a home there is none. */
export function noteServer(url: string, env: NodeJS.ProcessEnv = process.env): () => void {
  const folder = folderOf(env);
  if (folder === undefined) return () => {};
  const file = path.join(folder, String(process.pid));
  try {
    makeFolder(folder);
    fs.writeFileSync(file, `${url}\n`, { mode: 0o600 });
  } catch {
    // a home that cannot be written: --server names the page
    return () => {};
  }
  return () => fs.rmSync(file, { force: true });
}

/** The addresses, each with its token. What a server that was killed has left is removed. */
export function runningServers(env: NodeJS.ProcessEnv = process.env): string[] {
  const folder = folderOf(env);
  if (folder === undefined || !fs.existsSync(folder)) return [];
  return fs.readdirSync(folder).flatMap((name) => {
    const file = path.join(folder, name);
    if (isServing(Number(name))) return [fs.readFileSync(file, 'utf8').trim()];
    fs.rmSync(file, { force: true });
    return [];
  });
}

function isServing(pid: number): boolean {
  try {
    return Number.isInteger(pid) && pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}
