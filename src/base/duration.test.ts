import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDuration, parseDuration } from './duration.ts';
import { Fault } from './fault.ts';

test('durations as people write them', () => {
  assert.equal(parseDuration('500ms'), 0.5);
  assert.equal(parseDuration('1s'), 1);
  assert.equal(parseDuration('10'), 10);
  assert.equal(parseDuration('0.1'), 0.1);
  assert.equal(parseDuration('2h30m'), 9000);
  assert.equal(parseDuration('2 h 30 min'), 9000);
  assert.equal(parseDuration('1d'), 86_400);
  assert.equal(parseDuration('1.5s'), 1.5);
});

test('what is no duration is refused with an example', () => {
  for (const text of ['', 'abc', '-1', '5x', '1h5', 's', '1s,', 'NaN', 'Infinity', '1e3']) {
    assert.throws(
      () => parseDuration(text),
      (error) => error instanceof Fault && error.exit === 2 && error.hint!.includes('500ms'),
      text,
    );
  }
});

test('durations as people read them, also at the edges between units', () => {
  const cases: [number, string][] = [
    [0, '0 s'],
    [0.0004, '0.4 ms'],
    [0.0095, '10 ms'],
    [0.052, '52 ms'],
    [0.9994, '999 ms'],
    [0.9996, '1.0 s'],
    [5, '5.0 s'],
    [59.94, '59.9 s'],
    [59.96, '1 min 00 s'],
    [725, '12 min 05 s'],
    [3599.4, '59 min 59 s'],
    [3599.6, '1 h 00 min'],
    [7380, '2 h 03 min'],
    [86_399, '1 d 00 h 00 min'],
    [3 * 86_400 + 4 * 3600 + 10 * 60, '3 d 04 h 10 min'],
    [-5, '-5.0 s'],
    [Number.NaN, 'unknown'],
  ];
  for (const [seconds, text] of cases) assert.equal(formatDuration(seconds), text);
});

test('what is printed can be read again, as exactly as it was printed', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.001, max: 1e7, noNaN: true }), (seconds) => {
      const again = parseDuration(formatDuration(seconds));
      assert.ok(Math.abs(again - seconds) <= Math.max(seconds * 0.06, 0.0005) && Math.abs(again - seconds) <= 30.001);
    }),
  );
});
