import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pauseAfter } from './notice.ts';

test('a look that takes long, on a busy machine, does not keep the cluster of a young program waiting', () => {
  assert.equal(pauseAfter(0.1, true), 500);
  assert.equal(pauseAfter(1.5, true), 750);
  assert.equal(pauseAfter(20, true), 1000);
  assert.equal(pauseAfter(20, false), 5000);
});
