import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dayPart, isTableName, jobPart, nodePart, Unusable, userPart } from './names.ts';

test('names become parts of a path, odd characters encoded', () => {
  assert.equal(nodePart('c1.site'), 'node=c1.site');
  assert.equal(nodePart('c 1%'), 'node=c%201%25');
  assert.equal(userPart({ user: 'ada@site', uid: 1000 }), 'user=ada%40site');
  assert.equal(userPart({ user: '', uid: -1 }), 'user=unknown');
  assert.throws(() => userPart({ user: '', uid: 1000 }), Unusable);
  assert.equal(jobPart('4711', undefined), 'job=4711');
  assert.equal(jobPart('4711', 0), 'job=4711');
  assert.equal(jobPart('4711', 2), 'job=4711r2');
  assert.equal(dayPart('fleet-2026-11-15'), 'day=2026-11-15');
});

test('whatever the name, it is one part of a path that can be made, or refused', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.constantFrom('.', '..', '/', '\0', '\ud800')),
      (name) => {
        let nodeFolderName: string;
        try {
          nodeFolderName = nodePart(name);
        } catch (error) {
          assert.ok(error instanceof Unusable);
          return;
        }
        assert.match(nodeFolderName, /^node=[^/\0]+$/);
        assert.ok(Buffer.byteLength(nodeFolderName) <= 255);
      },
    ),
  );
});

test('restarts and days that are none are refused', () => {
  for (const restart of [-1, 1.5, '1', Number.NaN]) assert.throws(() => jobPart('1', restart), Unusable);
  for (const day of ['fleet-2026-11', 'fleet-../../x', '', undefined]) assert.throws(() => dayPart(day), Unusable);
  assert.ok(isTableName('gpu_nvidia'));
  for (const name of ['', '../x', 'a.b', 'a/b', '1a', 'x'.repeat(65)]) assert.ok(!isTableName(name), name);
});
