import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockLine, inSteps, repeatedLine, spanLines } from './blocks.ts';

test('a character is as high as the mean of its time; what is missing is blank, what is nothing is not', () => {
  assert.equal(blockLine([0, 2, 4, 8, null, 8], 6, 8, true), '▁▃▅█ █');
  assert.equal(blockLine([0, 2, 4, 8, null, 8], 6, 8, false), '_,=# #');
  assert.deepEqual(inSteps([1, 3, null, 5], 2), [2, 5]);
  assert.deepEqual(inSteps([1, 3], 4), [1, 1, 3, 3]);
  assert.deepEqual(inSteps([2, 4, 6], 2), [8 / 3, 16 / 3]);
  // a little is more than nothing
  assert.equal(blockLine([0.2, 0.01, 8], 3, 8, true), '▂▁█');
});

test('spans have their names where these fit, and further lines where they overlap', () => {
  const ends = { from: 0, to: 20, width: 20, isUnicode: false };
  const spans = [
    { name: 'load', from: 0, to: 6 },
    { name: 'a longer name', from: 6, to: 20 },
    { name: 'inner', from: 8, to: 12 },
  ];
  assert.deepEqual(spanLines(spans, ends, 2), ['|load-|a longer name', '        |inn']);
  assert.deepEqual(spanLines(spans, ends, 1), ['|load-|a longer name']);
  assert.equal(repeatedLine(spans.slice(1), ends), '      |-|-----------');
});
