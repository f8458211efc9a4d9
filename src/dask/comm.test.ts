import assert from 'node:assert/strict';
import * as http from 'node:http';
import * as net from 'node:net';
import { test } from 'node:test';
import { parseScheduler } from './address.ts';
import { Comm, HungUp, WebServer } from './comm.ts';

test('a web server says that it is one when it is greeted first, and is not asked anything', async (t) => {
  const requests: string[] = [];
  const server = http.createServer(({ url = '' }, response) => {
    requests.push(url);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = parseScheduler(`tcp://127.0.0.1:${(server.address() as net.AddressInfo).port}`);
  await assert.rejects(Comm.open(address, {}, { helloFirst: true }), WebServer);
  assert.deepEqual(requests, []);
});

test('who hangs up on a hello is told apart from who does not answer in time', async (t) => {
  const listen = async (hear: (socket: net.Socket) => void): Promise<ReturnType<typeof parseScheduler>> => {
    const server = net.createServer(hear);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    return parseScheduler(`tcp://127.0.0.1:${(server.address() as net.AddressInfo).port}`);
  };
  const open = (address: ReturnType<typeof parseScheduler>): Promise<unknown> =>
    Comm.open(address, {}, { helloFirst: true, limitMs: 300 }).catch((error: unknown) => error);
  const silent = await listen((socket) => void socket.on('error', () => {}).resume());
  assert.ok(!((await open(silent)) instanceof HungUp));
  for (const end of ['end', 'resetAndDestroy'] as const)
    assert.ok((await open(await listen((socket) => socket.once('data', () => socket[end]())))) instanceof HungUp, end);
});
