import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from './fault.ts';
import { formatBytes, parseBytes } from './size.ts';

test('sizes as people read them', () => {
  const cases: [number, string][] = [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1536 * 1024 ** 2, '1.5 GiB'],
    [230 * 1024 ** 2, '230 MiB'],
    [1024 ** 2 - 1, '1.0 MiB'],
    [1023.6 * 1024, '1.0 MiB'],
    [99.96 * 1024 ** 3, '100 GiB'],
    [5 * 1024 ** 6, '5.0 EiB'],
    [-2048, '-2.0 KiB'],
    [Number.NaN, 'unknown'],
  ];
  for (const [bytes, text] of cases) assert.equal(formatBytes(bytes), text);
});

test('sizes as people and schedulers write them', () => {
  assert.equal(parseBytes('4G'), 4 * 1024 ** 3);
  assert.equal(parseBytes('1500MiB'), 1500 * 1024 ** 2);
  assert.equal(parseBytes('64k'), 65_536);
  assert.equal(parseBytes('2.5 TB'), 2.5 * 1024 ** 4);
  assert.equal(parseBytes('123'), 123);
  assert.equal(parseBytes('10b'), 10);
});

test('what is no size is refused', () => {
  for (const text of ['', 'G', '4X', '-1', '4 G B', '1e3']) {
    assert.throws(
      () => parseBytes(text),
      (error) => error instanceof Fault && error.exit === 2,
      text,
    );
  }
});
