import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHub } from '../src/hub/hub.ts';
import { openGatekeeper } from '../src/trust/gatekeeper.ts';
import { eventually } from './made/eventually.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

test('the agent of an idle node says, long before its next tick, that the hub refuses it; once', async (t) => {
  const folder = temporaryFolder(t);
  const key = path.join(folder, 'key');
  assert.equal(tacho(['token', 'key', key]).code, 0);
  const token = path.join(folder, 'c1.token');
  fs.writeFileSync(token, tacho(['token', 'node', 'c1', '--trust-key-file', key]).out, { mode: 0o600 });
  const gatekeeper = await openGatekeeper({ method: 'token', keyFile: key }, async (uid) => `${uid}`);
  const hub = await startHub({ listen: '127.0.0.1:0', archive: path.join(folder, 'archive'), gatekeeper });
  t.after(() => hub.close());
  const folderOptions = ['--spool', path.join(folder, 'spool'), '--jobs', path.join(folder, 'jobs'), '--hooks-only'];
  const trust = ['--hub', hub.address, '--trust', 'token', '--trust-token-file', token];
  const agent = spawn(TACHO, ['agent', ...folderOptions, ...trust, '--node', 'c2', '--idle-interval', '1h'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => agent.kill('SIGKILL'));
  let log = '';
  agent.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  await eventually(
    () => `a refusal in: ${log}`,
    () => log.includes('refuses'),
  );
  assert.match(log, /refuses fleet-[\d-]+: you may not write as node c2/);
  await sleep(2500);
  assert.equal(log.split('refuses').length, 2, log);
  const ended = new Promise((resolve) => agent.once('exit', resolve));
  agent.kill('SIGTERM');
  await ended;
});
