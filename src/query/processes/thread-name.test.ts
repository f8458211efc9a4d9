import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadName, threadNumber } from './thread-name.ts';

test('a thread has its number, or its place in its process, or neither', () => {
  const names = ['4711', '#2', '#10'];
  assert.deepEqual(names.map(threadNumber), [4711, -2, -10]);
  assert.deepEqual(
    names.map((name) => threadName(threadNumber(name))),
    [4711, '#2', '#10'],
  );
  assert.equal(threadNumber(''), Number.NaN);
  assert.equal(threadName(Number.NaN), Number.NaN);
});
