import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import * as net from 'node:net';
import { type TestContext, test } from 'node:test';
import { startHub } from '../src/hub/hub.ts';
import type { Gatekeeper } from '../src/trust/identity.ts';
import { Client, HEADER, jobOf, rows } from './hub/hub-process.ts';
import { eventually } from './made/eventually.ts';
import { temporaryFolder } from './tacho.ts';

// users cannot take what agents need, and the log says who tried

/** Believes what the credential says. */
const GATEKEEPER: Gatekeeper = {
  method: 'token',
  async identify(authorization) {
    const [kind, name = ''] = authorization!.slice('Token '.length).split(':');
    return kind === 'node' ? { kind, nodes: [name] } : { kind: 'user', user: name, uid: 65534 };
  },
};

const HALF_A_SESSION = 'POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf';

async function started(t: TestContext) {
  const messages: string[] = [];
  const archive = temporaryFolder(t);
  const tell = (text: string) => void messages.push(text);
  const hub = await startHub({ listen: '127.0.0.1:0', archive, gatekeeper: GATEKEEPER, usersWrite: true, tell });
  const sockets: net.Socket[] = [];
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await hub.close();
  });
  const connect = async (who: string): Promise<Client> => {
    const client = new Client(hub.address);
    t.after(() => client.close());
    const [kind, name] = who.split(':');
    const { status } = await client.begin(`Token ${who}`, kind === 'node' ? name : undefined);
    assert.equal(status, 200);
    return client;
  };
  const halfOpen = async (count: number, request = HALF_A_SESSION): Promise<net.Socket[]> => {
    const opened = Array.from({ length: count }, () => net.connect(Number(new URL(hub.address).port), '127.0.0.1'));
    sockets.push(...opened);
    for (const socket of opened) {
      socket.on('error', () => {});
      socket.resume();
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(request);
    }
    return opened;
  };
  return { messages, hub, connect, halfOpen };
}

test('half-open connections keep no agent out: the oldest of them is closed, and that is told', async (t) => {
  const { messages, connect, halfOpen } = await started(t);
  const before = await connect('node:c1');
  const { stream } = (await before.open({ node: 'c1', job: jobOf('1', ['c1']) })).body;
  const held = await halfOpen(200);
  const open = (): number => held.filter((socket) => !socket.destroyed).length;
  await eventually(
    () => `64 open connections of ${open()}`,
    () => open() <= 64,
  );
  assert.equal(open(), 64);
  // the one that is there, and one that comes anew
  const text = HEADER + rows(0, 3);
  assert.deepEqual((await before.append([stream, 'loadavg', 1, 0, text])).body.have, [
    [stream, 'loadavg', 1, text.length],
  ]);
  const fresh = await connect('node:c1');
  assert.equal((await fresh.open({ node: 'c1', job: jobOf('2', ['c1']) })).status, 200);
  assert.deepEqual(messages, [
    'refused 127.0.0.1: more than 64 connections that have not proved who they are: the oldest is closed',
  ]);
});

test('a user opens a bounded number of recordings; nodes go on', async (t) => {
  const { messages, connect } = await started(t);
  const eve = await connect('user:nobody');
  const node = await connect('node:c1');
  const statuses = new Map<number, number>();
  let refusalText: string | undefined;
  for (let i = 0; i < 2000; i++) {
    const { status, body } = await eve.open({ node: `n${i}`, job: jobOf(`${i % 4}`, [`n${i}`]) });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 429) refusalText = body.error;
    if (i % 400 === 0) {
      const job = jobOf(`x${i}`, ['c1'], { user: 'ada', uid: 54322 });
      assert.equal((await node.open({ node: 'c1', job })).status, 200);
    }
  }
  assert.deepEqual([...statuses.keys()].sort(), [200, 429]);
  // 300 at once, 5 a second while the test lasts
  assert.ok(statuses.get(200)! >= 300 && statuses.get(200)! <= 1000, `${statuses.get(200)} were opened`);
  assert.match(refusalText!, /user nobody has opened more than 300 recordings within a short time/);
  assert.match(messages[0]!, /^refused 127\.0\.0\.1: nobody: user nobody has opened more than 300 recordings/);
});

test('what users and strangers announce to send leaves room for what agents send', async (t) => {
  const { messages, hub, connect, halfOpen } = await started(t);
  const node = await connect('node:c1');
  const { stream } = (await node.open({ node: 'c1', job: jobOf('1', ['c1']) })).body;
  const eve = new Client(hub.address);
  t.after(() => eve.close());
  const { session } = (await eve.begin('Token user:nobody')).body;
  const post = (path: string, bytes: number, more = ''): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}Content-Length: ${bytes}\r\n\r\nhalf`;
  await halfOpen(40, post('/v1/append', 8 << 20, `Authorization: Bearer ${session}\r\n`));
  await halfOpen(40, post('/v1/session', 64 << 10));
  const isRefused = (why: RegExp): boolean => messages.some((text) => why.test(text));
  const bounds = [/nobody: too much at once/, /more than 4096 bytes/];
  await eventually(
    () => `both refusals in:\n${messages.join('\n')}`,
    () => bounds.every(isRefused),
  );
  assert.deepEqual(bounds.map(isRefused), [true, true], messages.join('\n'));
  const text = HEADER + randomBytes(200_000).toString('hex');
  const { status, body } = await node.append([stream, 'loadavg', 1, 0, text]);
  assert.deepEqual([status, body.have], [200, [[stream, 'loadavg', 1, text.length]]]);
});

test('a user asks what arrives so often, and others get their answers', async (t) => {
  const { hub } = await started(t);
  const ask = async (user: string): Promise<() => Promise<number>> => {
    const client = new Client(hub.address);
    t.after(() => client.close());
    const { session } = (await client.begin(`Token user:${user}`)).body;
    const headers = { authorization: `Bearer ${session}` };
    return async () => (await fetch(`${hub.address}/v1/nodes`, { headers })).status;
  };
  const [eve, ada] = [await ask('eve'), await ask('ada')];
  const statuses = await Promise.all(Array.from({ length: 60 }, eve));
  assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
  assert.equal(await ada(), 200);
});
