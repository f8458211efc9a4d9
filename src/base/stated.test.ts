import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stated } from './stated.ts';

test('what is undefined is not there, everything else is, in its order', () => {
  const none: number | undefined = undefined;
  const fields = stated({ b: 0, a: '', none, c: null, d: false, e: Number.NaN });
  assert.deepEqual(Object.entries(fields), [
    ['b', 0],
    ['a', ''],
    ['c', null],
    ['d', false],
    ['e', Number.NaN],
  ]);
  assert.ok(!('none' in fields));
});
