import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const FILE = path.join(os.tmpdir(), 'tacho-causes.lock');
/** Of half a second each. */
const MOST_TRIES = 7200;

/** Cases of two runs would take each other's CPUs: waits until no other run is left on this machine. */
export async function oneAtATime(waiting: (pid: number) => void): Promise<void> {
  let reportedOwner: number | undefined;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    if (isTaken()) return void process.on('exit', () => fs.rmSync(FILE, { force: true }));
    const owner = ownerOf();
    if (owner !== undefined && isRunning(owner)) {
      if (reportedOwner !== owner) waiting(owner);
      reportedOwner = owner;
      await sleep(500);
    } else fs.rmSync(FILE, { force: true });
  }
  throw new Error(`process ${reportedOwner} has been running causes for an hour: ${FILE}`);
}

function isTaken(): boolean {
  try {
    fs.writeFileSync(FILE, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function ownerOf(): number | undefined {
  try {
    return Number(fs.readFileSync(FILE, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('causes');
  } catch {
    return false;
  }
}
