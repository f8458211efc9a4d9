import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsText, isOfJob, isStepId } from './of-job.ts';

test('a job id means the tasks of its array, too', () => {
  const ids = ['4', '4_1', '4_12', '4[3].server', '41', '14_1', '4-restart'];
  assert.deepEqual(
    ids.filter((id) => isOfJob(id, '4')),
    ['4', '4_1', '4_12', '4[3].server'],
  );
  assert.deepEqual(
    ids.filter((id) => isOfJob(id, '4_1')),
    ['4_1'],
  );
});

test('a job id means its steps that were recorded alone, and their tasks', () => {
  const ids = ['4', '4.0', '4.0.3', '4.10', '4_1.2', '41.0', '4[3].server', '20261115-204912-4.0'];
  const of = (wanted: string): string[] => ids.filter((id) => isOfJob(id, wanted));
  assert.deepEqual(of('4'), ['4', '4.0', '4.0.3', '4.10', '4_1.2', '4[3].server']);
  assert.deepEqual(of('4_1'), ['4_1.2']);
  assert.deepEqual(of('4.0'), ['4.0', '4.0.3']);
  assert.deepEqual(ids.filter(isStepId), ['4.0', '4.0.3', '4.10', '4_1.2', '41.0']);
});

test('ids for people are in order, each once, and say how many are left out', () => {
  assert.equal(idsText(['9', '8', '8', '13', '4_2', '4_10', '1']), '1, 4_2, 4_10, 8, 9, 13');
  assert.equal(idsText(['3', '1', '2', '1'], 2), '1, 2 and 1 more');
});
