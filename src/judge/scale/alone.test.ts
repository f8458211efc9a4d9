import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, type Told, testSet } from '../../../test/made/processes.ts';
import { job } from '../../../test/made/report-jobs.ts';
import { lengthOf } from '../../base/intervals.ts';
import type { Material } from '../../query/material.ts';
import type { AllThreads } from '../../query/processes/threads.ts';
import { aloneTimes } from './alone.ts';

const aloneSeconds = (jobMaterial: Material): number | undefined => {
  const times = aloneTimes(jobMaterial);
  return times === undefined ? undefined : lengthOf(times) / 1e6;
};

/** A job of 100 s with these processes, and threads of them: [place of the process, from, to, CPU seconds]. */
function material(processRows: Told[], threads: readonly (readonly [number, number, number, number])[] = []): Material {
  const all: AllThreads = {
    length: threads.length,
    process: Uint32Array.from(threads, ([process]) => process),
    tid: Float64Array.from(threads, (_, i) => i),
    start: Float64Array.from(threads, ([, from]) => BEGAN + from * 1e6),
    end: Float64Array.from(threads, ([, , to]) => BEGAN + to * 1e6),
    cpu_time: Float64Array.from(threads, ([, , , cpu]) => cpu * 1e6),
    metrics: new Map(),
  };
  return {
    path: 'r',
    job: job(100, { start: BEGAN, end: BEGAN + 100e6 }),
    nodes: [],
    markers: [],
    now: BEGAN + 1e9,
    processes: testSet(processRows),
    threads: () => all,
  };
}

test('one thread before and after others', () => {
  const processRows = [{ pid: 1, from: 0, to: 100, cpu: 130, exename: 'app', threads: 3 }];
  const threads = [
    [0, 0, 100, 30],
    [0, 20, 70, 50],
    [0, 20, 70, 50],
  ] as const;
  assert.equal(aloneSeconds(material(processRows, threads)), 50);
});

test('a shell that waits does not count, processes side by side do', () => {
  const processRows = [
    { pid: 1, from: 0, to: 100, cpu: 0.1, exename: 'sh' },
    { pid: 2, ppid: 1, from: 0, to: 60, cpu: 60, exename: 'a' },
    { pid: 3, ppid: 1, from: 40, to: 100, cpu: 60, exename: 'b' },
  ];
  assert.equal(aloneSeconds(material(processRows)), 80);
});

test('nothing is said where many little ones did the work, or an end is missing', () => {
  const many = Array.from({ length: 200 }, (_, i) => ({
    pid: i + 1,
    from: i / 2,
    to: i / 2 + 1,
    cpu: 0.5,
    exename: 'cc',
  }));
  assert.equal(aloneSeconds(material(many)), undefined);
  assert.equal(aloneSeconds(material([{ pid: 1, from: 0, cpu: 50, exename: 'a', source: 'start' }])), undefined);
  const { threads: _, ...without } = material([{ pid: 1, from: 0, to: 9, cpu: 5 }]);
  assert.equal(aloneSeconds(without), undefined);
});
