import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import type { Owner } from '../receive/owner.ts';

const PR_SET_PDEATHSIG = 1;
const RLIMIT_DATA = 2;

/** The first argument of the process that seals. */
export const SEAL_MARK = '--seal-as';

/** What it is told on its standard input. */
export interface SealOrder {
  /** The hub's process. */
  hub: number;
  folder: string;
  nodes: readonly string[];
  /** More it may not take for data. */
  dataBytes: number;
  owner?: Owner;
}

export interface SealAnswer {
  /** Tables that were sealed. */
  tables?: number;
  error?: string;
}

/** Seals as told, for good with the rights of the recording's owner: whatever lies in the folder leads no further. */
export async function runSealWorker(): Promise<void> {
  let sealAnswer: SealAnswer;
  try {
    const order = JSON.parse(fs.readFileSync(0, 'utf8')) as SealOrder;
    const { default: koffi } = await import('koffi');
    const libc = koffi.load('libc.so.6');
    const prctl = libc.func('int prctl(int what, unsigned long how)');
    const setrlimit = libc.func('int setrlimit(int what, const uint64_t *limits)');
    const most = BigInt(order.dataBytes);
    // without it, what is not on JavaScript's heap would have no limit
    if (setrlimit(RLIMIT_DATA, new BigUint64Array([most, most])) !== 0) throw new Error('memory cannot be limited');
    // samples that arrive come first
    os.setPriority(10);
    // the archive is the hub's and may lie where its users cannot go; what is in their folders is entered with their rights
    process.chdir(path.dirname(order.folder));
    if (order.owner !== undefined) {
      process.setgroups!([]);
      process.setgid!(order.owner.gid);
      process.setuid!(order.owner.uid);
    }
    process.chdir(path.basename(order.folder));
    // the next hub may write to what a dead one was sealing
    prctl(PR_SET_PDEATHSIG, os.constants.signals.SIGKILL);
    if (process.ppid !== order.hub) return;
    const recording = openRecording('.');
    recording.nodes = recording.nodes.filter(({ name }) => order.nodes.includes(name));
    const sealed = sealRecording(recording, { force: true });
    sealAnswer = { tables: sealed.reduce((sum, node) => sum + node.tables.length, 0) };
  } catch (error) {
    sealAnswer = { error: reason(error) };
  }
  fs.writeSync(1, JSON.stringify(sealAnswer));
}

if (process.argv[1]?.endsWith('seal-worker.ts') === true && process.argv[2] === SEAL_MARK) void runSealWorker();
