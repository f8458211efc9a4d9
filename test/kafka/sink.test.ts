import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openRecording } from '../../src/recording/folder/open.ts';
import { TableWriter } from '../../src/recording/live/append.ts';
import { readTable } from '../../src/recording/read/read.ts';
import { KafkaSink } from '../../src/sinks/kafka/sink.ts';
import { Spool } from '../../src/sinks/spool/spool.ts';
import { spoolStreams } from '../../src/sinks/spool/streams.ts';
import { eventually } from '../made/eventually.ts';
import { COUNTED, countedRows, testAgent, testJob, testRecording } from '../made/spool.ts';
import { type Broker, sharedBroker, whyNoKafka, whyNoKcat } from './broker.ts';
import { kcat } from './kcat.ts';

const RECORDER = path.join(import.meta.dirname, 'recorder.ts');
const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

interface Running {
  child: ChildProcess;
  ended: Promise<{ code: number | null; output: string }>;
  /** Waits until it has said so. */
  says(pattern: RegExp): Promise<void>;
}

function record(spool: string, broker: string, rows: number, pause: number): Running {
  const child = spawn(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    RECORDER,
    spool,
    broker,
    path.basename(spool),
    `${rows}`,
    `${pause}`,
  ]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, output })),
  );
  const says = async (pattern: RegExp): Promise<void> => {
    await eventually(
      () => `${pattern} in: ${output}`,
      () => {
        if (child.exitCode !== null) throw new Error(`it did not say ${pattern}: ${output}`);
        return pattern.test(output);
      },
    );
  };
  return { child, ended, says };
}

/** Every row of the recording is in the topic, once, and says the same. */
async function compare(spool: string, broker: string, topic: string, rows: number): Promise<void> {
  const [node] = openRecording(path.join(spool, 'job-4711')).nodes;
  const batch = readTable(node!, COUNTED.name);
  assert.deepEqual(batch.damage, []);
  assert.equal(batch.rows, rows);
  const expected = Array.from({ length: batch.rows }, (_, r) => {
    const text = (name: string): string => batch.texts.get(name)!.values[batch.texts.get(name)!.codes[r]!]!;
    const identity = { time: batch.time[r], node: 'c1', user: 'ada', job: '4711' };
    return { ...identity, who: text('who'), n: batch.numbers.get('n')![r], label: text('label') };
  }).sort((a, b) => a.n! - b.n!);
  // consumers see a transaction some time after the producer was told that it is stored
  let consumed = kcat(broker, topic);
  await eventually(
    () => `${rows} rows in ${topic}, which has ${consumed.length}`,
    () => {
      consumed = kcat(broker, topic);
      return consumed.length >= rows;
    },
  );
  const numbers = consumed.map(({ value }) => value.n as number);
  assert.equal(new Set(numbers).size, numbers.length, 'rows that came twice');
  assert.equal(numbers.length, rows, 'rows that were lost');
  // one node, one partition: the order is that of the recording, and so is that of the positions
  assert.deepEqual(
    consumed.map(({ value }) => value),
    expected,
  );
  const positions = consumed.map(({ headers }) => headers.position!.split(':').map(Number) as [number, number]);
  for (let i = 1; i < positions.length; i++) {
    const [a, b] = [positions[i - 1]!, positions[i]!];
    assert.ok(a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]), `position ${a} before ${b}`);
  }
  for (const { key, timestamp, value } of consumed) {
    assert.equal(key, 'c1');
    assert.equal(timestamp, Math.floor((value.time as number) / 1000));
  }
}

describe('Kafka', { skip: whyNoKafka() || whyNoKcat() }, () => {
  let broker: Broker;
  let spool: string;
  let spools: string;
  before(async () => {
    broker = await sharedBroker();
    spools = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-spools-'));
  });
  after(() => {
    if (spools !== undefined) fs.rmSync(spools, { recursive: true, force: true });
  });
  const fresh = (name: string): string => {
    spool = path.join(spools, name);
    fs.mkdirSync(spool);
    return spool;
  };

  test('every row of the recording, as kcat reads it', async () => {
    const { code, output } = await record(fresh('every'), broker.address, 3000, 2).ended;
    assert.equal(output, 'passed over: 0; trouble: none\n');
    assert.equal(code, 0);
    await compare(spool, broker.address, 'every.counted', 3000);
    const versions = new Set(kcat(broker.address, 'every.counted').map(({ headers }) => headers.table));
    assert.equal(versions.size, 1);
    const definitions = kcat(broker.address, 'every.tables');
    assert.deepEqual(
      definitions.map(({ key }) => key),
      [`counted ${[...versions][0]}`],
    );
    assert.deepEqual(definitions[0]!.value, { ...COUNTED, version: [...versions][0] });
    assert.deepEqual(
      kcat(broker.address, 'every.jobs').map(({ key, value }) => [key, value.id, value.user]),
      [['ada/4711', '4711', 'ada']],
    );
  });

  test('a recording leaves the spool only when Kafka has been told where it ends', async () => {
    fresh('ended');
    const end = Date.now() * 1000;
    const job = testJob('4712', { state: 'completed', end });
    const folder = testRecording(spool, 'job-4712', job, testAgent('c1', { end }));
    const writer = new TableWriter(folder, COUNTED);
    writer.append(countedRows('a', 0, 10));
    await writer.close();
    const bytes = fs.statSync(path.join(folder, 'counted.csv')).size;
    const streams = spoolStreams(spool);
    const sink = new KafkaSink({ folder: spool, streams, brokers: [broker.address], prefix: 'ended' });
    const outlet = new Spool(spool, { limitBytes: 1e9, sinks: [sink], streams, checkSeconds: 0 });
    try {
      await eventually(
        () => `the end of ${folder}: ${sink.trouble}`,
        () => {
          outlet.wake();
          return !fs.existsSync(folder);
        },
      );
    } finally {
      await outlet.close(0);
    }
    let nodes = kcat(broker.address, 'ended.nodes');
    await eventually('the end of the node in ended.nodes', () => {
      nodes = kcat(broker.address, 'ended.nodes');
      return nodes.at(-1)?.value.end;
    });
    assert.deepEqual(nodes.at(-1)?.value.end, { counted: { part: 1, bytes } });
  });

  test('a broker that is restarted, killed and away for some seconds: nothing lost, nothing twice', async () => {
    const running = record(fresh('outage'), broker.address, 1_000_000, 10);
    await sleep(2000);
    await broker.stop();
    await broker.start();
    await sleep(1000);
    await broker.stop('SIGKILL');
    await running.says(/trouble: connect ECONNREFUSED/);
    await sleep(1000);
    await broker.start();
    await running.says(/trouble: none\n$/);
    running.child.kill('SIGTERM');
    const { code, output } = await running.ended;
    assert.match(output, /passed over: 0; trouble: none\n$/);
    assert.equal(code, 0);
    const { rows } = readTable(openRecording(path.join(spool, 'job-4711')).nodes[0]!, COUNTED.name);
    await compare(spool, broker.address, 'outage.counted', rows);
  });

  test('an agent that is killed again and again: nothing lost, nothing twice', async () => {
    fresh('killed');
    for (let times = 0, before = ''; times < 6; times++) {
      const running = record(spool, broker.address, 1_000_000, 5);
      // it writes to the part that its predecessor had, or to the next one
      const journal = path.join(spool, '.sinks/kafka.jsonl');
      const stored = (): string => (fs.existsSync(journal) ? fs.readFileSync(journal, 'latin1') : '');
      await eventually('another transaction', () => stored() !== before);
      await sleep(500 + times * 37);
      running.child.kill('SIGKILL');
      before = stored();
      await running.ended;
    }
    const { rows } = readTable(openRecording(path.join(spool, 'job-4711')).nodes[0]!, COUNTED.name);
    const { code, output } = await record(spool, broker.address, rows + 50, 5).ended;
    assert.equal(output, 'passed over: 0; trouble: none\n');
    assert.equal(code, 0);
    await compare(spool, broker.address, 'killed.counted', rows + 50);
  });
});
