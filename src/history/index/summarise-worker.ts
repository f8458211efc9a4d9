import * as fs from 'node:fs';
import * as readline from 'node:readline';
import { confine } from '../../base/confine.ts';
import type { RuleSettings, WrittenRules } from '../../judge/rules/shared/settings.ts';
import { groupOf } from '../../recording/folder/as-owner.ts';
import type { Accounted } from './accounting-store.ts';
import type { Entry } from './entry.ts';
import type { UnindexedRecording } from './summarise-one.ts';

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
      const { parent, archive: folder, dataBytes, owner: uid } = order;
      const owner = uid === undefined ? undefined : { uid, gid: groupOf(uid) };
      if (!(await confine({ parent, folder, dataBytes, owner }))) process.exit(1);
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

if (process.argv[1]?.endsWith('summarise-worker.ts') === true && process.argv[2] === SUMMARISE_MARK)
  void runSummariseWorker();
