import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobOf } from '../../../test/hub/hub-process.ts';
import { checkedJob, filedJob, isDropped } from './checked.ts';

test('a job whose optional facts are of another kind is taken without them', () => {
  const wrong = { per_node: 'x'.repeat(1000), annotations: [1], steps: {}, command: 'ls', end: 'soon', account: 5 };
  const job = jobOf('7', ['c1']);
  assert.deepEqual(checkedJob({ ...job, ...wrong }), job);
  const right = { per_node: { c1: { cpus: 4 } }, annotations: { note: 'x' }, steps: [], end: 5, account: 'physics' };
  assert.deepEqual(checkedJob({ ...job, ...right }), { ...job, ...right });
});

test('a job as a user may have left it in the archive can be worked with', () => {
  const job = filedJob({
    nodes: ['c1', 5, null, {}],
    tags: 'x'.repeat(1000),
    asked: null,
    start: '1',
    per_node: 'abc',
  });
  assert.deepEqual([job.nodes, job.tags, job.asked, job.start], [['c1'], {}, {}, Number.NaN]);
  assert.equal('per_node' in job, false);
});

test('what was given up has a table and two positions', () => {
  const at = { part: 1, bytes: 0 };
  assert.equal(isDropped({ table: 'a', from: at, to: at, rows: 1 }), true);
  for (const wrong of [null, 5, [], { table: 'a' }, { table: 5, from: at, to: at }, { table: 'a', from: at, to: null }])
    assert.equal(isDropped(wrong), false);
});
