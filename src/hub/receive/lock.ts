import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { loadFlock } from '../../recording/live/watching.ts';

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Two hubs in one archive would write into each other's files. The kernel gives the lock back when the hub is killed. */
export async function takeLock(archive: string): Promise<() => void> {
  const flock = await loadFlock();
  const fd = fs.openSync(path.join(archive, '.hub'), fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600);
  if (flock(fd, LOCK_EX | LOCK_NB) !== 0) {
    fs.closeSync(fd);
    throw new Fault(`another hub is using ${archive}`, { hint: 'stop that one first, or choose another archive' });
  }
  return () => fs.closeSync(fd);
}
