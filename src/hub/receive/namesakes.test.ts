import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testJob } from '../../../test/made/spool.ts';
import { isSameJob } from './namesakes.ts';

const SECOND = 1_000_000;

test('an id that is used again at once on other nodes is another job', () => {
  const start = 1_700_000_000 * SECOND;
  const on = (nodes: string[], begin: number, asked = nodes.length) =>
    testJob('17', { nodes, asked: { nodes: asked }, start: start + begin * SECOND });
  const first = { ...on(['c1', 'c2'], 0), end: start + 10 * SECOND };
  assert.equal(isSameJob(first, on(['c2', 'c3'], 15)), false);
  assert.equal(isSameJob(first, on(['c1'], 15)), false);
  // the same job by a clock that is wrong by some seconds, or of which a node does not know the others
  assert.equal(isSameJob(first, on(['c2', 'c1'], 15)), true);
  assert.equal(isSameJob(first, on(['c3'], 15, 2)), true);
  assert.equal(isSameJob(first, on(['c2', 'c3'], 5)), true);
  assert.equal(isSameJob(first, on(['c1', 'c2'], 90)), false);
});
