import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../src/base/fault.ts';
import { startHub } from '../src/hub/hub.ts';
import type { Gatekeeper } from '../src/trust/identity.ts';
import { agentOf, Client, jobOf, startHubProcess } from './hub/hub-process.ts';
import { eventually } from './made/eventually.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

// what an administrator reads in the log of a hub

async function started(t: TestContext, gatekeeper?: Gatekeeper) {
  const archive = temporaryFolder(t);
  const messages: string[] = [];
  const hub = await startHub({
    listen: '127.0.0.1:0',
    archive,
    tell: (text) => void messages.push(text),
    ...(gatekeeper === undefined ? {} : { gatekeeper }),
  });
  const client = new Client(hub.address);
  t.after(async () => {
    client.close();
    await hub.close();
  });
  return { archive, messages, hub, client };
}

test('who is refused is told with the address and why; what is no HTTP too', async (t) => {
  const gatekeeper: Gatekeeper = {
    method: 'token',
    identify: () => Promise.resolve({ kind: 'node', nodes: ['c1'] }),
  };
  const { messages, hub, client } = await started(t, gatekeeper);
  await client.begin('Token t', 'c1');
  for (let i = 0; i < 3; i++) {
    const { status } = await client.open({ node: 'c2', job: jobOf('7', ['c2']), agent: agentOf('c2') });
    assert.equal(status, 403);
  }
  assert.deepEqual(messages, ['refused 127.0.0.1: c1: you may not write as node c2']);
  const { port } = new URL(hub.address);
  const socket = net.connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  socket.end(Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3]));
  await eventually('the second refusal', () => messages.length >= 2);
  assert.match(messages[1] ?? '', /refused 127\.0\.0\.1: it speaks TLS, this hub plain HTTP/);
});

test('a hub that cannot find out who anybody is says so when it starts', async (t) => {
  const { messages } = await started(t, {
    method: 'munge',
    identify: () => Promise.reject(new Error('no')),
    trouble: () => Promise.resolve('MUNGE cannot be used: Failed to access "/nonexist"'),
  });
  await pause(0);
  assert.match(messages[0] ?? '', /nobody can prove who they are, so all are refused: MUNGE cannot be used/);
});

test('tokens without TLS are warned about, by the hub and by the agent; not on loopback', async (t) => {
  const folder = temporaryFolder(t);
  const key = path.join(folder, 'key');
  assert.equal(tacho(['token', 'key', key]).code, 0);
  const trust = ['--trust', 'token', '--trust-key-file', key];
  const warning = /tokens travel without TLS/;
  const open = await startHubProcess(t, path.join(folder, 'a'), [...trust, '--listen', '0.0.0.0:0']);
  await eventually('the warning', () => warning.test(open.outputText()));
  const closed = await startHubProcess(t, path.join(folder, 'b'), trust);
  assert.doesNotMatch(closed.outputText(), warning);
  const token = path.join(folder, 'token');
  const made = tacho(['token', 'node', 'c1', '--trust-key-file', key, '--expires', '2d']);
  const expiry = Number(/^node:c1:(\d+)\./.exec(made.out)![1]);
  assert.ok(Math.abs(expiry - Date.now() / 1000 - 2 * 86_400) < 600, made.out);
  assert.match(
    tacho(['token', 'node', 'c1', '--trust-key-file', key, '--expires', 'never']).out,
    /^node:c1\.[\w-]+\n$/,
  );
  fs.writeFileSync(token, made.out, { mode: 0o600 });
  const agent = spawn(
    TACHO,
    [
      ...['agent', '--spool', path.join(folder, 'spool'), '--jobs', path.join(folder, 'jobs'), '--node', 'c1'],
      ...['--trust', 'token', '--trust-token-file', token, '--hub', 'hub.invalid:8471', '--hub', closed.address],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  t.after(() => agent.kill('SIGKILL'));
  let output = '';
  agent.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  await eventually('the agent speaks', () => output.includes('records c1'));
  assert.match(output.replaceAll(/\s+/g, ' '), /hub hub.invalid:8471: the token travels without TLS/);
  assert.doesNotMatch(output, /127.0.0.1:\d+: the token travels/);
  // two days are soon over
  tacho(['nodes', closed.address, '--trust', 'token', '--trust-token-file', token]);
  await eventually('the hub asks for a new one', () =>
    /token of node c1 expires in (1 d 23|2 d 00) h/.test(closed.outputText()),
  );
});

test('what cannot be listened on, and what cannot be an archive, is wrong use', async (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  const recording = path.join(folder, 'recording');
  fs.mkdirSync(recording);
  fs.writeFileSync(path.join(recording, 'job.json'), JSON.stringify(jobOf('7', ['c1'])));
  const refused = (listen: string, archive: string) =>
    startHub({ listen, archive }).then(
      () => assert.fail(`${listen} ${archive}`),
      (error) => [(error as Fault).message.replaceAll(folder, ''), (error as Fault).exit],
    );
  assert.deepEqual(await refused('nonsense', path.join(folder, 'a')), ['"nonsense" is no HOST:PORT to listen on', 2]);
  assert.ok(!fs.existsSync(path.join(folder, 'a')));
  const free = '127.0.0.1:0';
  assert.deepEqual(await refused(free, file), ['/file is a file: an archive is a folder', 2]);
  assert.deepEqual(await refused(free, path.join(file, 'a')), ['cannot use /file/a as archive: not a folder', 1]);
  assert.deepEqual(await refused(free, recording), ['/recording cannot be an archive: it is a recording', 2]);
  assert.deepEqual(await refused(free, path.join(recording, 'a/b')), [
    '/recording/a/b cannot be an archive: /recording is a recording',
    2,
  ]);
  assert.deepEqual(fs.readdirSync(recording), ['job.json']);
});
