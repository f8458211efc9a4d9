import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { packAppend } from '../src/sinks/hub/body.ts';
import { Client, HEADER, type HubProcess, jobOf, rows, startHubProcess } from './hub/hub-process.ts';
import { eventually } from './made/eventually.ts';
import { tacho, temporaryFolder } from './tacho.ts';

/** A hub at rest has some 80 MB; all requests together may hold 128 MiB, and one unpacks to 32 MiB. */
const MOST_MEGABYTES = 500;

/** The most memory that a process has ever had, in MB. */
const peakOf = ({ child }: HubProcess): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${child.pid}/status`, 'latin1'))![1]) / 1000;

/** The memory that it has now, in MB. */
const memoryOf = ({ child }: HubProcess): number =>
  Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${child.pid}/status`, 'latin1'))![1]) / 1000);

const descriptorsOf = ({ child }: HubProcess): number => fs.readdirSync(`/proc/${child.pid}/fd`).length;

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
      await Promise.race([eventually('three more rows', () => sent >= before + 3), run]);
      going = false;
      await run;
      const file = path.join(archive, 'user=nobody/job=1/node=good/loadavg.csv');
      assert.equal(fs.readFileSync(file, 'latin1'), text);
      assert.ok(peakOf(hub) < MOST_MEGABYTES, `${peakOf(hub)} MB`);
      assert.equal(hub.child.exitCode, null);
    },
  };
}

/** Sends bytes on a connection of their own; what comes back until it is closed, or silent for a while after an answer. */
function raw(t: TestContext, hub: HubProcess, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(Number(new URL(hub.address).port), '127.0.0.1');
    t.after(() => socket.destroy());
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      socket.setTimeout(1500);
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    // a hub with much to do answers late
    socket.setTimeout(60_000, () => socket.destroy());
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
    const reply = await raw(t, hub, post(`${headers}\r\nContent-Length: 2`, '{}'));
    assert.ok(reply === '' || statusOf(reply) >= 400, reply);
  }
  assert.equal(statusOf(await raw(t, hub, post('X: y'))), 411);
  assert.equal(statusOf(await raw(t, hub, post('Transfer-Encoding: chunked', '5\r\nhello\r\n'))), 411);
  for (const headers of [
    'Content-Length: 99999999999999999999',
    'Content-Length: -1',
    'Content-Length: 1e3',
    'Content-Length: 2\r\nContent-Length: 3',
  ]) {
    const reply = await raw(t, hub, post(headers, 'abc'));
    assert.ok(reply === '' || statusOf(reply) >= 400, reply);
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
    const reply = await client.post('/v1/append', body);
    assert.equal(reply.status, 400);
    assert.match(reply.body.error!, why);
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
  const chunk = Buffer.alloc(1 << 20, 'x');
  const statuses: number[] = [];
  for (let i = 0; i < 100; i++) {
    const reply = raw(t, hub, Buffer.concat([Buffer.from(post(`Content-Length: ${8 << 20}`)), chunk]));
    void reply.then((text) => statuses.push(statusOf(text)));
  }
  // sixteen of them fit into what all together may hold; the others are told so
  const refused = (): number => statuses.filter((status) => status === 503).length;
  await eventually(
    () => `50 refusals in ${statuses.join(' ')}`,
    () => refused() >= 50,
  );
  assert.ok(refused() >= 50, statuses.join(' '));
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

test('five thousand connections at once from many addresses: silent, slow, half-open, oversized, noise', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const good = await goodAgent(t, hub, archive);
  await pause(500);
  const [before, descriptors] = [memoryOf(hub), descriptorsOf(hub)];
  const begun = 'POST /v1/append HTTP/1.1\r\nX: ';
  const head = 'POST /v1/append HTTP/1.1\r\nHost: x\r\n';
  // most say nothing or too little; the others are told so at once
  const first = [
    ...Array.from({ length: 5 }, () => () => {}),
    ...Array.from({ length: 2 }, () => (socket: net.Socket) => void socket.write(begun)),
    // a byte now and then of headers that never end
    (socket: net.Socket) => {
      socket.write(begun);
      const drip = setInterval(() => socket.writable && socket.write('a'), 2000);
      socket.on('close', () => clearInterval(drip));
    },
    (socket: net.Socket) => void socket.end(begun),
    (socket: net.Socket) => void socket.write(`${head}Content-Length: 4000000\r\n\r\n${'x'.repeat(1000)}`),
    (socket: net.Socket) => void socket.write(`${head}X-Long: ${'a'.repeat(15_000)}`),
    (socket: net.Socket) => void socket.write('\x16\x03\x01\x02\x00\x01\x00'),
  ];
  const port = Number(new URL(hub.address).port);
  const sockets: net.Socket[] = [];
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  let open = 0;
  // the most at any time: a slow machine is still connecting when the hub cuts off the first ones
  let [during, held] = [0, 0];
  const look = (): void => {
    during = Math.max(during, memoryOf(hub));
    held = Math.max(held, descriptorsOf(hub) - descriptors);
  };
  for (let address = 1; address <= 100; address++) {
    const connect = (i: number): Promise<void> =>
      new Promise((resolve) => {
        const socket = net.connect({
          port,
          host: '127.0.0.1',
          localAddress: `127.1.0.${address}`,
          allowHalfOpen: true,
        });
        sockets.push(socket);
        socket.resume();
        socket.on('error', () => resolve());
        socket.on('connect', () => {
          open++;
          first[i % first.length]!(socket);
          resolve();
        });
      });
    // one address has at most 64
    await Promise.all(Array.from({ length: 50 }, (_, i) => connect(i)));
    if (address > 60 && address % 5 === 0) look();
  }
  assert.equal(open, 5000);
  await pause(1000);
  look();
  assert.ok(held >= 3000, `${held} connections are held`);
  await eventually('the end of the connections', () => descriptorsOf(hub) <= descriptors + 5);
  const after = memoryOf(hub);
  t.diagnostic(`${before} MB before, ${during} MB with ${held} connections, ${after} MB when they were cut off`);
  assert.ok(descriptorsOf(hub) <= descriptors + 5, `${descriptorsOf(hub)} descriptors, ${descriptors} before`);
  for (const now of [during, after]) assert.ok(now < before + 120, `${now} MB, ${before} MB before`);
  await good.finish();
});

test('sessions that are guessed, and proofs that are none', async (t) => {
  const folder = temporaryFolder(t);
  const key = path.join(folder, 'hub.key');
  tacho(['token', 'key', key]);
  const hub = await startHubProcess(t, path.join(folder, 'archive'), ['--trust', 'token', '--trust-key-file', key]);
  const client = new Client(hub.address);
  t.after(() => client.close());
  const requestTexts = [
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
  for (const each of requestTexts) {
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
