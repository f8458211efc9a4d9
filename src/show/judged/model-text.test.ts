import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Model } from '../../judge/models/model.ts';
import { modelLine } from './model-text.ts';

const job = (id: string, features: Record<string, number>) => ({
  id,
  name: '',
  start: 0,
  tags: {},
  features,
  operations: {},
});

test('a model has the features that any of its jobs has, whichever comes first', () => {
  const model: Model = {
    format: 1,
    name: 'm',
    enabled: true,
    created: 0,
    jobs: [job('1', { duration: 5 }), job('2', { duration: 6, cpu_time: 2 }), job('3', { duration: 7, rssmax: 3 })],
  };
  assert.equal(modelLine([model]), 'model m: 3 jobs, 3 features, 0 operations\n');
});
