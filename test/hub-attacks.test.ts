import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { packAppend } from '../src/sinks/append-body.ts';
import { Client, HEADER, type HubProcess, jobOf, rows, startHubProcess } from './hub/hub-process.ts';
import { tacho, temporaryFolder } from './tacho.ts';

/** A hub at rest has some 80 MB; all requests together may hold 128 MiB, and one unpacks to 32 MiB. */
const MOST_MEGABYTES = 500;

/** The most memory that a process has ever had, in MB. */
const peakOf = ({ child }: HubProcess): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${child.pid}/status`, 'latin1'))![1]) / 1000;

/** A well-behaved agent that sends a row now and then; `finish` checks that the hub has every one of them. */
async function goodAgent(t: TestContext, hub: HubProcess, archive: string) {
  const client = new Client(hub.address);
  t.after(() => client.close());
  const { stream } = (await client.open({ node: 'good', job: jobOf('1', ['good']) })).body;
  let text = HEADER;
  assert.equal((await client.append([stream, 'loadavg', 1, 0, text])).status, 200);
  let going = true;
  let sent = 0;
  const run = (async () => {
    while (going) {
      const row = rows(sent++, 1);
      const { status, body } = await client.append([stream, 'loadavg', 1, text.length, row]);
      text += row;
      assert.equal(status, 200, body.error);
      assert.deepEqual(body.have, [[stream, 'loadavg', 1, text.length]]);
      await pause(10);
    }
  })();
  return {
    async finish() {
      // it has sent during the attack, and still does after it
      const before = sent;
      while (sent < before + 3) await Promise.race([pause(5), run]);
      going = false;
      await run;
      const file = path.join(archive, 'user=nobody/job=1/node=good/loadavg.csv');
      assert.equal(fs.readFileSync(file, 'latin1'), text);
      assert.ok(peakOf(hub) < MOST_MEGABYTES, `${peakOf(hub)} MB`);
      assert.equal(hub.child.exitCode, null);
    },
  };
}

/** Sends bytes on a connection of their own; what comes back until it is closed, or has been silent for a while. */
function raw(t: TestContext, hub: HubProcess, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(Number(new URL(hub.address).port), '127.0.0.1');
    t.after(() => socket.destroy());
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    socket.setTimeout(1500, () => socket.destroy());
    socket.write(bytes);
  });
}

const post = (headers: string, body = ''): string => `POST /v1/append HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`;
const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);

test('headers without end, bodies without a length or with a wrong one', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const good = await goodAgent(t, hub, archive);
  const long = `X-Long: ${'a'.repeat(100_000)}`;
  const many = Array.from({ length: 5000 }, (_, i) => `x${i}: y`).join('\r\n');
  // closed: with words of HTTP or without, but not served
  for (const headers of [long, many]) {
    const answer = await raw(t, hub, post(`${headers}\r\nContent-Length: 2`, '{}'));
    assert.ok(answer === '' || statusOf(answer) >= 400, answer);
  }
  assert.equal(statusOf(await raw(t, hub, post('X: y'))), 411);
  assert.equal(statusOf(await raw(t, hub, post('Transfer-Encoding: chunked', '5\r\nhello\r\n'))), 411);
  for (const headers of [
    'Content-Length: 99999999999999999999',
    'Content-Length: -1',
    'Content-Length: 1e3',
    'Content-Length: 2\r\nContent-Length: 3',
  ]) {
    const answer = await raw(t, hub, post(headers, 'abc'));
    assert.ok(answer === '' || statusOf(answer) >= 400, answer);
  }
  // a second request hidden in the first one's body is no request of its own
  const smuggled = post('Content-Length: 5\r\nTransfer-Encoding: chunked', `0\r\n\r\n${post('Content-Length: 0')}`);
  assert.doesNotMatch(await raw(t, hub, smuggled), /^HTTP\/1\.1 200/m);
  await good.finish();
});

test('what unpacks to more than it may, and what is no list of pieces', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const good = await goodAgent(t, hub, archive);
  const client = new Client(hub.address);
  t.after(() => client.close());
  const refused = async (body: Buffer, why: RegExp): Promise<void> => {
    const answer = await client.post('/v1/append', body);
    assert.equal(answer.status, 400);
    assert.match(answer.body.error!, why);
  };
  const bomb = zstdCompressSync(Buffer.alloc(1 << 30));
  for (let i = 0; i < 5; i++) await refused(bomb, /these are no samples/);
  const whole = packAppend([[1, 'loadavg', 1, 0, 4]], [Buffer.from('time')]);
  await refused(whole.subarray(0, whole.length - 3), /these are no samples/);
  await refused(zstdCompressSync(Buffer.from('[[1,"t",1,0,9]]\nabc')), /9 bytes, the body 3/);
  await refused(zstdCompressSync(Buffer.from('[[1,"t",1,0,-4]]\n')), /no piece/);
  await refused(zstdCompressSync(Buffer.from(`${'['.repeat(100_000)}\n`)), /these are no samples/);
  await refused(zstdCompressSync(Buffer.from(`[${'[1,"t",1,0,0],'.repeat(100_000)}]\n`)), /list of pieces is longer/);
  const deep = await client.post<object>('/v1/open', Buffer.from(`{"job":${'['.repeat(1 << 20)}`));
  assert.equal(deep.status, 400);
  await good.finish();
});

test('many at once that announce large bodies and send little of them', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const good = await goodAgent(t, hub, archive);
  const part = Buffer.alloc(1 << 20, 'x');
  const answers = Array.from({ length: 100 }, () =>
    raw(t, hub, Buffer.concat([Buffer.from(post(`Content-Length: ${8 << 20}`)), part])),
  );
  const statuses = (await Promise.all(answers)).map(statusOf);
  // sixteen of them fit into what all together may hold; the others are told so
  assert.ok(statuses.filter((status) => status === 503).length >= 50, statuses.join(' '));
  await good.finish();
});

test('thousands of connections that say nothing, come again and go', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const good = await goodAgent(t, hub, archive);
  const { port } = new URL(hub.address);
  for (let round = 0; round < 5; round++) {
    const sockets = await Promise.all(
      Array.from(
        { length: 1000 },
        () =>
          new Promise<net.Socket>((resolve) => {
            const socket = net.connect(Number(port), '127.0.0.1', () => resolve(socket));
            socket.on('error', () => resolve(socket));
          }),
      ),
    );
    // half of them go as a scanner goes
    for (const [i, socket] of sockets.entries()) {
      if (i % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
  }
  await good.finish();
  assert.equal(await hub.kill('SIGTERM'), 0);
});

test('silent and slow connections are closed after a while, and their descriptors are free again', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const good = await goodAgent(t, hub, archive);
  const descriptors = (): number => fs.readdirSync(`/proc/${hub.child.pid}/fd`).length;
  const before = descriptors();
  const { port } = new URL(hub.address);
  const sockets = Array.from({ length: 300 }, (_, i) => {
    const socket = net.connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.resume();
    // a byte now and then of headers that never end; a half-open one; and one that says nothing
    if (i % 3 === 0) {
      socket.write('POST /v1/append HTTP/1.1\r\nX: ');
      const drip = setInterval(() => socket.writable && socket.write('a'), 500);
      socket.on('close', () => clearInterval(drip));
    } else if (i % 3 === 1) socket.end('POST /v1/append HTTP/1.1\r\n');
    return socket;
  });
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  for (let i = 0; i < 100 && descriptors() < before + 150; i++) await pause(20);
  assert.ok(descriptors() >= before + 150, 'they are connected');
  for (let i = 0; i < 600 && descriptors() > before + 5; i++) await pause(100);
  assert.ok(descriptors() <= before + 5, `${descriptors()} descriptors, ${before} before`);
  await good.finish();
});

test('sessions that are guessed, and proofs that are none', async (t) => {
  const folder = temporaryFolder(t);
  const key = path.join(folder, 'hub.key');
  tacho(['token', 'key', key]);
  const hub = await startHubProcess(t, path.join(folder, 'archive'), ['--trust', 'token', '--trust-key-file', key]);
  const client = new Client(hub.address);
  t.after(() => client.close());
  const words = [
    'Token node:c1.',
    'Token node:c1.AAAA',
    `Token node:c1.${'A'.repeat(43)}`,
    'Token administrator:root',
    'Token %zz.AAAA',
    `Token ${'x'.repeat(8000)}`,
    'Munge MUNGE:AwQFAAD:',
    'Bearer x',
    '',
  ];
  for (const each of words) {
    const { status, body } = await client.begin(each, 'c1');
    assert.equal(status, 401, each);
    assert.equal(body.session, undefined);
  }
  const guess = async (authorization: string): Promise<number> =>
    statusOf(await raw(t, hub, post(`Authorization: ${authorization}\r\nContent-Length: 0`)));
  for (const each of ['Bearer undefined', 'Bearer __proto__', 'Bearer ', 'Bearer constructor', 'bearer x']) {
    assert.equal(await guess(each), 401, each);
  }
  // failed proofs leave nothing behind
  const before = peakOf(hub);
  for (let i = 0; i < 2000; i++) await client.begin(`Token node:c${i}.AAAA`, `c${i}`);
  assert.ok(peakOf(hub) < before + 100, `${peakOf(hub)} MB, ${before} MB before`);
  assert.deepEqual(
    fs.readdirSync(path.join(folder, 'archive')).filter((name) => name.startsWith('user=')),
    [],
  );
});
