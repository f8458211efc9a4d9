import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as os from 'node:os';
import * as path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { testAgent, testJob, testRecording } from '../../../test/made/spool.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { writesHere } from '../../recording/folder/written-here.ts';
import { archiveStreams, spoolStreams } from './streams.ts';

let spool: string;
beforeEach(() => {
  spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-streams-'));
});
afterEach(() => fs.rmSync(spool, { recursive: true, force: true }));

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

/** Clocks that a test sets: `pass` lets time go by, `set` sets the clock on the wall. */
function testClocks() {
  let gone = 0;
  let ahead = 0;
  const start = performance.now();
  return {
    wall: () => Date.now() + gone + ahead,
    steady: () => performance.now() - start + gone,
    pass(seconds: number) {
      gone += seconds * 1000;
    },
    set(seconds: number) {
      ahead += seconds * 1000;
    },
  };
}

test('a job’s stream has ended when agent and job say so, or when its agent is long gone', () => {
  const clocks = testClocks();
  const streams = spoolStreams(spool, clocks);
  // what has ended is looked at now and then
  const ended = (): boolean => {
    for (let i = 0; i < 20; i++) streams.list();
    return streams.list()[0]!.ended;
  };
  const folder = testRecording(spool, 'job-7', testJob('7'), testAgent('c1'));
  fs.writeFileSync(path.join(folder, 'meminfo.csv'), 'time\n');
  assert.equal(ended(), false);
  // a service that is stopped and started again goes on with the job
  replaceJson(path.join(folder, 'agent.json'), testAgent('c1', { end: now() }));
  assert.equal(ended(), false);
  replaceJson(path.join(spool, 'job-7/job.json'), testJob('7', { end: now() }));
  assert.equal(ended(), true);
  replaceJson(path.join(folder, 'agent.json'), testAgent('c1', { pid: process.pid }));
  assert.equal(ended(), false, 'the job is over, but its agent still writes');
  clocks.pass(3600);
  assert.equal(ended(), true);
  replaceJson(path.join(spool, 'job-7/job.json'), testJob('7'));
  replaceJson(path.join(folder, 'agent.json'), testAgent('c1', { pid: process.pid, start: 1 }));
  clocks.pass(3600);
  ended();
  clocks.pass(3600);
  assert.equal(ended(), true, 'killed, and nobody went on with it');
});

for (const seconds of [3600, -3600, 30 * 86_400]) {
  test(`a clock that is set by ${seconds} s ends no job, and no day`, () => {
    const clocks = testClocks();
    const streams = spoolStreams(spool, clocks);
    const node = testAgent('c1', { interval_seconds: 10, pid: 2 ** 22 + 1 });
    // its process is not there: another one may go on with the job
    const agent = { ...node, facts: { ...node.facts, hostname: os.hostname() } };
    const job = testRecording(spool, 'job-7', testJob('7'), agent);
    const day = today();
    testRecording(spool, day, fleetJob(day), testAgent('c1'));
    const ended = (): Record<string, boolean> => {
      for (let i = 0; i < 20; i++) streams.list();
      return Object.fromEntries(streams.list().map((each) => [each.kind, each.ended]));
    };
    fs.writeFileSync(path.join(job, 'meminfo.csv'), 'time\n');
    assert.deepEqual(ended(), { fleet: false, job: false });
    clocks.set(seconds);
    clocks.pass(40);
    assert.deepEqual(ended(), { fleet: false, job: false });
    clocks.pass(600);
    const dayOver = clocks.wall() > Date.parse(`${day.slice('fleet-'.length)}T24:00:00Z`);
    assert.deepEqual(ended(), { fleet: dayOver, job: true }, 'nobody has gone on with it for ten minutes');
  });
}

test('what this process writes has not ended, however seldom it samples and whatever agent began it', () => {
  const clocks = testClocks();
  const streams = spoolStreams(spool, clocks);
  const folder = testRecording(spool, 'job-7', testJob('7'), testAgent('c1', { start: 1, interval_seconds: 3600 }));
  fs.writeFileSync(path.join(folder, 'meminfo.csv'), 'time\n');
  const leave = writesHere(folder);
  clocks.pass(3700);
  clocks.set(86_400);
  assert.equal(streams.list()[0]!.ended, false);
  leave();
  clocks.pass(2 * 3600);
  assert.equal(streams.list()[0]!.ended, true);
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
  const streams = archiveStreams(spool, (_shelf, _name, job) => job);
  const names = (): string[] => streams.list().map((s) => `${s.kind} ${s.job.id} ${s.node}`);
  assert.deepEqual(names().sort(), ['fleet fleet-2026-11-15 c1', 'job 17 c1']);
  testRecording(path.join(spool, 'user=bob'), 'job=19', testJob('19'), testAgent('c2'));
  assert.deepEqual(names().sort(), ['fleet fleet-2026-11-15 c1', 'job 17 c1', 'job 19 c2']);
  fs.rmSync(path.join(spool, 'user=ada/job=17'), { recursive: true });
  assert.deepEqual(names().sort(), ['fleet fleet-2026-11-15 c1', 'job 19 c2']);
});

test('links in an archive are not followed: they would lead to what is not their user’s', () => {
  testRecording(path.join(spool, 'user=ada'), 'job=17', testJob('17'), testAgent('c1'));
  const mine = testRecording(path.join(spool, 'user=eve'), 'job=18', testJob('18'), testAgent('c1'));
  fs.symlinkSync(path.join(spool, 'user=ada/job=17'), path.join(spool, 'user=eve/job=19'));
  fs.symlinkSync(path.join(spool, 'user=ada/job=17/node=c1'), path.join(path.dirname(mine), 'node=c2'));
  const listed = archiveStreams(spool, (_shelf, _name, job) => job).list();
  const streamNames = listed.map(({ recording, node }) => `${path.basename(recording)} ${node}`);
  assert.deepEqual(streamNames.sort(), ['job=17 c1', 'job=18 c1']);
});

test('a link to itself in one folder of an archive stops nobody else', () => {
  const ada = path.join(spool, 'user=ada/job=17');
  const eve = path.join(spool, 'user=eve/job=18');
  testRecording(path.dirname(ada), 'job=17', testJob('17'), testAgent('c1'));
  const mine = testRecording(path.dirname(eve), 'job=18', testJob('18'), testAgent('c1'));
  const streams = archiveStreams(spool, (_shelf, _name, job) => job);
  const agents = (): string[] => streams.list().map(({ job, agent }) => `${job.id} ${agent?.node}`);
  assert.deepEqual(agents().sort(), ['17 c1', '18 c1']);
  for (const file of [path.join(mine, 'agent.json'), path.join(eve, 'job.json')]) {
    fs.rmSync(file);
    fs.symlinkSync(path.basename(file), file);
    assert.deepEqual(agents().sort(), ['17 c1', '18 c1'], 'it is as it was before');
    assert.equal(streams.of(eve)[0]?.agent?.node, 'c1');
  }
  const later = archiveStreams(spool, (_shelf, _name, job) => job);
  assert.deepEqual([later.list().length, later.of(eve).length, later.of(ada).length], [1, 0, 1]);
});

test('what goes wrong with one recording concerns no other, and it is read again when it goes right', (t) => {
  for (const user of ['ada', 'eve'])
    testRecording(path.join(spool, `user=${user}`), 'job=1', testJob(user), testAgent('c1'));
  const bad = path.join(spool, 'user=eve/job=1/node=c1');
  const real = fs.lstatSync;
  let broken = true;
  const mocked = t.mock.method(fs, 'lstatSync', (...args: Parameters<typeof real>) => {
    if (broken && args[0] === bad) throw Object.assign(new Error('EIO'), { code: 'EIO' });
    return real(...args);
  });
  syncBuiltinESMExports();
  t.after(() => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  });
  const streams = archiveStreams(spool, (_shelf, _name, job) => job);
  const ids = (): string[] => streams.list().map(({ job }) => job.id);
  assert.deepEqual(ids(), ['ada']);
  assert.deepEqual(streams.of(path.dirname(bad)), []);
  broken = false;
  assert.deepEqual(ids().sort(), ['ada', 'eve']);
});

test('a folder of an archive without an end is not read to it, and that is said once', (t) => {
  fs.mkdirSync(path.join(spool, 'user=eve'));
  testRecording(path.join(spool, 'user=ada'), 'job=17', testJob('17'), testAgent('c1'));
  const real = fs.opendirSync;
  let read = 0;
  const endless = { readSync: () => ({ name: `job=${read++}` }), closeSync: () => {} };
  const mocked = t.mock.method(fs, 'opendirSync', (...args: Parameters<typeof real>) =>
    String(args[0]).endsWith('user=eve') ? endless : real(...args),
  );
  syncBuiltinESMExports();
  t.after(() => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  });
  const messages: string[] = [];
  const streams = archiveStreams(
    spool,
    (_shelf, _name, job) => job,
    undefined,
    undefined,
    (text) => messages.push(text),
  );
  assert.deepEqual(
    streams.list().map(({ job }) => job.id),
    ['17'],
  );
  fs.mkdirSync(path.join(spool, 'user=eve/job=more'));
  streams.list();
  assert.deepEqual(messages, ['user=eve has 100000 recordings or more: what is beyond is not sent on']);
});

test('a folder whose owner has set its time to one that is to come is read when it has changed, not always', () => {
  const folder = testRecording(path.join(spool, 'user=eve'), 'job=1', testJob('1'), testAgent('c1'));
  fs.utimesSync(folder, 4e9, 4e9);
  const wall = (): number => Date.now() + 1_000;
  const streams = archiveStreams(spool, (_shelf, _name, job) => job, { wall, steady: () => 0 });
  const [first] = streams.list();
  assert.equal(streams.list()[0], first);
  fs.writeFileSync(path.join(folder, 'counted.csv'), 'time\n');
  fs.utimesSync(folder, 4e9, 4e9);
  assert.deepEqual([...streams.list()[0]!.parts.keys()], ['counted']);
});

test('recordings of an archive in which nothing happens cost little; what changes in them is seen soon, or when asked', (t) => {
  for (let job = 0; job < 40; job++)
    testRecording(path.join(spool, 'user=ada'), `job=${job}`, testJob(`${job}`), testAgent('c1'));
  let now = 0;
  // later than the files were made, however quick that was
  const wall = (): number => Date.now() + 1_000;
  const streams = archiveStreams(spool, (_shelf, _name, job) => job, { wall, steady: () => now });
  const mocked = t.mock.method(fs, 'lstatSync');
  syncBuiltinESMExports();
  t.after(() => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  });
  const looks = (): number => {
    const before = mocked.mock.callCount();
    streams.list();
    return mocked.mock.callCount() - before;
  };
  looks();
  const busy = looks();
  assert.ok(busy >= 80, `${busy}`);
  now += 61_000;
  for (let i = 0; i < 10; i++) assert.ok(looks() <= busy / 5, 'a tenth of them are looked at');
  const tables = (job: number): string[] => {
    const state = streams.list().find(({ recording }) => path.basename(recording) === `job=${job}`);
    return [...state!.parts.keys()];
  };
  for (const job of [7, 8]) fs.writeFileSync(path.join(spool, `user=ada/job=${job}/node=c1/counted.csv`), 'time\n');
  const [asked] = streams.of(path.join(spool, 'user=ada/job=7'));
  assert.deepEqual([...asked!.parts.keys()], ['counted']);
  assert.deepEqual(tables(7), ['counted']);
  for (let i = 0; i < 10; i++) streams.list();
  assert.deepEqual(tables(8), ['counted']);
});
