import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldRows } from './fold-rows.ts';

const many = Array.from({ length: 40 }, (_, i) => ({ id: i, value: (i * 7) % 40, odd: i === 20 }));

test('short lists stay whole', () => {
  assert.deepEqual(
    foldRows(
      many.slice(0, 16),
      () => false,
      (r) => r.value,
    ),
    { rows: many.slice(0, 16), hidden: 0 },
  );
});

test('of long ones the odd and the extremes stay, in order', () => {
  const { rows, hidden } = foldRows(
    many,
    (r) => r.odd,
    (r) => r.value,
  );
  assert.deepEqual(
    rows.map((r) => r.id),
    [0, 17, 20, 23, 34],
  );
  assert.deepEqual(
    rows.map((r) => r.value),
    [0, 39, 20, 1, 38],
  );
  assert.equal(hidden, 35);
});
