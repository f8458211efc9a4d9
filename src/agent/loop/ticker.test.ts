import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Clock } from './clock.ts';
import { ticker } from './ticker.ts';

/** Timers and the clock that ticks go by, both moved by the test. */
function fakeTime(t: TestContext, start: number): { clock: Clock; advance(ms: number): void } {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: start });
  return {
    clock: { now: () => Date.now() * 1000, jumps: [], ahead: () => 0, settle: () => {} },
    advance: (ms) => t.mock.timers.tick(ms),
  };
}

test('who ticks together is called with the same time, each at its own interval', (t) => {
  const { clock, advance } = fakeTime(t, 1_000_000_000_400);
  const calls: string[] = [];
  let rounds = 0;
  const all = ticker(clock, { after: () => rounds++ });
  const endFast = all.every(1e6, (now, due) => calls.push(`fast ${now / 1000 - 1e12} ${due / 1000 - 1e12}`));
  all.every(2e6, (now) => calls.push(`slow ${now / 1000 - 1e12}`));
  for (let i = 0; i < 20; i++) advance(100);
  assert.deepEqual(calls, ['fast 1000 1000', 'fast 2000 2000', 'slow 2000']);
  assert.equal(rounds, 2, 'once for all');
  endFast();
  for (let i = 0; i < 20; i++) advance(100);
  assert.deepEqual(calls.slice(3), ['slow 4000']);
});

test('a clock that is set back is followed', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 100e6;
  const ticks: number[] = [];
  ticker({ now: () => now, jumps: [], ahead: () => 0, settle: () => {} }).every(1e6, (at) => ticks.push(at));
  now = 50.2e6;
  t.mock.timers.tick(1000);
  assert.deepEqual(ticks, [50.2e6]);
  now = 51e6;
  t.mock.timers.tick(800);
  assert.deepEqual(ticks, [50.2e6, 51e6]);
});

test('who fails does not keep the others from their ticks', (t) => {
  const { clock, advance } = fakeTime(t, 1_000_000_000_000);
  const failures: unknown[] = [];
  let ticks = 0;
  const all = ticker(clock, { failed: (error) => failures.push(error) });
  all.every(1e6, () => {
    throw new Error('its folder has gone');
  });
  all.every(1e6, () => ticks++);
  for (let i = 0; i < 20; i++) advance(100);
  assert.deepEqual([ticks, failures.length], [2, 2]);
});

test('a clock that is set back while a tick is still to come does not put it off', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 100_000_000;
  const clock = { now: () => now, jumps: [], ahead: () => 0, settle: () => {} };
  const ticks: number[] = [];
  const { every } = ticker(clock, {
    // as a service does that records no job: it takes the word of the clock on the wall
    before: () => {
      if (now > 90_000_000) now -= 90_000_000;
    },
  });
  every(10e6, (at) => ticks.push(at));
  // the timer fires a little early
  now = 109_999_000;
  t.mock.timers.tick(10_000);
  now += 1_000;
  t.mock.timers.tick(10_000);
  assert.equal(ticks.length, 1);
});
