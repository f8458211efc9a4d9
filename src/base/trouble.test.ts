import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trouble } from './trouble.ts';

test('a trouble is said when it begins and when it is over, not at each sight', () => {
  const said: string[] = [];
  let now = 0;
  const disk = trouble(
    (message) => said.push(message),
    () => now,
  );
  disk.right('well');
  assert.deepEqual(said, []);
  for (; now < 60_000; now += 1_000) {
    disk.wrong(`full ${now}`);
    disk.right('well');
  }
  assert.deepEqual(said, ['full 0']);
  now += 10_000;
  disk.right('well');
  disk.right('well');
  disk.wrong('full again');
  assert.deepEqual(said, ['full 0', 'well', 'full again']);
});
