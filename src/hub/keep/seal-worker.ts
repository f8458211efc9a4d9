import * as fs from 'node:fs';
import * as path from 'node:path';
import { confine } from '../../base/confine.ts';
import { reason } from '../../base/fault.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import type { Owner } from '../receive/owner.ts';

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
    const { hub: parent, dataBytes, owner } = order;
    if (!(await confine({ parent, folder: path.dirname(order.folder), dataBytes, owner }))) return;
    // what is in the folders of users is entered with their rights
    process.chdir(path.basename(order.folder));
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
