import * as fs from 'node:fs';
import * as os from 'node:os';
import * as readline from 'node:readline';
import { groupOf } from '../../recording/folder/as-owner.ts';
import type { Entry } from './entry.ts';
import type { Found } from './summarise-one.ts';

const PR_SET_PDEATHSIG = 1;
const RLIMIT_DATA = 2;

/** The first argument of the process that summarises recordings for an index. */
export const SUMMARISE_MARK = '--summarise-as';

/** The first line of what it is told on its standard input; each other line is a recording (`Found`). */
export interface SummariseOrder {
  /** The process that has started it. */
  parent: number;
  archive: string;
  /** More it may not take for data. */
  dataBytes: number;
  /** The user with whose rights it works; not there: with ours. */
  owner?: number;
  /** The folder below the archive that gets an index of its own, for its owner to read. */
  ownIndex?: string;
}

type ChangeIndex = typeof import('./index-writer.ts').changeIndex;

/** So many are filed at once in the index of their owner. */
const AT_ONCE = 500;

/** Answers every line with a line: an entry of the index. Whatever lies in a recording leads no further than its owner can go. */
export async function runSummariseWorker(): Promise<void> {
  const lines = readline.createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  let order: SummariseOrder | undefined;
  // the owner may not read what Tacho is made of: it is loaded before
  const [{ summariseOne }, { changeIndex }] = await Promise.all([
    import('./summarise-one.ts'),
    import('./index-writer.ts'),
  ]);
  const file = (folder: string, entries: readonly Entry[]): Promise<void> => fileOwn(changeIndex, folder, entries);
  const own: Entry[] = [];
  for await (const line of lines) {
    if (order === undefined) {
      order = JSON.parse(line) as SummariseOrder;
      await confine(order);
      continue;
    }
    const entry = summariseOne('.', JSON.parse(line) as Found);
    fs.writeSync(1, `${JSON.stringify(entry)}\n`);
    if (order.ownIndex !== undefined && own.push(entry) >= AT_ONCE) await file(order.ownIndex, own.splice(0));
  }
  if (order?.ownIndex !== undefined) await file(order.ownIndex, own);
}

async function confine({ parent, archive, dataBytes, owner }: SummariseOrder): Promise<void> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load('libc.so.6');
  const prctl = libc.func('int prctl(int what, unsigned long how)');
  const setrlimit = libc.func('int setrlimit(int what, const uint64_t *limits)');
  const most = BigInt(dataBytes);
  if (setrlimit(RLIMIT_DATA, new BigUint64Array([most, most])) !== 0) throw new Error('memory cannot be limited');
  os.setPriority(10);
  // the archive may lie where its users cannot go; what is in their folders is entered with their rights
  process.chdir(archive);
  if (owner !== undefined) {
    process.setgroups!([]);
    process.setgid!(groupOf(owner));
    process.setuid!(owner);
  }
  prctl(PR_SET_PDEATHSIG, os.constants.signals.SIGKILL);
  if (process.ppid !== parent) process.exit(1);
}

/** The same entries for the owner alone, below their own folder. */
async function fileOwn(changeIndex: ChangeIndex, folder: string, entries: readonly Entry[]): Promise<void> {
  try {
    await changeIndex(folder, (index) => index.change(entries.map((entry) => below(folder, entry))));
  } catch (error) {
    // what a user does to an index of their own is nobody else's trouble
    process.stderr.write(`${(error as Error).message}\n`);
  }
}

/** In the owner's index paths begin in the owner's folder. */
function below(folder: string, { id, summaries, ...rest }: Entry): Entry {
  const own = id.slice(folder.length + 1);
  if (summaries === undefined) return { id: own, ...rest };
  const moved = Object.entries(summaries).map(([table, rows]: [string, object[]]) => [
    table,
    rows.map((row) => ({ ...row, recording: own })),
  ]);
  return { id: own, ...rest, summaries: Object.fromEntries(moved) };
}

if (process.argv[1]?.endsWith('summarise-worker.ts') === true && process.argv[2] === SUMMARISE_MARK)
  void runSummariseWorker();
