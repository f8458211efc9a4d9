import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobsWithOneOdd } from '../../../test/made/outlier-jobs.ts';
import { componentsOf } from './components.ts';

const jobs = jobsWithOneOdd();

test('components have scores, loadings and rankings', async () => {
  const components = await componentsOf(jobs);
  assert.deepEqual(components.features.map(({ feature }) => feature).sort(), ['cpu_time', 'duration', 'rchar']);
  assert.equal(components.scores[0]!.job, '13');
  assert.ok(Math.abs(components.variance.reduce((sum, share) => sum + share, 0) - 1) < 1e-9);
  // loadings of a component have length 1
  const lengths = components.variance.map((_, k) =>
    components.features.reduce((sum, one) => sum + one.loadings[k]! ** 2, 0),
  );
  for (const length of lengths) assert.ok(Math.abs(length - 1) < 1e-9);
  const first = Object.fromEntries(components.features.map(({ feature, loadings }) => [feature, loadings[0]!]));
  assert.ok(first.cpu_time! * first.duration! > 0.2, 'they grow together');
  await assert.rejects(componentsOf(jobs.slice(0, 3)), /need 4 jobs .*there are 3/);
  await assert.rejects(componentsOf(jobs, { features: ['duration', 'processes'] }), /two features that vary/);
});

test('of fewer jobs than features there are no components that rounding makes', async () => {
  const { variance, scores, features } = await componentsOf(jobs.slice(0, 4));
  assert.ok(variance.length > 0 && variance.length < features.length);
  assert.ok(variance.every((share) => share > 1e-9));
  for (const { scores: along } of scores) assert.equal(along.length, variance.length);
});
