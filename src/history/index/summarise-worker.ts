import * as fs from 'node:fs';
import * as os from 'node:os';
import * as readline from 'node:readline';
import type { RuleSettings, WrittenRules } from '../../judge/rules/shared/settings.ts';
import { groupOf } from '../../recording/folder/as-owner.ts';
import type { Accounted } from './accounting-store.ts';
import type { Entry } from './entry.ts';
import type { UnindexedRecording } from './summarise-one.ts';

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
  /** The other lines are what accounting knows of the owner's jobs (`Accounted`), for that index alone. */
  accounting?: true;
  rules?: WrittenRules;
}

/** Number of rows filed at once in the index of their owner. */
const AT_ONCE = 500;

/** Answers every line with a line: an entry of the index. Whatever lies in a recording leads no further than its owner can go. */
export async function runSummariseWorker(): Promise<void> {
  const lines = readline.createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  let order: SummariseOrder | undefined;
  let rules: RuleSettings | undefined;
  // the owner may not read what Tacho is made of: it is loaded before
  const [{ summariseOne }, { fileOwnEntries, fileOwnAccounting }, { readRules }] = await Promise.all([
    import('./summarise-one.ts'),
    import('./own-index.ts'),
    import('../../judge/rules/shared/settings.ts'),
  ]);
  const own: Entry[] = [];
  const runs: Accounted[] = [];
  for await (const line of lines) {
    if (order === undefined) {
      order = JSON.parse(line) as SummariseOrder;
      rules = order.rules && readRules(order.rules);
      await confine(order);
      continue;
    }
    if (order.accounting === true) {
      runs.push(JSON.parse(line) as Accounted);
      continue;
    }
    const entry = summariseOne('.', JSON.parse(line) as UnindexedRecording, rules);
    fs.writeSync(1, `${JSON.stringify(entry)}\n`);
    if (order.ownIndex !== undefined && own.push(entry) >= AT_ONCE) await fileOwnEntries(order.ownIndex, own.splice(0));
  }
  if (order?.ownIndex === undefined) return;
  if (order.accounting === true) await fileOwnAccounting(order.ownIndex, runs);
  else await fileOwnEntries(order.ownIndex, own);
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

if (process.argv[1]?.endsWith('summarise-worker.ts') === true && process.argv[2] === SUMMARISE_MARK)
  void runSummariseWorker();
