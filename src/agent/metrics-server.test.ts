import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, diskTable, frameOf, jobOf, START } from '../../test/make-recording.ts';
import { temporaryFolder } from '../../test/tacho.ts';
import { parseListen, prefersOpenMetrics, serveMetrics } from './metrics-server.ts';

const exposed = () => [
  {
    job: jobOf(),
    agent: agentOf('c1', []),
    frames: [frameOf(diskTable, [{ time: START, disk: 'sda', read_bytes: 4096 }])],
  },
];

test('a scrape gets the newest samples, as OpenMetrics when it asks for that', async (t) => {
  const server = await serveMetrics({ listen: '127.0.0.1:0' }, exposed);
  t.after(() => server.close());
  const plain = await fetch(server.address);
  assert.equal(plain.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  assert.ok((await plain.text()).includes('\ntacho_disk_read_bytes_total{node="c1",job="17",disk="sda"} 4096\n'));
  const accept =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
  const open = await fetch(server.address, { headers: { accept } });
  assert.equal(open.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  assert.ok((await open.text()).endsWith('# EOF\n'));
  assert.equal((await fetch(server.address.replace('/metrics', '/'))).status, 404);
  assert.equal((await fetch(server.address, { method: 'POST', body: 'x' })).status, 405);
});

test('beyond loopback a token is needed, and the right one', async (t) => {
  await assert.rejects(serveMetrics({ listen: ':0' }, exposed), /can be reached from other machines/);
  const tokenFile = path.join(temporaryFolder(t), 'token');
  await assert.rejects(serveMetrics({ listen: ':0', tokenFile }, exposed), /cannot read .*metrics.token_file/);
  fs.writeFileSync(tokenFile, 'open sesame\n');
  const server = await serveMetrics({ listen: '127.0.0.1:0', tokenFile }, exposed);
  t.after(() => server.close());
  const ask = async (authorization?: string): Promise<number> =>
    (await fetch(server.address, { headers: authorization === undefined ? {} : { authorization } })).status;
  assert.equal(await ask(), 401);
  assert.equal(await ask('Bearer open sesam'), 401);
  assert.equal(await ask('Bearer open sesame!'), 401);
  assert.equal(await ask('Bearer open sesame'), 200);
});

test('addresses', () => {
  assert.deepEqual(parseListen('127.0.0.1:9471'), { host: '127.0.0.1', port: 9471 });
  assert.deepEqual(parseListen(':9471'), { host: '', port: 9471 });
  assert.deepEqual(parseListen('[::1]:80'), { host: '::1', port: 80 });
  assert.throws(() => parseListen('9471'), /is no address/);
  assert.throws(() => parseListen('host:70000'), /is no address/);
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
