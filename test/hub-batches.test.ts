import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { TableWriter } from '../src/recording/live/append.ts';
import { packAppend } from '../src/sinks/hub/body.ts';
import { HubSink } from '../src/sinks/hub/sink.ts';
import { spoolStreams } from '../src/sinks/spool/streams.ts';
import { Client, HEADER, jobOf, rows, startHubProcess } from './hub/hub-process.ts';
import { eventually } from './made/eventually.ts';
import { COUNTED, countedRows, testAgent, testJob, testRecording } from './made/spool.ts';
import { temporaryFolder } from './tacho.ts';

/** A user whom every machine knows. */
const NOBODY = { user: 'nobody', uid: 65534 };
const CONNECTIONS = 8;
/** Requests under way on each of them. */
const AHEAD = 20;

/** Has a hub answer as many requests as it can, until the function that it returns is called. */
function keepBusy(t: TestContext, address: string, body: Buffer): () => void {
  const { hostname, port } = new URL(address);
  const head = `POST /v1/append HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: ${body.length}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), body]);
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = net.connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const responses = bytes.toString('latin1').split('HTTP/1.1 ').length - 1;
      for (let i = 0; i < responses; i++) socket.write(request);
    });
    for (let i = 0; i < AHEAD; i++) socket.write(request);
    return socket;
  });
  const stop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(stop);
  return stop;
}

test('a busy hub has agents send longer batches, step by step; one with room has each tick at once; nothing is lost', async (t) => {
  const archive = temporaryFolder(t);
  const spool = temporaryFolder(t);
  const hub = await startHubProcess(t, archive, ['--batch', '0s', '--busy-batch', '4s']);
  const client = new Client(hub.address);
  t.after(() => client.close());

  const { stream } = (await client.open({ node: 'c1', job: jobOf('7', ['c1']) })).body;
  const text = `${HEADER}${rows(0, 3)}`;
  await client.append([stream, 'loadavg', 1, 0, text]);
  /** The batches that were asked for, without repetitions. */
  const asked: number[] = [];
  const ask = async (): Promise<number> => {
    const { batch = 0 } = (await client.append([stream, 'loadavg', 1, 0, text])).body;
    if (asked.at(-1) !== batch) asked.push(batch);
    return batch;
  };
  await eventually('a hub that has started and has room', async () => (await ask()) === 0);

  // an agent that writes all the time, and never learns of it but by what the hub answers
  const writer = new TableWriter(testRecording(spool, 'r', testJob('8', NOBODY), testAgent('c2')), COUNTED);
  const sink = new HubSink({
    addresses: [new URL(hub.address)],
    node: 'c2',
    spool,
    streams: spoolStreams(spool),
    spreadSeconds: 0,
  });
  let written = 0;
  const ticks = setInterval(() => {
    writer.append(countedRows('c2', written, ++written));
    sink.wake();
  }, 100);
  t.after(() => clearInterval(ticks));

  const stop = keepBusy(t, hub.address, packAppend([[stream, 'loadavg', 1, 0, text.length]], [Buffer.from(text)]));
  await eventually('the longest batch', async () => (await ask()) === 4);
  stop();
  await eventually('no batches', async () => (await ask()) === 0);
  assert.deepEqual(asked, [0, 2, 4, 2, 0]);

  clearInterval(ticks);
  await sink.close(20);
  assert.equal(sink.trouble, undefined);
  await writer.close();
  const [folder] = fs.globSync('user=*/job=8/node=c2', { cwd: archive });
  assert.equal(
    fs.readFileSync(path.join(archive, folder!, 'counted.csv'), 'utf8'),
    fs.readFileSync(path.join(spool, 'r/node=c2/counted.csv'), 'utf8'),
  );
  assert.equal(await hub.kill('SIGTERM'), 0);
});
