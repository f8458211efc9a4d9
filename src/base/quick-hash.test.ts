import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quickHash, quickMark } from './quick-hash.ts';

test('is FNV-1a, as others compute it', () => {
  // the first values of its authors' own test
  assert.equal(quickHash(''), 0x811c9dc5);
  assert.equal(quickHash('a'), 0xe40c292c);
  assert.equal(quickHash('foobar'), 0xbf9cf968);
});

test('marks of 200,000 names that differ little are different', () => {
  const marks = new Set<string>();
  for (let i = 0; i < 200_000; i++) marks.add(quickMark(`day=2026-03-01/part-${i % 500}-${i.toString(36)}.parquet`));
  assert.equal(marks.size, 200_000);
  assert.match([...marks][0]!, /^[0-9a-f]{16}$/);
});
