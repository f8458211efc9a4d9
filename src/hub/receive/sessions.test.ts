import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sessions } from './sessions.ts';

test('a session is found by its key until it ends', () => {
  const sessions = new Sessions(10);
  const identity = { kind: 'node', nodes: ['c1'] } as const;
  const key = sessions.begin(identity, 1000);
  assert.match(key, /^[\w-]{32}$/);
  assert.equal(sessions.find(key, 10_999), identity);
  assert.equal(sessions.find(key, 11_000), undefined);
  assert.equal(sessions.find('other', 1000), undefined);
  assert.notEqual(sessions.begin(identity, 1000), key);
});

test('there are never more than so many; the oldest ends first', () => {
  const sessions = new Sessions(10, 3);
  const keys = [1, 2, 3, 4, 5].map((n) => sessions.begin({ kind: 'user', user: 'ada', uid: n }, 1000 + n));
  assert.equal(sessions.size, 3);
  assert.deepEqual(
    keys.map((key) => sessions.find(key, 1010) !== undefined),
    [false, false, true, true, true],
  );
  // those that have ended are not kept
  sessions.begin({ kind: 'anyone' }, 100_000);
  assert.equal(sessions.size, 1);
});

test('whoever begins many ends their own, not those of others', () => {
  const sessions = new Sessions(10, 100, 2);
  const node = sessions.begin({ kind: 'node', nodes: ['c1'] }, 1000);
  const many = [1, 2, 3, 4].map((n) => sessions.begin({ kind: 'user', user: 'eve', uid: 5 }, 1000 + n));
  assert.deepEqual(
    [node, ...many].map((key) => sessions.find(key, 1010) !== undefined),
    [true, false, false, true, true],
  );
  // one token of three nodes
  const shared = Array.from({ length: 7 }, () => sessions.begin({ kind: 'node', nodes: ['c1', 'c2', 'c3'] }, 1006));
  assert.equal(shared.filter((key) => sessions.find(key, 1010) !== undefined).length, 6);
  assert.equal(sessions.size, 9);
});
