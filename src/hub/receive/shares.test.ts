import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bodies, Shares, TooMuch } from './shares.ts';

const EVE = { kind: 'user', user: 'eve', uid: 5 } as const;
const ADA = { kind: 'user', user: 'ada', uid: 6 } as const;
const NODE = { kind: 'node', nodes: ['c1'] } as const;
const LIMITS = { streams: 3, allStreams: 4, opens: 10, opensPerSecond: 2 };

test('a user opens so many at once and then so many a second; others and nodes are not held up', () => {
  const shares = new Shares(LIMITS);
  for (let i = 0; i < 10; i++) shares.open(EVE, 1000);
  assert.throws(() => shares.open(EVE, 1000), /user eve has opened more than 10 recordings within a short time/);
  shares.open(ADA, 1000);
  for (let i = 0; i < 100; i++) shares.open(NODE, 1000);
  shares.open(EVE, 1500);
  assert.throws(() => shares.open(EVE, 1501), TooMuch);
  for (let i = 0; i < 10; i++) shares.open(EVE, 60_000);
  assert.throws(() => shares.open(EVE, 60_000), TooMuch);
});

test('a user has so many streams open, and all users together leave the rest to nodes', () => {
  const shares = new Shares(LIMITS);
  const [first] = [1, 2, 3].map(() => shares.take(EVE));
  assert.throws(() => shares.take(EVE), /user eve has 3 recordings open already/);
  shares.take(ADA);
  assert.throws(() => shares.take(ADA), /users have 4 recordings open already/);
  for (let i = 0; i < 100; i++) assert.equal(shares.take(NODE), undefined);
  // given back once, however often it is said
  first!();
  first!();
  shares.take(ADA);
  assert.throws(() => shares.take(EVE), TooMuch);
});

test('what requests hold: users take nothing from nodes, and one of them not all that is for users', () => {
  const KIB = 1 << 10;
  const bodies = new Bodies({ nodes: 1000 * KIB, small: 100 * KIB, users: 400 * KIB, owner: 300 * KIB });
  const take = (who: typeof EVE | typeof ADA | typeof NODE, kib: number, shares = 1) =>
    bodies.take(who, who.kind === 'node' ? 'node c1' : `user ${who.user}`, shares, kib * KIB);
  const done = take(EVE, 300);
  assert.equal(take(EVE, 1), undefined);
  assert.notEqual(take(ADA, 100), undefined);
  assert.equal(take(ADA, 1), undefined);
  assert.notEqual(take(NODE, 300), undefined);
  assert.equal(take(NODE, 1), undefined);
  // a token of ten nodes has ten shares; what is small is taken although there is no room for more
  assert.notEqual(take(NODE, 690, 10), undefined);
  assert.equal(take(NODE, 80, 10), undefined);
  assert.notEqual(take(NODE, 60, 10), undefined);
  done!();
  assert.notEqual(take(ADA, 100), undefined);
});
