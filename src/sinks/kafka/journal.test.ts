import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { KafkaJournal } from './journal.ts';

const at = (bytes: number) => ({ 'job-1/node=c1': { load: [1, bytes] as [number, number] } });

async function inFolder(work: (file: string) => Promise<void>): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-journal-'));
  try {
    await work(path.join(folder, '.sinks/kafka.jsonl'));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

const bytes = (journal: KafkaJournal): number | undefined => journal.position('job-1/node=c1', 'load')?.bytes;

test('after a crash the transaction in doubt counts if Kafka has it, and not else', () =>
  inFolder(async (file) => {
    const journal = new KafkaJournal(file);
    journal.settle(0);
    journal.done(await journal.begin(at(100)));
    assert.equal(await journal.begin(at(200)), 2);
    // killed here
    const stored = new KafkaJournal(file);
    assert.equal(bytes(stored), 100);
    stored.settle(2);
    assert.equal(bytes(stored), 200);
    const lost = new KafkaJournal(file);
    lost.settle(1);
    assert.equal(bytes(lost), 100);
    assert.equal(await lost.begin(at(150)), 2);
    const again = new KafkaJournal(file);
    again.settle(2);
    assert.equal(bytes(again), 150);
  }));

test('a number whose transaction came to nothing is used again, and only the last one counts', () =>
  inFolder(async (file) => {
    const journal = new KafkaJournal(file);
    journal.settle(0);
    await journal.begin(at(100));
    journal.settle(0);
    assert.equal(bytes(journal), undefined);
    journal.done(await journal.begin(at(120)));
    await journal.begin(at(200));
    const next = new KafkaJournal(file);
    assert.equal(bytes(next), 120);
    next.settle(1);
    assert.equal(bytes(next), 120);
  }));

test('a torn line was never sent', () =>
  inFolder(async (file) => {
    const journal = new KafkaJournal(file);
    journal.settle(0);
    journal.done(await journal.begin(at(100)));
    journal.done(await journal.begin(at(200)));
    await journal.close();
    fs.appendFileSync(file, '{"number":3,"after":2,"reach');
    const next = new KafkaJournal(file);
    next.settle(2);
    assert.equal(bytes(next), 200);
    assert.equal(await next.begin(at(300)), 3);
    const last = new KafkaJournal(file);
    last.settle(3);
    assert.equal(bytes(last), 300);
  }));

test('the numbers go on where Kafka is, when the file was lost', () =>
  inFolder(async (file) => {
    const journal = new KafkaJournal(file);
    journal.settle(41);
    assert.equal(await journal.begin(at(1)), 42);
  }));

test('recordings that are gone are forgotten', () =>
  inFolder(async (file) => {
    const journal = new KafkaJournal(file);
    journal.settle(0);
    journal.done(await journal.begin(at(100)));
    journal.keep(path.dirname(file));
    assert.equal(bytes(journal), undefined);
  }));

test('a recording that has gone is forgotten for good, whatever is in flight or half written', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-journal-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'kafka.jsonl');
  const journal = new KafkaJournal(file);
  journal.done(await journal.begin({ 'job-1/node=c1': { meminfo: [1, 10] }, 'job-2/node=c1': { meminfo: [1, 20] } }));
  const number = await journal.begin({ 'job-2/node=c1': { meminfo: [1, 30] } });
  journal.forgetAll(['job-1/node=c1']);
  // killed here, then started again: a recording by the same name may be there
  const next = new KafkaJournal(file);
  next.settle(number);
  assert.equal(next.position('job-1/node=c1', 'meminfo'), undefined);
  assert.deepEqual(next.position('job-2/node=c1', 'meminfo'), { part: 1, bytes: 30 });
  fs.appendFileSync(file, '{"number":3,"af');
  next.keep(folder);
  const last = new KafkaJournal(file);
  last.settle(number);
  assert.equal(last.position('job-2/node=c1', 'meminfo'), undefined, 'its folder is not there');
});
