import * as fs from 'node:fs';
import * as os from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { code, Fault } from '../../base/fault.ts';

/** Who holds a lock renews it: one that is older was left by somebody who was killed, perhaps on another machine. */
const STALE_MS = 60_000;
const RENEW_MS = 10_000;
const PAUSE_MS = 20;
const PATIENCE_MS = 600_000;

/** Does something while nobody else changes the index. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  await take(file);
  const renew = setInterval(() => {
    const now = new Date();
    fs.utimes(file, now, now, () => {});
  }, RENEW_MS);
  renew.unref();
  try {
    return await work();
  } finally {
    clearInterval(renew);
    fs.rmSync(file, { force: true });
  }
}

async function take(file: string): Promise<void> {
  const own = JSON.stringify({ pid: process.pid, host: os.hostname() });
  const begun = performance.now();
  for (;;) {
    try {
      fs.writeFileSync(file, own, { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      if (code(error) !== 'EEXIST') throw error;
    }
    if (isLeft(file)) fs.rmSync(file, { force: true });
    else if (performance.now() - begun > PATIENCE_MS)
      throw new Fault(`cannot change the index: somebody else has held ${file} for ten minutes`, {
        hint: 'if no tacho index runs anywhere, remove that file',
      });
    else await pause(PAUSE_MS);
  }
}

function isLeft(file: string): boolean {
  try {
    if (Date.now() - fs.lstatSync(file).mtimeMs > STALE_MS) return true;
    const { pid, host } = JSON.parse(fs.readFileSync(file, 'utf8')) as { pid: number; host: string };
    if (host !== os.hostname()) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return code(error) === 'ESRCH';
  }
}
