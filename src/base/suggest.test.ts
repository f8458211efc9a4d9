import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggest } from './suggest.ts';

const VERBS = ['run', 'start', 'stop', 'status', 'report', 'export', 'completion'];

test('the nearest word is suggested', () => {
  assert.equal(suggest('reprot', VERBS), 'report');
  assert.equal(suggest('Run', VERBS), 'run');
  assert.equal(suggest('rnu', VERBS), 'run');
  assert.equal(suggest('stauts', VERBS), 'status');
  assert.equal(suggest('comp', VERBS), 'completion');
});

test('nothing is suggested when nothing is near', () => {
  assert.equal(suggest('frobnicate', VERBS), undefined);
  assert.equal(suggest('x', VERBS), undefined);
  assert.equal(suggest('report', []), undefined);
});
