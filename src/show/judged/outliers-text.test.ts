import assert from 'node:assert/strict';
import { test } from 'node:test';
import { madeJob } from '../../../test/made/outlier-jobs.ts';
import { causeOf } from '../../judge/models/cause.ts';
import { createModel } from '../../judge/models/model.ts';
import { jobFeatures } from '../../judge/outliers/features.ts';
import { findOutliers } from '../../judge/outliers/outliers.ts';
import { causeText } from './cause-text.ts';
import { featureCell, scoreCell, timesCell } from './feature-cell.ts';
import { outliersText } from './outliers-text.ts';

const job = (id: string, cpu: number, duration = 6e7) => madeJob(id, [{ cpu_time: cpu, tags: 'op:a' }], { duration });

test('values in the unit of their feature', () => {
  assert.equal(featureCell('cpu_time', 6.28e8), '10 min 28 s');
  assert.equal(featureCell('rssmax', 2048), '2.0 MiB');
  assert.equal(featureCell('rchar', 2048), '2.0 KiB');
  assert.equal(featureCell('gpu_utilization', 0.42), '42 %');
  assert.equal(featureCell('energy', 7.2e6), '2 kWh');
  assert.equal(featureCell('rdtsc_duration', 14_442_126_159_968), '1.444e13');
  assert.equal(featureCell('processes', 10600), '10,600');
  assert.deepEqual([scoreCell(269.63), scoreCell(Number.POSITIVE_INFINITY)], ['270', 'any']);
  assert.deepEqual([timesCell(3, 2), timesCell(3, 0)], ['1.5 x', '']);
});

test('an outlier with its votes; those left out by name', async () => {
  const jobs = [job('1', 1.0e6), job('2', 1.1e6), job('3', 1.2e6), job('4', 9e6)];
  assert.equal(
    outliersText(await findOutliers('jobs', jobs)),
    `4 jobs, by 4 features

1 of 4 jobs is an outlier

job 4: differs in 1 of 4 features
  feature   value  usual   times  mod. z    IQR
  cpu_time  9.0 s  1.1 s  7.83 x   52.9*  2.82*
  * a vote

method                needs  threshold  looks at
modified z-score          4  above 3.5  each feature
z-score                  11             left out: needs 11, there are 4
interquartile range       4  above 1.5  each feature
robust covariance        20             left out: needs 20, there are 4
isolation forest         10             left out: needs 10, there are 4
principal components     10             left out: needs 10, there are 4
`,
  );
});

test('nobody is apart', async () => {
  const text = outliersText(
    await findOutliers(
      'jobs',
      ['1', '2', '3', '4'].map((id) => job(id, 5)),
    ),
  );
  assert.match(text, /^4 jobs, by 4 features\n\nno outlier among 4 jobs\n\nmethod/);
});

test('a cause: what differs, and what never varied', async () => {
  const model = await createModel('usual', [job('1', 1.0e6), job('2', 1.1e6), job('3', 1.3e6)], { now: 0 });
  const text = causeText(causeOf('9', await jobFeatures(job('9', 3.1e6, 9e7)), model));
  assert.match(text, /^job 9 against the model usual \(3 jobs\)\n/);
  assert.match(text, /\ncpu_time {6}10 x {2}3\.1 s {2}1\.1 s {2}2\.82 x {14}\+200 ms\n/);
  assert.match(text, /\nnever varied in the baseline: duration 1 min 30 s, always 1 min 00 s\n/);
});

test('a cause shows all digits that matter, however little the reference varies, when all are asked for', async () => {
  const reference = [job('1', 450e6), job('2', 450.001e6), job('3', 450.003e6)];
  const model = await createModel('usual', reference, { now: 0 });
  const cause = causeOf('9', await jobFeatures(job('9', 450.4e6, 60.2e6)), model);
  assert.match(causeText(cause), /\nnothing differs from the baseline\n/);
  const text = causeText(cause, { limit: 0 });
  assert.match(text, /\ncpu_time {5}200 x {2}\+399 ms {2}7 min 30 s {4}1 x {16}\+2 ms\n/);
  assert.match(text, /\nnever varied in the baseline: duration \+200 ms, always 1 min 00 s\n/);
});

test('a cause: operations that do not differ are one line, and a job of the baseline is named as such', async () => {
  const threeOperations = (id: string, slow: number) =>
    madeJob(id, [
      { cpu_time: 5e5 * (1 + slow / 20), tags: 'op:a' },
      { cpu_time: 5e5 * slow, tags: 'op:b' },
      { cpu_time: 5e5, tags: 'op:c' },
    ]);
  const baseline = [1, 1.1, 1.2].map((slow, i) => threeOperations(`${i}`, slow));
  const model = await createModel('usual', baseline, { now: 0 });
  const features = await jobFeatures(
    madeJob('9', [
      { cpu_time: 5.27e5, tags: 'op:a' },
      { cpu_time: 9e6, tags: 'op:b' },
      { cpu_time: 5e5, tags: 'op:c' },
    ]),
  );
  const text = causeText({ ...causeOf('9', features, model), in_model: true });
  assert.match(text, /\(3 jobs\)\nit is one of the jobs of the model: its own values count as usual\n/);
  assert.match(
    text,
    /\nop:b\nfeature {3}distance .*\ncpu_time .*\n\nnothing differs from the baseline in op:a and op:c\n$/,
  );
});
