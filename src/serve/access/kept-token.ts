import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { code } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { readSecret } from '../../trust/token.ts';

const BYTES = 24;

const newToken = (): string => randomBytes(BYTES).toString('base64url');

/** Where this user's pages keep what outlives a server; undefined: there is no home to keep it in. */
export function stateFolder(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const home = env.HOME || os.homedir();
  const state = env.XDG_STATE_HOME || (home ? path.join(home, '.local/state') : undefined);
  return state === undefined ? undefined : path.join(state, 'tacho');
}

/**
 * The token of this user's pages, from a file that only they can read: pages that are open find a server that was started
 * again, and links stay good. Without a home to keep it in, a new one.
 */
export function keptToken(env: NodeJS.ProcessEnv = process.env): string {
  const folder = stateFolder(env);
  if (folder === undefined) return newToken();
  const file = path.join(folder, 'serve-token');
  try {
    makeFolder(folder);
    fs.writeFileSync(file, `${newToken()}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    // a home that cannot be written keeps nothing
    if (code(error) !== 'EEXIST') return newToken();
  }
  const token = readSecret(file, 'the token of tacho serve', `remove ${file}: a new one is made`).trim();
  return token.length >= BYTES ? token : newToken();
}
