import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boxesText } from './plot-text.ts';

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
