import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Recording } from '../../recording/folder/open.ts';
import type { Marker } from '../../recording/read/markers.ts';
import { phaseSpans } from './phases.ts';
import { intervalsOf, type SpanQuery, select } from './select.ts';

const second = (n: number): number => n * 1e6;
const steps = [
  { id: '17.0', name: 'first', start: second(10), end: second(40), nodes: ['c1'] },
  { id: '17.1', start: second(40), end: second(90) },
];
const job = { id: '17', start: second(0), end: second(100), state: 'completed', interval_seconds: 1, steps };
const recording = { path: 'tacho-17', job, nodes: [] } as unknown as Recording;
const mark = (at: number, action: Marker['action'], name: string): Marker => ({
  time: second(at),
  node: 'c1',
  action,
  name,
});
const markers = [
  mark(5, 'begin', 'epoch'),
  mark(15, 'end', 'epoch'),
  mark(30, 'begin', 'epoch'),
  mark(35, 'begin', 'epoch'),
  mark(45, 'end', 'epoch'),
  mark(50, 'end', 'epoch'),
  mark(80, 'begin', 'tail'),
];
const seconds = (query: SpanQuery): unknown[] => {
  const selection = select(recording, query, { markers });
  return [selection?.nodes?.join(), ...intervalsOf(selection).map(([from, to]) => [from / 1e6, to / 1e6])];
};

test('a repeated phase is its times, without the gaps between them; nested ones are one', () => {
  assert.deepEqual(seconds({ marker: 'epoch' }), [undefined, [5, 15], [30, 50]]);
  assert.equal(select(recording, { marker: 'epoch' }, { markers })?.what, 'phase "epoch", 3 times');
  // never ended: until the end of the job
  assert.deepEqual(seconds({ marker: 'tail' }), [undefined, [80, 100]]);
});

test('what is asked for together must all be met', () => {
  assert.deepEqual(seconds({ marker: 'epoch', from: second(12), to: second(33) }), [undefined, [12, 15], [30, 33]]);
  assert.deepEqual(seconds({ marker: 'epoch', step: 'first' }), ['c1', [10, 15], [30, 40]]);
  assert.deepEqual(seconds({ step: '1', from: second(60) }), [undefined, [60, 90]]);
});

test('all of the job is no selection; an empty one, and names that are not there, are wrong use', () => {
  assert.equal(select(recording, { from: second(-1), to: second(100) }, { markers }), undefined);
  const wrong = (query: SpanQuery, message: RegExp, hint?: string): void =>
    assert.throws(() => select(recording, query, { markers }), { exit: 2, message, ...(hint ? { hint } : {}) });
  wrong({ marker: 'epoch', from: second(16), to: second(29) }, /is empty/);
  wrong({ from: second(20), to: second(10) }, /is empty/);
  wrong({ from: second(200) }, /nothing was recorded in the time asked for/);
  wrong({ marker: 'epohc' }, /^job 17 has no phase "epohc"$/, 'it has epoch and tail');
  wrong({ step: '7' }, /^job 17 has no step 7$/, 'it has 17.0 and 17.1');
});

test('phases of the same name on several nodes are paired on each of them', () => {
  const on = (node: string, at: number, action: Marker['action']): Marker => ({ ...mark(at, action, 'load'), node });
  const marked = [on('a', 1, 'begin'), on('b', 2, 'begin'), on('a', 7, 'end'), on('b', 9, 'end'), on('c', 11, 'end')];
  const spans = phaseSpans(job, marked, second(100)).map(({ node, from, to }) => [node, from / 1e6, to / 1e6]);
  assert.deepEqual(spans, [
    ['a', 1, 7],
    ['b', 2, 9],
  ]);
  // begun on one node and ended on another
  const across = phaseSpans(job, [on('a', 1, 'begin'), on('b', 4, 'end')], second(100));
  assert.deepEqual(
    across.map(({ from, to }) => [from / 1e6, to / 1e6]),
    [[1, 4]],
  );
});
