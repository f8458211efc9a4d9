import assert from 'node:assert/strict';
import * as net from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
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
  for (let i = 0; i < 100 && told.length < 2; i++) await pause(20);
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
