import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../src/base/fault.ts';
import { startHub } from '../src/hub/hub.ts';
import type { Gatekeeper } from '../src/trust/identity.ts';
import { agentOf, Client, jobOf } from './hub/hub-process.ts';
import { temporaryFolder } from './tacho.ts';

// what an administrator reads in the log of a hub

async function started(t: TestContext, gatekeeper?: Gatekeeper) {
  const archive = temporaryFolder(t);
  const told: string[] = [];
  const hub = await startHub({
    listen: '127.0.0.1:0',
    archive,
    tell: (text) => void told.push(text),
    ...(gatekeeper === undefined ? {} : { gatekeeper }),
  });
  const client = new Client(hub.address);
  t.after(async () => {
    client.close();
    await hub.close();
  });
  return { archive, told, hub, client };
}

test('who is refused is told with the address and why; what is no HTTP too', async (t) => {
  const gatekeeper: Gatekeeper = {
    method: 'token',
    identify: () => Promise.resolve({ kind: 'node', nodes: ['c1'] }),
  };
  const { told, hub, client } = await started(t, gatekeeper);
  await client.begin('Token t', 'c1');
  for (let i = 0; i < 3; i++) {
    const { status } = await client.open({ node: 'c2', job: jobOf('7', ['c2']), agent: agentOf('c2') });
    assert.equal(status, 403);
  }
  assert.deepEqual(told, ['refused 127.0.0.1: c1: you may not write as node c2']);
  const { port } = new URL(hub.address);
  const socket = net.connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  socket.end(Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3]));
  for (let i = 0; i < 3000 && told.length < 2; i++) await pause(20);
  assert.match(told[1] ?? '', /refused 127\.0\.0\.1: it speaks TLS, this hub plain HTTP/);
});

test('a hub that cannot find out who anybody is says so when it starts', async (t) => {
  const { told } = await started(t, {
    method: 'munge',
    identify: () => Promise.reject(new Error('no')),
    trouble: () => Promise.resolve('MUNGE cannot be used: Failed to access "/nonexist"'),
  });
  await pause(0);
  assert.match(told[0] ?? '', /nobody can prove who they are, so all are refused: MUNGE cannot be used/);
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
