import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTagList } from './tag-list.ts';

test('pairs, words alone, spaces, colons in values', () => {
  assert.deepEqual(parseTagList('op:build;seq:4'), { op: 'build', seq: '4' });
  assert.deepEqual(parseTagList(' exp_name : linux ; slow;url:http://x:80;; empty: '), {
    exp_name: 'linux',
    slow: '1',
    url: 'http://x:80',
    empty: '',
  });
  assert.deepEqual(parseTagList(''), {});
  assert.deepEqual(parseTagList(undefined), {});
  assert.deepEqual(parseTagList(':value; :x'), {});
});
