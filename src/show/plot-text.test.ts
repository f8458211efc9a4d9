import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boxesText, recordsThatFit } from './plot-text.ts';

test('the ends of a narrow chart do not run into each other, and it begins with the job', () => {
  const boxes = [0, 1, 2].map((i) => ({ from: i * 15e6 - 0.7e6, to: (i + 1) * 15e6, values: [0, 1, 2, 3, 4] }));
  const axis = (count: number): string =>
    boxesText('cpu.busy', '%', boxes.slice(0, count) as never, { width: 80, isUnicode: false, start: 0 })
      .trimEnd()
      .split('\n')
      .at(-1)!
      .trim();
  assert.equal(axis(3), '0:00 to 0:45');
  assert.equal(axis(1), '0:00 to 0:15');
});

test('boxes have so many samples that all of them fit, and say what is what', () => {
  const page = { width: 80, isUnicode: false, start: 0 };
  assert.deepEqual(
    [900, 930, 931, 7200].map((steps) => recordsThatFit({ steps }, 15, page)),
    [15, 15, 30, 120],
  );
  const box = { from: 0, to: 15e6, values: [0, 1, 2, 3, 4] } as const;
  assert.match(boxesText('cpu.busy', '%', [box], page), /^cpu\.busy\n\| least to greatest, # middle half, = median\n/);
});
