import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { openFiles } from '../../../test/made/open-files.ts';
import { COUNTED, countedRows, testAgent, testJob, testRecording } from '../../../test/made/spool.ts';
import { TableWriter } from '../../recording/live/append.ts';
import { spoolStreams } from '../spool/streams.ts';
import { type KafkaBatch, KafkaCollector, type Stored } from './body.ts';
import type { Reached } from './journal.ts';

const naming = { prefix: 'tacho', byUser: false };

function remembering(): Stored & { take(reached: Reached): void } {
  const merged: Reached = {};
  return {
    take: (reached) => {
      for (const [stream, tables] of Object.entries(reached)) merged[stream] = { ...merged[stream], ...tables };
    },
    position(stream, table) {
      const at = merged[stream]?.[table];
      return at === undefined ? undefined : { part: at[0], bytes: at[1] };
    },
    forget: (stream, table) => void delete merged[stream]?.[table],
  };
}

test('what waits is taken in bounded steps, in requests that brokers take, until nothing is left', async () => {
  const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-batch-'));
  try {
    const ROWS = 20_000;
    const folder = testRecording(spool, 'job-1', testJob('1'), testAgent('c1', { start: 1_700_000_000_000_000 }));
    const writer = new TableWriter(folder, COUNTED, { rollBytes: 100_000 });
    for (let n = 0; n < ROWS; n += 100) writer.append(countedRows('a', n, n + 100));
    await writer.close();
    const stored = remembering();
    const collector = new KafkaCollector(spool, naming, stored, spoolStreams(spool));
    const streams = spoolStreams(spool);
    const numbers: number[] = [];
    let steps = 0;
    for (let more = true; more; steps++) {
      const batch = collector.collect(streams.list(), true);
      for (const messages of batch.batches) {
        assert.ok(messages.length > 0 && messages.length <= 2000, `${messages.length} messages`);
        const rows = messages.filter(({ topic }) => topic === 'tacho.counted');
        const bytes = rows.reduce((sum, { value }) => sum + Buffer.byteLength(value!), 0);
        assert.ok(bytes <= 700_000, `${bytes} bytes`);
        for (const { value } of rows) numbers.push(JSON.parse(value!).n);
      }
      // full ones, but for the last
      assert.ok(batch.batches.length <= Math.ceil(batch.rows / 2000) + 1);
      stored.take(batch.reached);
      collector.stored(batch);
      more = batch.more;
    }
    collector.close();
    assert.ok(steps > 2, `${steps} steps`);
    assert.deepEqual(
      numbers,
      Array.from({ length: ROWS }, (_, n) => n),
    );
  } finally {
    fs.rmSync(spool, { recursive: true });
  }
});

test('definitions, jobs and nodes are told once, and again when they change', () => {
  const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-batch-'));
  try {
    testRecording(spool, 'job-1', testJob('1'), testAgent('c1', { start: 1_700_000_000_000_000 }));
    const node = 'tacho.nodes ada/1 c1 1700000000000000';
    const collector = new KafkaCollector(spool, naming, remembering(), spoolStreams(spool));
    const topics = (now: number): string[] => {
      const batch = collector.collect(spoolStreams(spool).list(), true, now);
      collector.stored(batch);
      return batch.batches.flat().map(({ topic, key }) => `${topic} ${key}`);
    };
    const version = /^tacho\.tables counted [0-9a-f]{12}$/;
    const first = topics(1_000_000);
    assert.equal(first.length, 3);
    assert.deepEqual([first[0], first[2]], ['tacho.jobs ada/1', node]);
    assert.match(first[1]!, version);
    assert.deepEqual(topics(1_001_000), []);
    testRecording(spool, 'job-1', testJob('1', { name: 'other' }), testAgent('c1', { start: 1_700_000_000_000_000 }));
    assert.deepEqual(topics(1_002_000), ['tacho.jobs ada/1']);
    assert.deepEqual(topics(1_050_000), [node]);
  } finally {
    fs.rmSync(spool, { recursive: true });
  }
});

test('a job of several nodes is told once, and again when nobody stored it', () => {
  const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-batch-'));
  try {
    const job = testJob('1', { nodes: ['c1', 'c2'] });
    for (const node of ['c1', 'c2']) testRecording(spool, 'job-1', job, testAgent(node));
    const streams = spoolStreams(spool);
    const collector = new KafkaCollector(spool, naming, remembering(), streams);
    const jobs = (stored: boolean): number => {
      const batch = collector.collect(streams.list(), true);
      if (stored) collector.stored(batch);
      return batch.batches.flat().filter(({ topic }) => topic === 'tacho.jobs').length;
    };
    assert.deepEqual([jobs(false), jobs(true), jobs(true)], [1, 1, 0]);
  } finally {
    fs.rmSync(spool, { recursive: true });
  }
});

test('a stream is done when it is stored where each table ends, which is said at once, and again when records change', async () => {
  const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-batch-'));
  try {
    const agent = testAgent('c1', { start: 1_700_000_000_000_000, end: 1_700_000_010_000_000 });
    const over = { state: 'completed', end: 1_700_000_010_000_000 } as const;
    const folder = testRecording(spool, 'job-1', testJob('1', over), agent);
    const writer = new TableWriter(folder, COUNTED);
    writer.append(countedRows('a', 0, 10));
    await writer.close();
    const size = fs.statSync(path.join(folder, 'counted.csv')).size;
    const journal = remembering();
    const collector = new KafkaCollector(spool, naming, journal, spoolStreams(spool));
    const [stream] = spoolStreams(spool).list();
    const ends = (batch: KafkaBatch): unknown[] =>
      batch.batches.flat().flatMap(({ topic, value }) => (topic === 'tacho.nodes' ? [JSON.parse(value!).end] : []));
    const store = (batch: KafkaBatch): void => {
      journal.take(batch.reached);
      collector.stored(batch);
    };
    const end = { counted: { part: 1, bytes: size } };

    const rows = collector.collect([stream!], false);
    assert.deepEqual([rows.rows, rows.more, ends(rows)], [10, true, [undefined]]);
    store(rows);
    assert.equal(collector.isDone(stream!), false);
    const failing = collector.collect([stream!], false);
    assert.deepEqual(ends(failing).at(-1), end);
    assert.equal(collector.isDone(stream!), false);
    collector.failed();
    const collected = collector.collect([stream!], false);
    assert.deepEqual([collected.more, ends(collected).at(-1)], [false, end]);
    store(collected);
    assert.equal(collector.isDone(stream!), true);

    const later = { ...stream!, job: { ...stream!.job, state: 'failed' as const } };
    assert.equal(collector.isDone(later), false);
    const again = collector.collect([later], false);
    assert.ok(again.batches.flat().some(({ topic }) => topic === 'tacho.jobs'));
    assert.deepEqual(ends(again).at(-1), end);
    store(again);
    collector.close();
    assert.equal(collector.isDone(later), true);
  } finally {
    fs.rmSync(spool, { recursive: true });
  }
});

test('a stream at rest is not read in every round; what is written to it, or was not stored, is collected at once', async () => {
  const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-batch-'));
  try {
    const folder = testRecording(spool, 'job-1', testJob('1'), testAgent('c1', { start: 1_700_000_000_000_000 }));
    const writer = new TableWriter(folder, COUNTED);
    writer.append(countedRows('a', 0, 10));
    const journal = remembering();
    let visits = 0;
    const position: Stored['position'] = (...at) => {
      visits++;
      return journal.position(...at);
    };
    const counting: Stored = { ...journal, position };
    let written = 0;
    const streams = { ...spoolStreams(spool), lastWrite: () => written };
    const collector = new KafkaCollector(spool, naming, counting, streams);
    const [state] = streams.list();
    const round = (store = true): number => {
      const batch = collector.collect([state!], false);
      if (store) {
        journal.take(batch.reached);
        collector.stored(batch);
      } else collector.failed();
      return batch.rows;
    };
    assert.deepEqual([round(), round(), openFiles(folder)], [10, 0, 2]);
    visits = 0;
    for (let i = 0; i < 60; i++) assert.equal(round(), 0);
    // the writer's own
    assert.deepEqual([visits, openFiles(folder)], [2, 1]);
    writer.append(countedRows('a', 10, 15));
    written = performance.now();
    assert.deepEqual([round(false), round(), round()], [5, 5, 0]);
    await writer.close();
    collector.close();
  } finally {
    fs.rmSync(spool, { recursive: true });
  }
});
