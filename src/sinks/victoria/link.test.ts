import assert from 'node:assert/strict';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { eventually } from '../../../test/made/eventually.ts';
import { VictoriaLink } from './link.ts';

interface Fake {
  url: string;
  /** What /metrics says; undefined: there is none. */
  started: number | undefined;
  status: number;
  bodies: string[];
  authorization: string | undefined;
  /** Ends all connections, as a process that is killed does. */
  drop(): void;
}

async function fake(t: TestContext): Promise<Fake> {
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      it.authorization = request.headers.authorization;
      if (request.url === '/metrics') {
        response.writeHead(it.started === undefined ? 404 : 200);
        response.end(it.started === undefined ? 'no' : `a 1\nprocess_start_time_seconds ${it.started}\nz 2\n`);
      } else if (request.url === '/api/v1/import') {
        it.bodies.push(gunzipSync(Buffer.concat(chunks)).toString());
        response.writeHead(it.status).end(it.status === 204 ? undefined : 'the disk is full\n');
      } else response.end('OK');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const it: Fake = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    started: 1000,
    status: 204,
    bodies: [],
    authorization: undefined,
    drop: () => server.closeAllConnections(),
  };
  return it;
}

/** The client hears of a closed connection a moment later: when it has looked, however late timers are. */
async function heard(): Promise<void> {
  await sleep(50);
  for (let turns = 0; turns < 3; turns++) await setImmediate();
}

test('a new connection to the same process is no restart; to another one it is', async (t) => {
  const server = await fake(t);
  const link = new VictoriaLink(server.url);
  t.after(() => link.close());
  await link.ready();
  await link.post('{"metric":{}}\n');
  assert.deepEqual(server.bodies, ['{"metric":{}}\n']);
  assert.equal(link.server, '1000');
  server.drop();
  await heard();
  await link.ready();
  assert.equal(link.restarts, 0);
  server.drop();
  server.started = 2000;
  await heard();
  // nobody asked whether it was ready: it is noticed with the request itself
  await link.post('x');
  assert.equal(link.restarts, 1);
  await link.ping();
  assert.equal(link.restarts, 1);
  assert.equal(link.server, '2000');
});

test('two processes behind one address take turns without counting as restarts', async (t) => {
  const server = await fake(t);
  const link = new VictoriaLink(server.url);
  t.after(() => link.close());
  for (const started of [1000, 2000, 1000, 2000, 1000]) {
    server.started = started;
    await link.ready();
    server.drop();
    await heard();
  }
  assert.equal(link.restarts, 1);
});

test('a process that was started this very second may have been started twice', async (t) => {
  const server = await fake(t);
  server.started = Math.floor(Date.now() / 1000);
  const link = new VictoriaLink(server.url);
  t.after(() => link.close());
  await link.ready();
  assert.equal(link.server, undefined);
});

test('where nobody says when the process was started, every failure may have been a restart', async (t) => {
  const server = await fake(t);
  server.started = undefined;
  const link = new VictoriaLink(server.url);
  t.after(() => link.close());
  await link.ready();
  server.drop();
  await heard();
  await link.ready();
  assert.equal(link.restarts, 0);
  const gone = new VictoriaLink('http://127.0.0.1:9');
  await assert.rejects(gone.ready(), /ECONNREFUSED/);
});

test('what the server refuses is said in its words, and who we are is told', async (t) => {
  const server = await fake(t);
  const link = new VictoriaLink(server.url.replace('//', '//ada:p%40ss@'));
  t.after(() => link.close());
  server.status = 503;
  await assert.rejects(link.post('x'), { message: 'it answers 503: the disk is full' });
  assert.equal(server.authorization, `Basic ${Buffer.from('ada:p@ss').toString('base64')}`);
});

test('of an answer that is too long for one nothing is used, nor is it read to its end', async (t) => {
  let sent = 0;
  const server = http.createServer(async (_request, response) => {
    response.write('process_start_time_seconds 1000\n');
    for (; sent < 64 && !response.destroyed; sent++) {
      if (!response.write(Buffer.alloc(1 << 20, '\n')))
        await Promise.race(['drain', 'close'].map((event) => new Promise((resolve) => response.once(event, resolve))));
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const link = new VictoriaLink(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => link.close());
  await assert.rejects(link.ready(), { message: 'its answer is too long' });
  const connections = (): Promise<number> =>
    new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
  await eventually(
    'the end of the connection',
    async () => sent >= 64 || !server.listening || (await connections()) === 0,
  );
  assert.ok(sent < 64, `${sent} MiB`);
});
