import assert from 'node:assert/strict';
import { test } from 'node:test';
import { madeJob } from '../../../test/made/outlier-jobs.ts';
import { findOutliers } from './outliers.ts';

const job = (id: string, slow = 1) =>
  madeJob(
    id,
    [
      { tags: 'op:build', cpu_time: 4e6 + Number(id) * 1000, duration: 5e6 + Number(id) * 900 },
      {
        tags: 'op:test',
        start: 6e6,
        cpu_time: (2e6 + Number(id) * 700) * slow,
        duration: (3e6 + Number(id) * 800) * slow,
      },
    ],
    { duration: 1e7 + Number(id) * 1e4 + (slow - 1) * 3e6 },
  );

test('a job that is slow is found, and in which operation', async () => {
  const jobs = [job('1'), job('2'), job('3'), job('4', 5), job('5'), job('6')];
  const found = await findOutliers('jobs', jobs);
  assert.deepEqual(
    found.groups[0]!.outliers.map((one) => [
      one.job,
      one.features
        .filter((f) => f.apart)
        .map((f) => f.feature)
        .sort(),
    ]),
    [['4', ['cpu_time', 'duration']]],
  );
  const operations = await findOutliers('operations', jobs);
  assert.deepEqual(
    operations.groups.map(({ name, outliers }) => [name, outliers.map((one) => one.job)]),
    [
      ['op:build', []],
      ['op:test', ['4']],
    ],
  );
});

test('processes are compared with those of the same program, and only what matters counts', async () => {
  const processes = Array.from({ length: 60 }, (_, i) => ({
    exename: 'cc',
    cpu_time: 1e6 + (i % 7) * 1e4,
    duration: 2e6,
  }));
  processes[17]!.cpu_time = 9e6;
  const tiny = Array.from({ length: 60 }, (_, i) => ({ exename: 'true', cpu_time: 10 + (i % 3), duration: 20 }));
  tiny[3]!.cpu_time = 400;
  const long = { exename: 'link', cpu_time: 5e7, duration: 6e7 };
  const found = await findOutliers('processes', [madeJob('1', [...processes, ...tiny, long])]);
  assert.deepEqual(
    found.groups.map(({ name, rows, outliers }) => [name, rows, outliers.map(({ pid }) => pid)]),
    [
      ['cc', 60, [1017]],
      ['true', 60, []],
      ['link', 1, []],
    ],
  );
  assert.equal(found.groups[0]!.outliers[0]!.excess, 9e6 - 1.03e6);
  const everything = await findOutliers('processes', [madeJob('1', [...processes, ...tiny, long])], { floor: 0 });
  assert.deepEqual(
    everything.groups[1]!.outliers.map(({ pid }) => pid),
    [1063],
  );
});

test('threads of one process', async () => {
  const processes = Array.from({ length: 20 }, (_, i) => ({ cpu_time: 1e6 + (i % 5) * 1e4 }));
  processes[2]!.cpu_time = 2e7;
  const found = await findOutliers('threads', [madeJob('1', processes)]);
  assert.deepEqual(
    found.groups[0]!.outliers.map(({ tid }) => tid),
    [1002],
  );
  const one = await findOutliers('threads', [madeJob('1', processes)], { pid: 1003 });
  assert.equal(one.groups[0]!.rows, 1);
});

test('what weakens the answer is said', async () => {
  const jobs = Array.from({ length: 30 }, (_, i) =>
    madeJob(`${i}`, [{ cpu_time: 4e6 + ((i * 7) % 31) * 1e4 }], { duration: 1e7 + ((i * 11) % 29) * 1e4 }),
  );
  assert.deepEqual((await findOutliers('jobs', jobs)).notes, []);
  const bare = madeJob('bare', [], { duration: 1e7 });
  const among = await findOutliers('jobs', [...jobs, bare]);
  assert.deepEqual(
    among.groups[0]!.incomplete.map(({ job: id }) => id),
    ['bare'],
  );
  assert.match(among.notes.join(), /^1 of 31 jobs was not judged by features together, lacking .*cpu_time.*: bare$/);
  const reference = (rows: number) => ({
    model: 'm',
    tables: new Map([
      ['', { rows, features: new Map([['duration', Float64Array.from({ length: rows }, () => 1e7)]]) }],
    ]),
  });
  assert.deepEqual((await findOutliers('jobs', jobs, { reference: reference(3) })).notes, [
    'the model has 3 jobs, of the 10 or more that are wanted: chance alone puts many jobs outside so few',
  ]);
  assert.deepEqual((await findOutliers('jobs', jobs, { reference: reference(10) })).notes, []);
});
