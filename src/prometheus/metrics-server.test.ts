import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, diskTable, frameOf, jobOf, START } from '../../test/make-recording.ts';
import { temporaryFolder } from '../../test/tacho.ts';
import { prefersOpenMetrics, serveMetrics } from './metrics-server.ts';

const exposed = () => [
  {
    job: jobOf(),
    agent: agentOf('c1', []),
    frames: [frameOf(diskTable, [{ time: START, disk: 'sda', read_bytes: 4096 }])],
  },
];

test('a scrape gets the newest samples, as OpenMetrics when it asks for that', async (t) => {
  const tokenFile = path.join(temporaryFolder(t), 'token');
  fs.writeFileSync(tokenFile, 'open sesame\n', { mode: 0o600 });
  const headers = { authorization: 'Bearer open sesame' };
  const server = await serveMetrics({ listen: '127.0.0.1:0', tokenFile }, exposed);
  t.after(() => server.close());
  const plain = await fetch(server.address, { headers });
  assert.equal(plain.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.ok(
    (await plain.text()).includes('\ntacho_disk_read_bytes_total{node="c1",job="17",user="ada",disk="sda"} 4096\n'),
  );
  const accept =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
  const open = await fetch(server.address, { headers: { ...headers, accept } });
  assert.equal(open.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  assert.ok((await open.text()).endsWith('# EOF\n'));
  assert.equal((await fetch(server.address.replace('/metrics', '/'))).status, 404);
  assert.equal((await fetch(server.address, { method: 'POST', body: 'x', headers })).status, 405);
});

test('those who ask without end get what was made for the first of them, and cost the agent nothing more', async (t) => {
  let [now, made] = [1000, 0];
  const recordings = () => {
    made++;
    return exposed();
  };
  const server = await serveMetrics({ listen: '127.0.0.1:0' }, recordings, () => now);
  t.after(() => server.close());
  const ask = async (): Promise<number> => (await (await fetch(server.address)).text()).length;
  const first = await ask();
  for (let i = 0; i < 20; i++) assert.equal(await ask(), first);
  assert.equal(made, 1);
  now += 1000;
  await ask();
  assert.equal(made, 2);
});

test('beyond loopback a token is needed, and the right one', async (t) => {
  await assert.rejects(serveMetrics({ listen: ':0' }, exposed), /can be reached from other machines/);
  const tokenFile = path.join(temporaryFolder(t), 'token');
  await assert.rejects(serveMetrics({ listen: ':0', tokenFile }, exposed), /cannot read the token in /);
  fs.writeFileSync(tokenFile, 'open sesame\n');
  fs.chmodSync(tokenFile, 0o644);
  await assert.rejects(serveMetrics({ listen: '127.0.0.1:0', tokenFile }, exposed), /can be read by others/);
  fs.chmodSync(tokenFile, 0o600);
  const server = await serveMetrics({ listen: '127.0.0.1:0', tokenFile }, exposed);
  t.after(() => server.close());
  const ask = async (authorization?: string): Promise<number> =>
    (await fetch(server.address, { headers: authorization === undefined ? {} : { authorization } })).status;
  assert.equal(await ask(), 401);
  assert.equal(await ask('Bearer open sesam'), 401);
  assert.equal(await ask('Bearer open sesame!'), 401);
  assert.equal(await ask('Bearer open sesame'), 200);
});

test('without a token nothing of any job is shown', async (t) => {
  const fleet = {
    ...exposed()[0]!,
    job: jobOf({ id: 'fleet-2026-03-02', user: '', uid: -1, name: 'fleet-2026-03-02' }),
  };
  const server = await serveMetrics({ listen: '127.0.0.1:0' }, () => [fleet, ...exposed()]);
  t.after(() => server.close());
  const text = await (await fetch(server.address)).text();
  assert.match(text, /^tacho_disk_read_bytes_total\{node="c1",disk="sda"\} 4096$/m);
  for (const hidden of ['job="', 'user="', 'account="', jobOf().name]) assert.ok(!text.includes(hidden), hidden);
});

test('connections that say nothing keep nobody out', async (t) => {
  const server = await serveMetrics({ listen: '127.0.0.1:0' }, exposed);
  t.after(() => server.close());
  const { port } = new URL(server.address);
  const silent = Array.from({ length: 100 }, () => net.connect(Number(port), '127.0.0.1').on('error', () => {}));
  t.after(() => silent.forEach((socket) => void socket.destroy()));
  await Promise.all(
    silent.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))),
  );
  for (let i = 0; i < 20; i++) assert.equal((await fetch(server.address)).status, 200);
});

test('an address that is taken is said with what to do', async (t) => {
  const server = await serveMetrics({ listen: '127.0.0.1:0' }, exposed);
  t.after(() => server.close());
  const { host } = new URL(server.address);
  await assert.rejects(serveMetrics({ listen: host }, exposed), /cannot listen on 127.0.0.1:\d+: /);
});

test('plain text unless OpenMetrics is liked as much', () => {
  assert.equal(prefersOpenMetrics(), false);
  assert.equal(prefersOpenMetrics('*/*'), false);
  assert.equal(prefersOpenMetrics('application/openmetrics-text; version=1.0.0'), true);
  assert.equal(prefersOpenMetrics('application/openmetrics-text;q=0.4, text/plain;q=0.5'), false);
});
