import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/made/eventually.ts';
import { type Round, Rounds, type Sent } from './rounds.ts';

/** A round that does what the list says, one entry each time; then nothing. */
function scripted(script: (() => Sent | Promise<Sent>)[], more: Partial<Round> = {}) {
  const sent: boolean[] = [];
  const round: Round = {
    async send(ending) {
      sent.push(ending);
      return (await script.shift()?.()) ?? {};
    },
    failed: (error) => (error as Error).message,
    pause: () => 0,
    ...more,
  };
  return { sent, rounds: new Rounds(round) };
}

const until = (holds: () => boolean): Promise<boolean> => eventually('what the rounds do', holds);

const fail = (): never => {
  throw new Error('away');
};

test('many who wake it at once get one round, those who wake it meanwhile one more', async () => {
  let release = (): void => {};
  const held = new Promise<Sent>((resolve) => {
    release = () => resolve({});
  });
  const { sent, rounds } = scripted([() => held]);
  for (let i = 0; i < 3; i++) rounds.wake();
  await until(() => sent.length === 1);
  for (let i = 0; i < 3; i++) rounds.wake();
  release();
  await until(() => sent.length === 2);
  await sleep(20);
  assert.equal(sent.length, 2);
});

test('after a failure it tries again by itself, and says so meanwhile', async () => {
  const { sent, rounds } = scripted([fail]);
  rounds.wake();
  await until(() => rounds.trouble === 'away');
  rounds.wake();
  assert.equal(sent.length, 1, 'whoever wakes it does not make it come sooner');
  await until(() => rounds.trouble === undefined);
  assert.deepEqual(sent, [false, false]);
});

test('what is more goes at once, what is left is looked after unasked, and both end with it', async () => {
  let left = 1;
  const { sent, rounds } = scripted([() => ({ more: true })], { unasked: () => (left-- > 0 ? 1 : undefined) });
  rounds.wake();
  await until(() => sent.length === 3);
  await rounds.close(5);
  assert.deepEqual(sent, [false, false, false, true]);
  rounds.wake();
  await sleep(20);
  assert.equal(sent.length, 4);
});

test('closing tries until all is sent, but no longer than it may', async () => {
  const few = scripted([fail, fail]);
  await few.rounds.close(5);
  assert.deepEqual(few.sent, [true, true, true]);
  const never = scripted([() => new Promise<Sent>(() => {})]);
  const before = performance.now();
  await never.rounds.close(0.05);
  assert.ok(performance.now() - before < 4000);
});
