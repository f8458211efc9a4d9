import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { listRecordings } from '../../../test/made/list-recordings.ts';
import { agentOf, diskTable, jobOf, loadTable, makeRecording, START } from '../../../test/make-recording.ts';
import { verifyRecording } from '../repair/verify.ts';
import { sealRecording } from '../sealed/seal.ts';
import { isAlive, newestWrite } from './alive.ts';
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

test('an agent that has its files open is there, wherever the clock was set to; sealing and mending wait for it', async (t) => {
  const { folder, node } = await crashed();
  const file = path.join(node.folder, 'load.csv');
  const agent = JSON.parse(fs.readFileSync(path.join(node.folder, 'agent.json'), 'utf8'));
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore', fs.openSync(file, 'a')],
  });
  t.after(() => child.kill('SIGKILL'));
  const record = { ...agent, pid: child.pid, facts: { ...agent.facts, hostname: os.hostname() } };
  fs.writeFileSync(path.join(node.folder, 'agent.json'), JSON.stringify(record));
  const now = LAST + 3600e6;
  const [held] = openRecording(folder).nodes;
  assert.equal(isAlive(held!, now), true);
  assert.equal(sealRecording(openRecording(folder), { now })[0]!.skipped, 'its agent is still recording');
  fs.appendFileSync(file, '17');
  verifyRecording(folder, { now });
  assert.match(fs.readFileSync(file, 'latin1'), /\n17$/, 'a line that it may be about to finish stays');
  // a copy is nobody's
  const copy = `${folder}-copy`;
  fs.cpSync(folder, copy, { recursive: true });
  t.after(() => fs.rmSync(copy, { recursive: true }));
  assert.equal(isAlive(openRecording(copy).nodes[0]!, now), false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(isAlive(held!, now), false);
});

test('an agent that has only begun its files is there since it did', async () => {
  const { node } = await crashed();
  for (const name of ['disk.csv', 'load.csv']) fs.writeFileSync(path.join(node.folder, name), 'time,value\n');
  for (const name of fs.readdirSync(node.folder)) fs.utimesSync(path.join(node.folder, name), 1000, 1000);
  assert.equal(newestWrite(node), 1000e6);
});
