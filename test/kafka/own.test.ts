import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { startFromKafka } from '../../src/hub/kafka/from-kafka.ts';
import { openArchiveSinks } from '../../src/hub/keep/archive-sinks.ts';
import { readJob } from '../../src/recording/folder/open.ts';
import { DAEMON, hubFor, NOBODY, record, senderTo } from '../hub/senders.ts';
import { eventually } from '../made/eventually.ts';
import { temporaryFolder } from '../tacho.ts';
import { sharedBroker, whyNoKafka } from './broker.ts';
import { kcat } from './kcat.ts';

test("no user's recording mixes with the cluster's in Kafka, or in an archive from there", {
  skip: whyNoKafka(),
}, async (t) => {
  const broker = await sharedBroker();
  const folder = temporaryFolder(t);
  const surroundings = { folder, environment: {}, site: folder, uid: process.getuid!() };
  const config = await loadConfig({ 'kafka.brokers': [broker.address], 'kafka.every': 0.2 }, undefined, surroundings);
  const hub = await hubFor(t, { archive: path.join(folder, 'archive'), usersWrite: true, holds: () => true });
  const sinks = (await openArchiveSinks(config, hub.archive, () => {}, false, hub.filing))!;
  let closed = false;
  t.after(() => (closed ? undefined : sinks.close(0)));
  const start = Date.now() * 1000 - 60e6;
  await record(await senderTo(t, hub, 'node c1'), DAEMON, 1, start);
  await record(await senderTo(t, hub, 'user nobody 65534'), NOBODY, 7, start);
  await record(await senderTo(t, hub, 'user daemon 1'), DAEMON, 9, start);
  const sent = ['user=daemon/job=436', 'user=daemon/job=436+own', 'user=nobody/job=436+own'];
  await eventually('all rows in Kafka', () => !sent.some((each) => sinks.holds(path.join(hub.archive, each))));
  await sinks.close(60);
  closed = true;

  const rows = (topic: string): unknown[] =>
    kcat(broker.address, topic)
      .map(({ key, value }) => [key, value.user, value.recorded_by, value.load1])
      .sort();
  // daemon can change what is in their folder, and speaks for no node
  const key = process.getuid!() === 0 ? 'daemon/c1' : 'c1';
  assert.deepEqual(rows('tacho.load'), Array(2).fill([key, 'daemon', undefined, 1]));
  assert.deepEqual(rows('tacho-own.load'), [
    ...Array(2).fill(['daemon/c1', 'daemon', 'user', 9]),
    ...Array(2).fill(['nobody/c1', 'nobody', 'user', 7]),
  ]);
  const keys = (topic: string): string[] => [...new Set(kcat(broker.address, topic).map(({ key }) => key))].sort();
  assert.deepEqual(keys('tacho.jobs'), ['daemon/436']);
  assert.deepEqual(keys('tacho-own.jobs'), ['daemon/436', 'nobody/436']);

  const second = await hubFor(t, { archive: path.join(folder, 'second'), holds: () => true });
  const reading = startFromKafka({ brokers: [broker.address], archive: second.archive, filing: second.filing });
  t.after(() => reading.close());
  const load = (name: string): string => path.join(second.archive, name, 'node=c1/load.csv');
  const all = ['user=daemon/job=436', 'user=daemon/job=436+own', 'user=nobody/job=436+own'];
  const lines = (name: string): string[] => fs.readFileSync(load(name), 'utf8').trim().split('\n');
  await eventually('all rows in the second archive', () =>
    all.every((name) => fs.existsSync(load(name)) && lines(name).length === 3),
  );
  assert.deepEqual(
    all.map((name) => lines(name)[2]!.split(',')[1]),
    ['1', '9', '7'],
  );
  assert.deepEqual(
    all.map((name) => readJob(path.join(second.archive, name))?.recorded_by),
    [undefined, 'user', 'user'],
  );
});
