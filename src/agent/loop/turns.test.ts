import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turns } from './turns.ts';

test('work is done in turn, a piece at a time, and timers come between', async () => {
  const order: string[] = [];
  const { finish, add } = turns(1);
  let ticks = 0;
  const timer = setInterval(() => ticks++, 0);
  const countdown = (name: string, count: number) => (): boolean => {
    order.push(`${name} ${ticks > 0 ? 'after a tick' : 'before'}`);
    for (const until = performance.now() + 3; performance.now() < until; );
    return --count > 0;
  };
  add(countdown('a', 2));
  await finish(countdown('b', 4));
  clearInterval(timer);
  assert.deepEqual(
    order.map((line) => line[0]),
    ['a', 'b', 'a', 'b', 'b', 'b'],
  );
  assert.ok(order.at(-1)!.endsWith('after a tick'), order.join(', '));
});

test('what is aborted is not called again, and what fails is over', async () => {
  const errors: unknown[] = [];
  const { finish } = turns(1, (error) => errors.push(error));
  const ending = new AbortController();
  let calls = 0;
  await finish(() => {
    if (++calls === 3) ending.abort();
    return true;
  }, ending.signal);
  const before = calls;
  await finish(() => {
    throw new Error('no');
  });
  assert.equal(calls, before);
  assert.deepEqual(errors.map(String), ['Error: no']);
});
