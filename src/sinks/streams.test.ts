import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { replaceJson } from '../recording/replace.ts';
import { archiveStreams, spoolStreams } from './streams.ts';
import { testAgent, testJob, testRecording } from './test-spool.ts';

let spool: string;
beforeEach(() => {
  spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-streams-'));
});
afterEach(() => fs.rmSync(spool, { recursive: true, force: true }));

const HOUR = 3600e6;
const now = (): number => Date.now() * 1000;
const today = (): string => `fleet-${new Date().toISOString().slice(0, 10)}`;
const fleetJob = (id: string) => testJob(id, { user: '', uid: -1 });

test('streams are the nodes of the recordings in a spool, with the tables that they have by now', () => {
  const streams = spoolStreams(spool);
  assert.deepEqual(streams.list(), []);
  const folder = testRecording(spool, 'job-7', testJob('7'), testAgent('c1'));
  fs.mkdirSync(path.join(spool, '.sinks'));
  testRecording(spool, today(), fleetJob(today()), testAgent('c1'));
  assert.deepEqual(
    streams
      .list()
      .map(({ kind, node, job, ended }) => [kind, node, job.id, ended])
      .sort(),
    [
      ['fleet', 'c1', today(), false],
      ['job', 'c1', '7', false],
    ],
  );
  const tables = (): string[] => [
    ...streams
      .list()
      .find((each) => each.folder === folder)!
      .parts.keys(),
  ];
  fs.writeFileSync(path.join(folder, 'meminfo.csv'), 'time\n');
  assert.deepEqual(tables(), ['meminfo']);
  fs.renameSync(path.join(folder, 'meminfo.csv'), path.join(folder, 'meminfo.0001.csv'));
  fs.writeFileSync(path.join(folder, 'vmstat.csv'), 'time\n');
  assert.deepEqual(tables().sort(), ['meminfo', 'vmstat']);
  assert.equal(
    streams
      .list()
      .find((each) => each.folder === folder)!
      .parts.get('meminfo')!.newest,
    1,
  );
  fs.rmSync(path.join(spool, 'job-7'), { recursive: true });
  assert.deepEqual(
    streams.list().map((each) => each.job.id),
    [today()],
  );
});

test('a job’s stream has ended when agent and job say so, or when its agent is long gone', () => {
  const streams = spoolStreams(spool);
  const ended = (time = now()): boolean => streams.list(time)[0]!.ended;
  const folder = testRecording(spool, 'job-7', testJob('7'), testAgent('c1'));
  fs.writeFileSync(path.join(folder, 'meminfo.csv'), 'time\n');
  assert.equal(ended(), false);
  // a service that is stopped and started again goes on with the job
  replaceJson(path.join(folder, 'agent.json'), testAgent('c1', { end: now() }));
  assert.equal(ended(), false);
  replaceJson(path.join(spool, 'job-7/job.json'), testJob('7', { end: now() }));
  assert.equal(ended(), true);
  replaceJson(path.join(folder, 'agent.json'), testAgent('c1', { pid: process.pid }));
  for (let i = 0; i < 20; i++) streams.list();
  assert.equal(ended(), false, 'the job is over, but its agent still writes');
  assert.equal(ended(now() + HOUR), true);
  replaceJson(path.join(spool, 'job-7/job.json'), testJob('7'));
  replaceJson(path.join(folder, 'agent.json'), testAgent('c1', { pid: process.pid, start: 1 }));
  for (let i = 0; i < 20; i++) streams.list(now() + 3 * HOUR);
  assert.equal(ended(now() + 3 * HOUR), true, 'killed, and nobody went on with it');
});

test('a day’s stream ends with the day', () => {
  const streams = spoolStreams(spool);
  const folder = testRecording(spool, today(), fleetJob(today()), testAgent('c1', { end: now() }));
  assert.equal(streams.list()[0]!.ended, false, 'the service may be started again today');
  replaceJson(path.join(folder, 'agent.json'), testAgent('c1'));
  assert.equal(streams.list()[0]!.ended, false);
  testRecording(spool, 'fleet-2020-02-29', fleetJob('fleet-2020-02-29'), testAgent('c1', { end: now() }));
  assert.deepEqual(
    streams
      .list()
      .map((each) => [each.job.id, each.ended])
      .sort(),
    [
      ['fleet-2020-02-29', true],
      [today(), false],
    ],
  );
});

test('what cannot be read is waited for', () => {
  const streams = spoolStreams(spool);
  const folder = path.join(spool, 'job-7/node=c1');
  fs.mkdirSync(folder, { recursive: true });
  assert.deepEqual(streams.list(), []);
  fs.writeFileSync(path.join(spool, 'job-7/job.json'), '{"format": 1');
  assert.deepEqual(streams.list(), []);
  replaceJson(path.join(spool, 'job-7/job.json'), testJob('7'));
  assert.equal(streams.list()[0]!.agent, undefined);
});

test('the streams of an archive', () => {
  testRecording(path.join(spool, 'user=ada'), 'job=17', testJob('17'), testAgent('c1'));
  testRecording(path.join(spool, 'user=ada'), '.tmp', testJob('18'), testAgent('c1'));
  const day = testJob('fleet-2026-11-15', { user: '', uid: -1 });
  testRecording(path.join(spool, 'fleet'), 'day=2026-11-15', day, testAgent('c1'));
  fs.mkdirSync(path.join(spool, '.sinks'));
  const streams = archiveStreams(spool);
  const names = (): string[] => streams.list().map((s) => `${s.kind} ${s.job.id} ${s.node}`);
  assert.deepEqual(names().sort(), ['fleet fleet-2026-11-15 c1', 'job 17 c1']);
  testRecording(path.join(spool, 'user=bob'), 'job=19', testJob('19'), testAgent('c2'));
  assert.deepEqual(names().sort(), ['fleet fleet-2026-11-15 c1', 'job 17 c1', 'job 19 c2']);
  fs.rmSync(path.join(spool, 'user=ada/job=17'), { recursive: true });
  assert.deepEqual(names().sort(), ['fleet fleet-2026-11-15 c1', 'job 19 c2']);
});
