import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as os from 'node:os';
import * as path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { eventually } from '../../../test/made/eventually.ts';
import { TestHub } from '../../../test/made/hub.ts';
import { COUNTED, countedRows, testAgent, testJob, testRecording } from '../../../test/made/spool.ts';
import { TableWriter } from '../../recording/live/append.ts';
import type { Credentials } from '../../trust/identity.ts';
import { Backoff } from '../backoff.ts';
import type { Sink } from '../sink.ts';
import { spoolStreams } from '../spool/streams.ts';
import { parseHubAddress } from './address.ts';
import { unpackAppend } from './body.ts';
import { HubSink } from './sink.ts';

let spool: string;
let hub: TestHub;
let url: URL;
const sinks: Sink[] = [];
beforeEach(async () => {
  spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-hub-sink-'));
  hub = new TestHub();
  url = await hub.listen();
});
afterEach(async () => {
  for (const sink of sinks.splice(0)) await sink.close(0);
  hub.close();
  fs.rmSync(spool, { recursive: true, force: true });
});

function openSink(addresses: readonly URL[] = [url], credentials?: Credentials): HubSink {
  const sink = new HubSink({
    addresses,
    spool,
    streams: spoolStreams(spool),
    node: 'c1',
    spreadSeconds: 0,
    returnSeconds: 0.05,
    ...(credentials === undefined ? {} : { credentials }),
  });
  sinks.push(sink);
  return sink;
}

async function until(sink: Sink, holds: () => boolean): Promise<void> {
  await eventually(
    () => `what the sink does; trouble: ${sink.trouble}`,
    () => {
      if (holds()) return true;
      sink.wake();
      return false;
    },
  );
}

const recording = (id: string): string => testRecording(spool, `job-${id}`, testJob(id), testAgent('c1'));
const numbers = (id: string, from = hub): number[] =>
  [...(from.filed.get(id)?.bytes.get('counted') ?? '').matchAll(/^\d+,c1,(\d+),/gm)].map(([, n]) => Number(n));
const upTo = (rows: number): number[] => Array.from({ length: rows }, (_, n) => n);

test('all streams and tables go in one request a tick', async () => {
  const writers = ['1', '2'].map((id) => new TableWriter(recording(id), COUNTED));
  const sink = openSink();
  for (const writer of writers) writer.append(countedRows('c1', 0, 10));
  await until(sink, () => numbers('1').length === 10 && numbers('2').length === 10);
  hub.requests.length = 0;
  for (const writer of writers) writer.append(countedRows('c1', 10, 20));
  await until(sink, () => numbers('1').length === 20 && numbers('2').length === 20);
  assert.deepEqual(hub.requests, ['/v1/append']);
  assert.deepEqual(numbers('2'), upTo(20));
  assert.equal(sink.trouble, undefined);
  const stream = spoolStreams(spool).list()[0]!;
  // stored is what the hub has said, a moment after it has it
  const have = hub.filed.get(stream.job.id)!.have.get('counted')!;
  await until(sink, () => sink.stored(stream, 'counted')?.bytes === have.bytes);
  assert.deepEqual(sink.stored(stream, 'counted'), have);
});

test('a hub that was restarted is told of the streams again; a session that has ended is begun again', async () => {
  const writer = new TableWriter(recording('1'), COUNTED);
  hub.session = 'one';
  const sink = openSink([url], { method: 'token', authorization: async (node) => `Token of ${node}` });
  writer.append(countedRows('c1', 0, 10));
  await until(sink, () => numbers('1').length === 10);
  hub.forgetStreams();
  hub.session = 'two';
  writer.append(countedRows('c1', 10, 20));
  await until(sink, () => numbers('1').length === 20);
  assert.deepEqual(numbers('1'), upTo(20));
  assert.deepEqual(hub.authorizations, ['Token of c1', 'Token of c1']);
});

test('a stream that the hub refuses is named, and the others go on', async () => {
  hub.instead = (at, body) =>
    at === '/v1/open' && body.includes('"id":"1"') ? [403, '{"error":"not yours"}'] : undefined;
  for (const id of ['1', '2']) new TableWriter(recording(id), COUNTED).append(countedRows('c1', 0, 10));
  const sink = openSink();
  await until(sink, () => numbers('2').length === 10);
  await until(sink, () => sink.trouble !== undefined);
  assert.match(sink.trouble!, /refuses job-1: not yours/);
});

test('a stream that the hub cannot store just now waits, the others go on, and it is tried again by itself', async () => {
  let broken: 'open' | 'fail' | 'append' | undefined = 'open';
  hub.instead = (at, body) => {
    if (at === '/v1/open' && body.includes('"id":"1"')) {
      if (broken === 'open') return [423, '{"error":"cannot write user=ada/job=1: disk quota exceeded"}'];
      if (broken === 'fail') return [500, '{"error":"cannot read properties of null"}'];
    }
    const { id } = hub.filed.get('1') ?? {};
    if (at !== '/v1/append' || broken !== 'append') return undefined;
    const { tableRuns } = unpackAppend(body);
    const have = tableRuns.map(([stream, table]) => [stream, table, 1, 0]);
    return tableRuns.some(([stream]) => stream === id)
      ? [200, JSON.stringify({ have, refused: [[id, 'cannot write user=ada/job=1: permission denied']] })]
      : undefined;
  };
  const writers = ['1', '2'].map((id) => new TableWriter(recording(id), COUNTED));
  const sink = openSink();
  for (const writer of writers) writer.append(countedRows('c1', 0, 10));
  await until(sink, () => numbers('2').length === 10);
  await until(sink, () => sink.trouble === 'job-1 waits: cannot write user=ada/job=1: disk quota exceeded');
  broken = 'fail';
  await until(sink, () => sink.trouble === 'job-1 waits: cannot read properties of null');
  broken = 'append';
  await until(sink, () => sink.trouble === 'job-1 waits: cannot write user=ada/job=1: permission denied');
  writers[1]!.append(countedRows('c1', 10, 20));
  await until(sink, () => numbers('2').length === 20);
  assert.deepEqual(numbers('1'), []);
  broken = undefined;
  // nobody wakes it
  await eventually('ten rows of job 1', () => numbers('1').length >= 10);
  assert.deepEqual(numbers('1'), upTo(10));
  await until(sink, () => sink.trouble === undefined);
});

test('a hub that has no room for one more stream goes on with those that it has', async () => {
  let isBusy = false;
  hub.instead = (at, body) =>
    isBusy && at === '/v1/open' && body.includes('"id":"1"') ? [503, '{"error":"9 recordings are open"}'] : undefined;
  const writer = new TableWriter(recording('2'), COUNTED);
  writer.append(countedRows('c1', 0, 10));
  const sink = openSink();
  await until(sink, () => numbers('2').length === 10);
  isBusy = true;
  new TableWriter(recording('1'), COUNTED).append(countedRows('c1', 0, 10));
  await until(sink, () => sink.trouble !== undefined);
  assert.equal(sink.trouble, 'job-1 waits: 9 recordings are open');
  writer.append(countedRows('c1', 10, 20));
  await until(sink, () => numbers('2').length === 20);
  assert.deepEqual([numbers('2'), numbers('1')], [upTo(20), []]);
  isBusy = false;
  await until(sink, () => numbers('1').length === 10);
  await until(sink, () => sink.trouble === undefined);
});

test('a spool on which nothing can be written is sent, and which hub has it is noted when that can be', async (t) => {
  const folder = recording('1');
  const writer = new TableWriter(folder, COUNTED, { plain: true });
  for (const from of [0, 10]) {
    writer.append(countedRows('c1', from, from + 10));
    writer.roll();
  }
  // the first part was given up
  fs.rmSync(path.join(folder, 'counted.0001.csv'));
  const span = { table: 'counted', from: { part: 1, bytes: 0 }, to: { part: 2, bytes: 0 }, rows: 10 };
  fs.writeFileSync(path.join(folder, 'dropped.json'), JSON.stringify([{ sink: 'hub', ...span }]));
  const real = fs.openSync;
  let isFull = true;
  const mocked = t.mock.method(fs, 'openSync', (...args: Parameters<typeof real>) => {
    if (isFull && /\.(hubs|json)\.\d+\.tmp$/.test(String(args[0])))
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    return real(...args);
  });
  syncBuiltinESMExports();
  t.after(() => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  });
  const sink = openSink();
  await until(sink, () => numbers('1').length === 10);
  assert.deepEqual(hub.filed.get('1')!.records[0]!.dropped, [span]);
  hub.forgetStreams();
  writer.append(countedRows('c1', 20, 30));
  await until(sink, () => numbers('1').length === 20);
  assert.deepEqual([numbers('1'), fs.existsSync(path.join(folder, '.hubs'))], [upTo(30).slice(10), false]);
  isFull = false;
  writer.append(countedRows('c1', 30, 40));
  await until(sink, () => fs.existsSync(path.join(folder, '.hubs')));
  assert.deepEqual(JSON.parse(fs.readFileSync(path.join(folder, '.hubs'), 'utf8')), [url.origin]);
});

test('all parts that are there go at once, also beside a stream that the hub refuses', async () => {
  hub.instead = (at, body) =>
    at === '/v1/open' && body.includes('"id":"1"') ? [403, '{"error":"not yours"}'] : undefined;
  new TableWriter(recording('1'), COUNTED).append(countedRows('c1', 0, 10));
  const writer = new TableWriter(recording('2'), COUNTED, { plain: true });
  for (let filePart = 0; filePart < 6; filePart++) {
    writer.append(countedRows('c1', filePart * 10, filePart * 10 + 10));
    writer.roll();
  }
  const sink = openSink();
  // woken once
  sink.wake();
  await eventually('60 rows of job 2', () => numbers('2').length >= 60);
  assert.deepEqual(numbers('2'), upTo(60));
});

test('a spool that was lost: what is written afterwards is added to what the hub has', async () => {
  const before = new TableWriter(recording('1'), COUNTED);
  before.append(countedRows('c1', 0, 10));
  await until(openSink(), () => numbers('1').length === 10);
  await sinks.pop()!.close(1);
  fs.rmSync(path.join(spool, 'job-1'), { recursive: true });
  const writer = new TableWriter(recording('1'), COUNTED);
  writer.append(countedRows('c1', 10, 30));
  writer.roll();
  writer.append(countedRows('c1', 30, 40));
  const sink = openSink();
  await until(sink, () => numbers('1').length === 40);
  writer.append(countedRows('c1', 40, 50));
  writer.roll();
  writer.append(countedRows('c1', 50, 60));
  await until(sink, () => numbers('1').length === 60);
  assert.deepEqual(numbers('1'), upTo(60));
  await writer.close();
});

test('the next hub of the list while the first is away, and back', async () => {
  const second = new TestHub();
  const other = await second.listen();
  try {
    const writer = new TableWriter(recording('1'), COUNTED);
    const sink = openSink([url, other]);
    writer.append(countedRows('c1', 0, 10));
    await until(sink, () => numbers('1').length === 10);
    hub.instead = () => [503, '{"error":"busy"}'];
    writer.append(countedRows('c1', 10, 20));
    await until(sink, () => numbers('1', second).length === 20);
    hub.instead = undefined;
    writer.append(countedRows('c1', 20, 30));
    await until(sink, () => numbers('1').length === 30);
    assert.deepEqual(numbers('1'), upTo(30));
    assert.deepEqual(numbers('1', second), upTo(numbers('1', second).length));
  } finally {
    second.close();
  }
});

test('what answers there must be a hub', async () => {
  new TableWriter(recording('1'), COUNTED).append(countedRows('c1', 0, 1));
  hub.instead = () => [200, '<html>'];
  const sink = openSink();
  await until(sink, () => sink.trouble !== undefined);
  assert.match(sink.trouble!, /^what answers there is no hub of Tacho/);
});

test('waiting: soon at first, then ever longer, never more than half a minute', () => {
  const backoff = new Backoff();
  assert.deepEqual(
    Array.from({ length: 10 }, () => backoff.next(1)),
    [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30],
  );
  assert.equal(backoff.next(0), 15);
  backoff.reset();
  assert.equal(backoff.next(0), 0.1);
});

test('addresses of hubs as people write them', () => {
  assert.equal(parseHubAddress('hub1').href, 'http://hub1:8471/');
  assert.equal(parseHubAddress('hub1', true).href, 'https://hub1:8471/');
  assert.equal(parseHubAddress('https://hub1:443').href, 'https://hub1/');
  assert.equal(parseHubAddress('[::1]:9000').href, 'http://[::1]:9000/');
  for (const wrong of ['', 'ftp://hub', 'hub:port', 'http://me@hub/']) {
    assert.throws(() => parseHubAddress(wrong), /is not the address of a hub/);
  }
});

test('samples wait for the end of a batch that the hub asks for, and not longer; a job that ends waits for nothing', async () => {
  const writer = new TableWriter(recording('1'), COUNTED);
  hub.batch = 60;
  const sink = openSink();
  writer.append(countedRows('c1', 0, 10));
  await until(sink, () => numbers('1').length === 10);
  // the first round may still be asking
  await until(sink, () => sink.stored(spoolStreams(spool).list()[0]!, 'counted') !== undefined);
  const asked = hub.requests.length;
  writer.append(countedRows('c1', 10, 20));
  for (let i = 0; i < 5; i++) {
    sink.wake();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.deepEqual([numbers('1').length, hub.requests.length], [10, asked]);
  // whenever it is asked, no sample waits longer than the batch
  const wait = sink.pause(false);
  assert.ok(wait > 0 && wait <= 60_000, `${wait} ms`);
  sink.wake(true);
  await eventually('what a job had at its end', () => numbers('1').length === 20);
  assert.deepEqual(numbers('1'), upTo(20));
  // a batch that ends by itself
  hub.batch = 0.1;
  sink.wake(true);
  writer.append(countedRows('c1', 20, 30));
  await until(sink, () => numbers('1').length === 30);
  writer.append(countedRows('c1', 30, 40));
  sink.wake();
  await eventually('a batch', () => numbers('1').length === 40);
  assert.deepEqual(numbers('1'), upTo(40));
});
