import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testSet } from '../../../test/made/processes.ts';
import { takeSampledOut } from './sampled-children.ts';

const used = (user: number) => ({ usertime: user, systemtime: 10, minflt: 7, rssmax: 99 });

test('what only sampling saw of its children is taken out of what is told of a process', () => {
  const set = testSet([
    { pid: 1, from: 0, to: 90, metrics: used(5) },
    { pid: 2, ppid: 1, from: 1, to: 50, source: 'parent', metrics: used(1000) },
    { pid: 3, ppid: 2, from: 2, to: 20, source: 'sample', metrics: used(300) },
    // below another that was only sampled
    { pid: 4, ppid: 3, from: 3, to: 10, source: 'sample', metrics: used(50) },
    // it lived on: nobody waited for it
    { pid: 5, ppid: 2, from: 4, to: 80, source: 'sample', metrics: used(200) },
    { pid: 6, ppid: 1, from: 4, to: 80, source: 'sample', metrics: used(100) },
    { pid: 7, ppid: 1, from: 1, to: 50, source: 'parent', metrics: used(40) },
  ]);
  takeSampledOut(set);
  const of = (name: string): number[] => [...set.metrics.get(name)!];
  assert.deepEqual(of('usertime'), [5, 650, 300, 50, 200, 100, 40]);
  assert.deepEqual(of('systemtime'), [10, 0, 10, 10, 10, 10, 10]);
  assert.deepEqual(of('minflt'), [7, Number.NaN, 7, 7, 7, 7, 7]);
  assert.deepEqual(of('rssmax'), [99, Number.NaN, 99, 99, 99, 99, 99]);
});
