import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, testSet } from '../../../test/made/processes.ts';
import { job, material } from '../../../test/made/report-jobs.ts';
import { spansOf } from './spans.ts';

const at = (second: number): number => BEGAN + second * 1e6;

test('the job, its steps, phases, operations, processes and tasks are spans, each with what it is part of', () => {
  const on = (pid: number, from: number, to: number, more: object) => ({ pid, node: 'c1', from, to, ...more });
  const processes = testSet([
    on(10, 0, 100, { exename: 'bash' }),
    on(20, 10, 40, { ppid: 10, exename: 'solve', tags: 'op:solve', rank: '0', step: '0' }),
    on(21, 11, 50, { ppid: 10, exename: 'solve', tags: 'op:solve', rank: '1', step: '0' }),
    on(30, 60, 90, { ppid: 10, exename: 'solve', tags: 'op:solve', rank: '0', step: '1' }),
  ]);
  const steps = [
    { id: '0', name: 'first', start: at(10), end: at(50) },
    { id: '1', start: at(60), end: at(90) },
  ];
  const markers = [
    { time: at(5), node: 'c1', action: 'begin', name: 'load' },
    { time: at(9), node: 'c1', action: 'end', name: 'load' },
  ] as const;
  const made = material(job(100, { start: BEGAN, end: at(100), steps }), [], { processes, markers });
  const of = (kind: Parameters<typeof spansOf>[1]) =>
    spansOf(made, kind).map(({ name, from, to, parent }) => [
      name,
      (from - BEGAN) / 1e6,
      (to - BEGAN) / 1e6,
      parent?.kind,
    ]);
  assert.deepEqual(of('job'), [['4711', 0, 100, undefined]]);
  assert.deepEqual(of('step'), [
    ['first', 10, 50, 'job'],
    ['1', 60, 90, 'job'],
  ]);
  assert.deepEqual(of('phase'), [['load', 5, 9, undefined]]);
  assert.deepEqual(
    of('operation').filter(([name]) => name !== ''),
    [
      ['op:solve', 10, 50, 'job'],
      ['op:solve', 60, 90, 'job'],
    ],
  );
  assert.deepEqual(of('task'), [
    ['rank 0', 10, 40, undefined],
    ['rank 1', 11, 50, undefined],
    ['rank 0', 60, 90, undefined],
  ]);
  assert.deepEqual(
    of('process').map(([, from, to, parent]) => [from, to, parent]),
    [
      [0, 100, 'job'],
      [10, 40, 'process'],
      [11, 50, 'process'],
      [60, 90, 'process'],
    ],
  );
});
