import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdict } from './verdict.ts';

test('a limit in × is about the ratio, any other about the measured value', () => {
  assert.equal(verdict({ must: '≤ 1.2 ×', measured: 900, ratio: 1.1 }), 'pass');
  assert.equal(verdict({ must: '≤ 1.2 ×', measured: 0, ratio: 1.3 }), 'miss');
  assert.equal(verdict({ must: '≤ 0.25 s', measured: 0.25, ratio: 9 }), 'pass');
  assert.equal(verdict({ must: '≤ 0.25 s', measured: 0.26, ratio: 0 }), 'miss');
  assert.equal(verdict({ must: '≥ 10', measured: 9, ratio: 0 }), 'miss');
  assert.equal(verdict({ must: '', measured: 1, ratio: 1 }), '');
  assert.equal(verdict({ must: '≤ 1', measured: Number.NaN, ratio: 1 }), 'miss');
});
