import assert from 'node:assert/strict';
import { test } from 'node:test';
import { madeJob } from '../../../test/made/outlier-jobs.ts';
import { jobFeatures } from './features.ts';

test('a job is the sum of its processes; memory is that of the largest', async () => {
  const job = madeJob('1', [
    { cpu_time: 100, metrics: { rchar: 10, rssmax: 500, starttime: 7, cutime: 3 } },
    { cpu_time: 50, metrics: { rchar: 5, rssmax: 900, starttime: 8, cutime: 3 } },
    { cpu_time: Number.NaN, metrics: { rssmax: Number.NaN } },
  ]);
  const { job: features } = await jobFeatures(job);
  assert.deepEqual(Object.fromEntries(features), {
    duration: 60e6,
    cpu_time: 150,
    processes: 3,
    threads: 3,
    rchar: 15,
    rssmax: 900,
  });
});

test('what nobody knows is not there, and not 0', async () => {
  const { job: features } = await jobFeatures(madeJob('1', [{ cpu_time: Number.NaN, metrics: { rchar: Number.NaN } }]));
  assert.ok(!features.has('cpu_time') && !features.has('rchar'));
  const { job: none } = await jobFeatures(madeJob('1', [], { measured: { memory_peak: 7, cpu_time: 9 } }));
  assert.deepEqual(Object.fromEntries(none), { memory_peak: 7, cpu_time: 9, duration: 60e6 });
});

test('what processes say of themselves counts before what was measured around them', async () => {
  const { job } = await jobFeatures(madeJob('1', [{ cpu_time: 100 }], { measured: { cpu_time: 90, energy: 5 } }));
  assert.equal(job.get('cpu_time'), 100);
  assert.equal(job.get('energy'), 5);
});

test('operations have the same features, and the time in which they ran', async () => {
  const { operations } = await jobFeatures(
    madeJob('1', [
      { tags: 'op:build', start: 0, duration: 10, cpu_time: 1 },
      { tags: 'op:build', start: 5, duration: 10, cpu_time: 2 },
      { tags: 'op:test', start: 20, duration: 3, cpu_time: 4 },
      { tags: '' },
    ]),
  );
  assert.deepEqual(
    [...operations].map(([name, features]) => [name, features.get('duration'), features.get('cpu_time')]),
    [
      ['op:build', 15, 3],
      ['op:test', 3, 4],
    ],
  );
});
