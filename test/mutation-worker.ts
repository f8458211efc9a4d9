import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { code, Fault } from '../src/base/fault.ts';
import { gather } from '../src/judge/facts/gather.ts';
import { report } from '../src/judge/report.ts';
import { operationsOf } from '../src/query/processes/operations.ts';
import { readProcesses } from '../src/query/processes/processes.ts';
import { findRecordings, openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { verifyRecording } from '../src/recording/repair/verify.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { reportJson } from '../src/show/report/json.ts';
import { recordedTables } from '../src/show/table-list.ts';
import { listRecordings } from './made/list-recordings.ts';
import { reportText } from './made/report-text.ts';
import { mutate } from './mutate-recording.ts';

export interface MutationOrder {
  seeds: readonly number[];
  bases: readonly string[];
  /** A folder with a sound recording, `good`, and where damaged ones go. */
  archive: string;
}

export type MutationWord = { seed: number; done?: true; what?: string; wrong?: string };

const { seeds, bases, archive } = workerData as MutationOrder;

/** A fault tells the user what is wrong; anything else is a fault of Tacho's. */
function orFault<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

function look(folder: string): void {
  const recording = orFault(() => openRecording(folder));
  if (recording === undefined) return;
  orFault(() => {
    const card = report(gather(recording, { phases: true }));
    reportText([card]);
    reportJson([card]);
  });
  orFault(() => operationsOf(readProcesses([recording])));
  recordedTables([recording]);
}

/** Rows that can be read of every table of every node. */
function readable(folder: string): Map<string, number> {
  const rows = new Map<string, number>();
  for (const node of orFault(() => openRecording(folder))?.nodes ?? []) {
    for (const table of node.tables.keys())
      rows.set(`${node.name} ${table}`, orFault(() => readTable(node, table).rows) ?? 0);
  }
  return rows;
}

const snapshot = (folder: string): string[] =>
  fs
    .globSync('**/*', { cwd: folder })
    .sort()
    .map((name) => {
      const file = path.join(folder, name);
      return `${name} ${fs.statSync(file).isFile() ? fs.readFileSync(file, 'base64') : ''}`;
    });

function tryOne(seed: number): void {
  const folder = path.join(archive, 'bad');
  fs.rmSync(folder, { recursive: true, force: true });
  fs.cpSync(bases[seed % bases.length]!, folder, { recursive: true, preserveTimestamps: true });
  const what = mutate(folder, seed);
  parentPort!.postMessage({ seed, what } satisfies MutationWord);
  const listed = listRecordings([archive]);
  assert.ok(
    listed.some((each) => path.basename(each.path) === 'good' && each.state === 'ended'),
    'the other recording is not listed',
  );
  assert.ok(
    findRecordings([archive], () => {}).some((each) => path.basename(each.path) === 'good'),
    'the other recording is not found',
  );
  look(folder);
  const before = readable(folder);
  const bytes = snapshot(folder);
  orFault(() => verifyRecording(folder, { dryRun: true }));
  assert.deepEqual(snapshot(folder), bytes, 'a dry run changed something');
  orFault(() => verifyRecording(folder));
  const after = readable(folder);
  for (const [table, rows] of before)
    assert.ok((after.get(table) ?? 0) >= rows, `verify left ${after.get(table)} of ${rows} rows of ${table}`);
  orFault(() => verifyRecording(folder));
  orFault(() => sealRecording(openRecording(folder), { force: true }));
  const sealed = readable(folder);
  for (const [table, rows] of after)
    assert.ok((sealed.get(table) ?? 0) >= rows, `seal left ${sealed.get(table)} of ${rows} rows of ${table}`);
  look(folder);
}

for (const seed of seeds) {
  try {
    tryOne(seed);
    parentPort!.postMessage({ seed, done: true } satisfies MutationWord);
  } catch (error) {
    const errorText = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort!.postMessage({ seed, done: true, wrong: `${code(error) ?? ''} ${errorText}` } satisfies MutationWord);
  }
}
