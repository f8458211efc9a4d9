import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectRarely } from './collect-rarely.ts';

test('a small heap grows more between collections, and as before once it is large', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const flags: string[] = [];
  let megabytes = 30;
  collectRarely(
    (flag) => flags.push(flag),
    () => megabytes * 2 ** 20,
  );
  assert.deepEqual(flags, [], 'not before all is loaded');
  for (megabytes of [30, 40, 80, 90, 50]) t.mock.timers.tick(10_000);
  assert.deepEqual(flags, ['--heap-growing-percent=200', '--heap-growing-percent=0', '--heap-growing-percent=200']);
});
