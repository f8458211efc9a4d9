import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { testAgent, testJob, testRecording } from '../../../test/made/spool.ts';
import type { Job } from '../../recording/folder/job.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { BEGINNING } from '../../recording/live/position.ts';
import { Tail } from '../../recording/live/tail.ts';
import { KafkaCollector } from '../../sinks/kafka/body.ts';
import { archiveStreams } from '../../sinks/spool/streams.ts';
import { ImportBody } from '../../sinks/victoria/body.ts';
import { VictoriaStream } from '../../sinks/victoria/stream.ts';
import { gpu } from '../../sources/gpu/gpu.ts';
import { jobAsFiled } from '../receive/names.ts';

const skip = process.getuid!() !== 0 && 'needs root: users own their folders in an archive';
const [ADA, BOB] = [65_533, 65_532];

test('users change what is in their folders of an archive, and no sink believes it to be of others', { skip }, (t) => {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-archive-'));
  t.after(() => fs.rmSync(archive, { recursive: true, force: true }));
  const [ada, bob] = ['user=ada', 'user=bob'].map((name) => path.join(archive, name)) as [string, string];
  const secret = testRecording(bob, 'job=9', testJob('9', { user: 'bob' }), testAgent('c1'));
  fs.writeFileSync(path.join(secret, 'counted.csv'), 'time,who,n,label\n1,bob,1,secret\n');
  const mine = testRecording(ada, 'job=1', testJob('1'), testAgent('c1'));
  fs.writeFileSync(path.join(mine, 'counted.csv'), 'time,who,n,label\n1,ada,1,mine\n');
  // another's job, another's name, another's file, a pipe that nobody writes to, and a mark that is not hers to take off
  testRecording(ada, 'job=2', testJob('2', { user: 'bob' }), testAgent('c1'));
  testRecording(ada, 'job=3', testJob('fleet-2026-11-15', { user: '', uid: -1 }), testAgent('c1'));
  const linked = testRecording(ada, 'job=4', testJob('4'), testAgent('c1'));
  testRecording(ada, 'job=5+own', testJob('5'), testAgent('c1'));
  testRecording(ada, 'job=6', testJob('6', { recorded_by: 'user' }), testAgent('c1'));
  execFileSync('chown', ['-R', String(ADA), ada]);
  execFileSync('chown', ['-R', String(BOB), bob]);
  fs.symlinkSync(path.join(secret, 'counted.csv'), path.join(linked, 'counted.csv'));
  execFileSync('mkfifo', [path.join(linked, 'meminfo.csv')]);
  fs.chownSync(path.join(linked, 'meminfo.csv'), ADA, ADA);
  fs.symlinkSync('/dev/zero', path.join(linked, 'disk.csv'));
  fs.symlinkSync(secret, path.join(path.dirname(linked), 'node=c2'));

  const streams = archiveStreams(archive, jobAsFiled).list();
  const read = streams.flatMap((stream) =>
    [...stream.parts.keys()].map((table) => {
      const tail = new Tail(stream.folder, table, stream.owner);
      const lines = tail.wholeLines(BEGINNING, 1 << 16);
      tail.close();
      return `${stream.job.user} ${stream.job.id} ${lines?.bytes.toString().trim()}`;
    }),
  );
  assert.deepEqual(read.sort(), ['ada 1 1,ada,1,mine', 'bob 9 1,bob,1,secret']);
  const streamNames = streams.map(({ job, node }) => `${job.user} ${job.id} ${node} ${job.recorded_by ?? 'agent'}`);
  assert.deepEqual(streamNames.sort(), [
    'ada 1 c1 agent',
    'ada 4 c1 agent',
    'ada 5 c1 user',
    'ada 6 c1 agent',
    'bob 9 c1 agent',
  ]);
  // what is opened is checked, too: it may have been put there a moment ago
  const late = new Tail(linked, 'counted', ADA);
  assert.equal(late.wholeLines(BEGINNING, 1 << 16), undefined);
});

test('what a user can have written speaks for no node: no series without the user, no key of the node alone', {
  skip,
}, (t) => {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-archive-'));
  t.after(() => fs.rmSync(archive, { recursive: true, force: true }));
  const agent = testAgent('c2', { tables: [gpu.table] });
  const cells = new Map([
    ['gpu', '0'],
    ['utilization_percent', '50'],
  ]);
  const names = ['time', ...[...gpu.table.keys, ...gpu.table.columns].map(({ name }) => name)];
  const text = `${names}\n${names.map((name) => (name === 'time' ? '1000000' : (cells.get(name) ?? '')))}\n`;
  const add = (shelf: string, name: string, job: Job): void =>
    fs.writeFileSync(path.join(testRecording(path.join(archive, shelf), name, job, agent), 'gpu.csv'), text);
  add('user=ada', 'job=9', testJob('9'));
  add('fleet', 'day=2026-11-15', testJob('fleet-2026-11-15', { user: '', uid: -1 }));
  execFileSync('chown', ['-R', String(ADA), path.join(archive, 'user=ada')]);

  const streams = archiveStreams(archive, jobAsFiled);
  const ofGpus = streams.list().map((state) => {
    const body = new ImportBody();
    new VictoriaStream(state, { omnistat: true }, () => undefined).collect(body, 1 << 20);
    const metricLines = body
      .take()
      .split('\n')
      .filter((line) => line.includes('utilization'));
    return metricLines.map((line) => Object.entries(JSON.parse(line).metric).join(' ')).sort();
  });
  assert.deepEqual(ofGpus.sort(), [
    ['__name__,rocm_utilization_percentage instance,c2 card,0', '__name__,tacho_gpu_utilization_ratio node,c2 gpu,0'],
    ['__name__,tacho_gpu_utilization_ratio node,c2 job,9 user,ada gpu,0'],
  ]);
  const journal = { position: () => undefined, forget: () => {} };
  const collector = new KafkaCollector(archive, { prefix: 'tacho', byUser: false }, journal, streams);
  t.after(() => collector.close());
  const messages = collector.collect(streams.list(), true).batches.flat();
  const rows = messages
    .filter(({ topic }) => topic === 'tacho.gpu')
    .map(({ key, value }) => [key, JSON.parse(value!).job]);
  assert.deepEqual(rows.sort(), [
    ['ada/c2', '9'],
    ['c2', 'fleet-2026-11-15'],
  ]);
});

test('a job keeps its marks while nothing changes', (t) => {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-archive-'));
  t.after(() => fs.rmSync(archive, { recursive: true, force: true }));
  testRecording(path.join(archive, 'user=ada'), 'job=5+own', testJob('5'), testAgent('c1'));
  const streams = archiveStreams(archive, jobAsFiled);
  const [first] = streams.list();
  assert.equal(first?.job.recorded_by, 'user');
  assert.equal(streams.list()[0]?.job, first?.job);
  replaceJson(path.join(archive, 'user=ada/job=5+own/job.json'), testJob('5', { name: 'again' }));
  assert.equal(streams.list()[0]?.job.name, 'again');
});
