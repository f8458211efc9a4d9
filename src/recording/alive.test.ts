import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, diskTable, jobOf, loadTable, makeRecording, START } from '../../test/make-recording.ts';
import { isAlive, newestWrite } from './alive.ts';
import { listRecordings } from './list.ts';
import { type NodeRecording, openRecording } from './open.ts';

/** A recording whose agent has said nothing of its end; its files are as new as a copy's. */
async function crashed(): Promise<{ folder: string; node: NodeRecording }> {
  const folder = await makeRecording({ seconds: 20 });
  const { end: _, end_reason: __, ...agent } = agentOf('c1', [diskTable, loadTable]);
  fs.writeFileSync(path.join(folder, 'node=c1', 'agent.json'), JSON.stringify(agent));
  const { end: ___, ...job } = jobOf({ state: 'running' });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  // a table in which nothing was ever written has no sample to go by
  fs.writeFileSync(path.join(folder, 'node=c1', 'empty.csv'), 'time,value\n');
  return { folder, node: openRecording(folder).nodes[0]! };
}

const LAST = START + 19e6 + (19 % 7) * 11;

test('the newest sample tells its time itself: copying a recording does not bring its agent back', async () => {
  const { folder, node } = await crashed();
  assert.equal(newestWrite(node), LAST);
  assert.deepEqual([isAlive(node, LAST + 5e6), isAlive(node, LAST + 60e6)], [true, false]);
  const [listed] = listRecordings([folder], { now: LAST + 600e6 });
  assert.deepEqual([listed!.state, listed!.end], ['ended', LAST]);
});

test('a file that is older than its samples say counts as old: clocks jump', async () => {
  const { node } = await crashed();
  for (const name of fs.readdirSync(node.folder)) fs.utimesSync(path.join(node.folder, name), 1000, 1000);
  assert.equal(newestWrite(node), 1000e6);
});

test('an agent that has only begun its files is there since it did', async () => {
  const { node } = await crashed();
  for (const name of ['disk.csv', 'load.csv']) fs.writeFileSync(path.join(node.folder, name), 'time,value\n');
  for (const name of fs.readdirSync(node.folder)) fs.utimesSync(path.join(node.folder, name), 1000, 1000);
  assert.equal(newestWrite(node), 1000e6);
});
