import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Listed } from '../recording/list.ts';
import { listText } from './list-text.ts';

// noon where the reader is: the same day in every time zone
const START = new Date(2026, 10, 15, 12, 49, 12).getTime() * 1000;
const listed = (more: Partial<Listed>): Listed => ({
  path: 'tacho-20261115-204912-4711',
  job: '20261115-204912-4711',
  name: 'train-a-rather-large-language-model',
  user: 'ada',
  start: START,
  end: START + 3600e6,
  nodes: 8,
  bytes: 123_456_789,
  state: 'sealed',
  job_state: 'completed',
  ...more,
});

test('in a pipe every column is whole', () => {
  const [heads, line] = listText([listed({})]).split('\n');
  assert.match(heads!, /^job +name +user +began +lasted +ended +nodes +size +state +recording$/);
  assert.match(
    line!,
    /train-a-rather-large-language-model {2}ada .*1 h 00 min {2}COMPLETED .* 118 MiB {2}sealed {2}tacho-20261115-204912-4711$/,
  );
});

test('runs of a restarted job are told apart', () => {
  const text = listText([listed({ job: '32' }), listed({ job: '32', restart: 1 })]);
  assert.deepEqual(
    text.split('\n').map((line) => line.split(' ')[0]),
    ['job', '32', '32r1', ''],
  );
});

test('a terminal gets no line wider than it is, with the path whole', () => {
  for (const width of [80, 100, 140]) {
    const text = listText([listed({}), listed({ path: 'b', name: 'x' })], width);
    for (const line of text.trimEnd().split('\n')) assert.ok(line.length <= width, `${line.length}: ${line}`);
    assert.match(text, / sealed {2}tacho-20261115-204912-4711\n/);
  }
  assert.match(
    listText([listed({})], 80),
    /^user {2}began {13}ended {9}size {2}state {3}recording\nada {3}2026-11-15 12:49 {2}COMPLETED {2}118 MiB {2}sealed {2}tacho-/,
  );
  assert.match(
    listText([listed({ job: '4711', name: 'train', path: 'tacho-4711' })], 80),
    /\n4711 {2}train {2}ada {3}.* {2}118 MiB {2}sealed {2}tacho-4711\n/,
  );
});

test('a path that does not fit stands below its line', () => {
  const long = `archive/${'x'.repeat(60)}`;
  const lines = listText([listed({ path: long })], 80)
    .trimEnd()
    .split('\n');
  assert.equal(lines.length, 3);
  assert.equal(lines[2], `  ${long}`);
  for (const line of lines) assert.ok(line.length <= 80, line);
  const array = listText([listed({ path: long, job: `4711_${'x'.repeat(60)}`, state: 'newer version' })], 80);
  for (const line of array.split('\n')) assert.ok(line.length <= 80, line);
});

test('names cannot move the cursor of the reader', () => {
  const text = listText([listed({ name: 'a\x1b[2J\rb', user: '\x9b31m', path: 'x\ny' })]);
  assert.match(text, /a\\x1b\[2J\\rb/);
  assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  assert.equal(text.split('\n').length, 3);
});
