import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/tacho.ts';
import { CONTROL_FILE, controlOf, listenForControl } from './control.ts';
import { findMonitor } from './find-monitor.ts';

/** A folder in which a process has listened that was killed. */
function killedMonitor(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-dask-'));
  const script = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script, path.join(folder, 's')]);
  return folder;
}

test('the folder of a monitor that was killed is removed by the next one; that of one that listens stays', async (t) => {
  const [killed, young] = [killedMonitor(), killedMonitor()];
  t.after(() => fs.rmSync(young, { recursive: true, force: true }));
  const facts = { scheduler: 'tcp://10.0.0.1:8786', way: 'feed' };
  const reply = async () => ({ ok: true });
  const recording = temporaryFolder(t);
  t.after(await listenForControl(recording, facts, reply));
  const listening = path.dirname(controlOf(recording)!.socket);
  const long = new Date(Date.now() - 3_600_000);
  for (const folder of [killed, listening]) fs.utimesSync(folder, long, long);
  t.after(await listenForControl(temporaryFolder(t), facts, reply));
  assert.ok(!fs.existsSync(killed), 'it was killed');
  assert.ok(fs.existsSync(young), 'it may not listen yet');
  assert.ok(fs.existsSync(listening), 'it listens');
});

test('who asks a monitor from another host is sent there', async (t) => {
  const recording = temporaryFolder(t);
  const file = path.join(recording, CONTROL_FILE);
  t.after(
    await listenForControl(recording, { scheduler: 'tcp://10.0.0.1:8786', way: 'feed' }, async () => ({ ok: true })),
  );
  assert.equal(findMonitor(recording).control.pid, process.pid);
  fs.writeFileSync(file, JSON.stringify({ ...controlOf(recording), host: 'c17' }));
  assert.throws(() => findMonitor(recording), /the monitor of .* runs on c17/);
});

test('a monitor is found in the folder that recordings are made in', async (t) => {
  const folder = temporaryFolder(t);
  const recording = path.join(folder, 'run7');
  fs.mkdirSync(recording);
  t.after(
    await listenForControl(recording, { scheduler: 'tcp://10.0.0.1:8786', way: 'feed' }, async () => ({ ok: true })),
  );
  assert.throws(() => findMonitor(undefined, [temporaryFolder(t)]), /no monitor is attached/);
  // one recording is one monitor, however often its folder is named
  assert.equal(findMonitor(undefined, [recording, folder]).folder, recording);
});
