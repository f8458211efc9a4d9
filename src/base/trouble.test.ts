import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trouble } from './trouble.ts';

test('a trouble is said when it begins and when it is over, not at each sight', () => {
  const messages: string[] = [];
  let now = 0;
  const disk = trouble(
    (message) => messages.push(message),
    () => now,
  );
  disk.right('well');
  assert.deepEqual(messages, []);
  for (; now < 60_000; now += 1_000) {
    disk.wrong(`full ${now}`);
    disk.right('well');
  }
  assert.deepEqual(messages, ['full 0']);
  now += 10_000;
  disk.right('well');
  disk.right('well');
  disk.wrong('full again');
  assert.deepEqual(messages, ['full 0', 'well', 'full again']);
});
