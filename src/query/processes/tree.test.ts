import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { testSet } from '../../../test/made/processes.ts';
import type { ProcessSet } from './set.ts';
import { findEarlierBirths, treeOf } from './tree.ts';

const parents = (set: ProcessSet): number[] => Array.from(set.parent, (i) => (i < 0 ? 0 : set.pid[i]!));

test('a shell, what it started and what that started', () => {
  const set = testSet([
    { pid: 10, ppid: 1, from: 0, to: 90, cpu: 1 },
    { pid: 11, ppid: 10, from: 1, to: 50, cpu: 2 },
    { pid: 13, ppid: 11, from: 3, to: 40, cpu: 8 },
    { pid: 12, ppid: 11, from: 2, to: 30, cpu: 4 },
  ]);
  assert.deepEqual(parents(set), [0, 10, 11, 11]);
  assert.deepEqual([...set.depth], [0, 1, 2, 2]);
  assert.deepEqual([...set.descendants], [3, 2, 0, 0]);
  assert.deepEqual([...set.inclusive_cpu_time], [15e6, 14e6, 8e6, 4e6]);
  const children = [...set.children.subarray(set.first[1], set.first[2])];
  assert.deepEqual(
    children.map((i) => set.pid[i]),
    [12, 13],
    'by their start',
  );
});

test('a pid that was used again: the parent is the one that was alive', () => {
  const set = testSet([
    { pid: 10, ppid: 1, from: 0, to: 10 },
    { pid: 10, ppid: 1, from: 20, to: 30 },
    { pid: 11, ppid: 10, from: 5, to: 6 },
    { pid: 12, ppid: 10, from: 25, to: 26 },
    { pid: 13, ppid: 10, from: 15, to: 16 },
    { pid: 14, ppid: 10, from: 31, to: 32 },
  ]);
  assert.deepEqual([...set.parent], [-1, -1, 0, 1, -1, -1]);
});

test('a parent may end before the first line of its child is written', () => {
  const set = testSet([
    { pid: 10, ppid: 1, from: 0, to: 5 },
    { pid: 11, ppid: 10, from: 5.1, to: 9 },
    { pid: 12, ppid: 10, from: 5.6, to: 9 },
    { pid: 13, ppid: 1, from: 0, to: 5 },
    { pid: 13, ppid: 1, from: 5.05, to: 7 },
    { pid: 14, ppid: 13, from: 5.1, to: 6 },
  ]);
  assert.deepEqual([...set.parent], [-1, 0, -1, -1, -1, 4]);
});

test('a parent that began after its child is none', () => {
  const set = testSet([
    { pid: 10, ppid: 1, from: 5.000001, to: 10 },
    { pid: 11, ppid: 10, from: 5, to: 6 },
  ]);
  assert.deepEqual([...set.parent], [-1, -1]);
});

test('nodes and jobs do not share pids', () => {
  const set = testSet([
    { pid: 10, from: 0, to: 10, node: 'c1' },
    { pid: 11, ppid: 10, from: 1, to: 2, node: 'c2' },
    { pid: 12, ppid: 10, from: 1, to: 2, node: 'c1' },
  ]);
  assert.deepEqual([...set.parent], [-1, -1, 0]);
});

test('a process that executed another program: its child belongs to the image that ran then', () => {
  const set = testSet([
    { pid: 10, from: 0, to: 5, ended: 'exec' },
    { pid: 10, from: 5.1, to: 9, birth: 0 },
    { pid: 11, ppid: 10, from: 2, to: 3 },
    { pid: 12, ppid: 10, from: 7, to: 8 },
    { pid: 13, ppid: 10, from: 5.05, to: 8 },
  ]);
  assert.deepEqual([...set.parent], [-1, -1, 0, 1, 0]);
});

test('the parent is that of the process, not of the program that it became', () => {
  const set = testSet([
    { pid: 10, from: 0, to: 5 },
    { pid: 11, ppid: 10, from: 6, to: 9, birth: 4 },
  ]);
  assert.deepEqual([...set.parent], [-1, 0]);
});

test('a process without a known end lives until its pid is used again', () => {
  const set = testSet([
    { pid: 10, from: 0, source: 'start' },
    { pid: 11, ppid: 10, from: 50, to: 60 },
    { pid: 10, ppid: 1, from: 70, to: 80 },
    { pid: 12, ppid: 10, from: 75, to: 76 },
  ]);
  assert.deepEqual([...set.parent], [-1, 0, -1, 2]);
});

test('sampling knows starts by a tick: parent and child may seem to have begun in the wrong order', () => {
  const set = testSet([
    { pid: 10, from: 1.5, to: 9 },
    { pid: 11, ppid: 10, from: 1.4, to: 8, source: 'sample' },
  ]);
  assert.deepEqual([...set.parent], [-1, 0]);
});

test('two that name each other are no circle', () => {
  const set = testSet([
    { pid: 10, ppid: 11, from: 1, to: 9, cpu: 1 },
    { pid: 11, ppid: 10, from: 1, to: 9, cpu: 2 },
    { pid: 12, ppid: 12, from: 1, to: 9, cpu: 4 },
  ]);
  assert.equal([...set.parent].filter((i) => i < 0).length, 2);
  assert.equal(set.order.length, 3);
  assert.equal(Math.max(...set.inclusive_cpu_time), 4e6);
});

test('a chain of 35,000 processes', () => {
  const length = 35_000;
  const set = testSet(
    Array.from({ length }, (_, k) => ({ pid: k + 2, ppid: k + 1, from: k / 1000, to: 90, cpu: 1 })).reverse(),
  );
  assert.equal(set.depth[0], length - 1);
  assert.equal(set.inclusive_cpu_time.at(-1), length * 1e6);
  assert.equal(set.descendants.at(-1), length - 1);
});

test('an unknown CPU time does not make that of the ancestors unknown', () => {
  const set = testSet([
    { pid: 10, from: 0, to: 9 },
    { pid: 11, ppid: 10, from: 1, to: 2, cpu: 3 },
    { pid: 12, ppid: 10, from: 1, to: 2 },
  ]);
  assert.deepEqual([...set.inclusive_cpu_time], [3e6, 3e6, Number.NaN]);
});

test('whatever is recorded: parents were alive, and everybody has a place below a root', () => {
  const process = fc.record({
    pid: fc.integer({ min: 1, max: 8 }),
    ppid: fc.integer({ min: 1, max: 8 }),
    from: fc.integer({ min: 0, max: 20 }),
    length: fc.integer({ min: 0, max: 20 }),
    cpu: fc.integer({ min: 0, max: 5 }),
  });
  fc.assert(
    fc.property(fc.array(process, { maxLength: 40 }), (all) => {
      const set = testSet(all.map(({ length, ...one }) => ({ ...one, to: one.from + length })));
      const roots = [...set.parent].flatMap((above, i) => (above < 0 ? [i] : []));
      for (let i = 0; i < set.length; i++) {
        const above = set.parent[i]!;
        if (above < 0) continue;
        assert.equal(set.pid[above], set.ppid[i]);
        assert.ok(set.start[above]! <= set.start[i]! && set.end[above]! >= set.start[i]!);
        assert.equal(set.depth[i], set.depth[above]! + 1);
      }
      assert.equal(new Set(set.order).size, set.length);
      const below = roots.reduce((sum, i) => sum + set.inclusive_cpu_time[i]!, 0);
      assert.equal(
        below,
        set.cpu_time.reduce((a, b) => a + b, 0),
      );
    }),
  );
});

test('where only ends were recorded, a parent that executed another program later was there before', () => {
  const set = testSet([
    { pid: 10, ppid: 1, from: 0, to: 90, cpu: 1 },
    // 11 was a shell that started 12, which started 13, before it became what is recorded; so was 12
    { pid: 11, ppid: 10, from: 30, to: 40, cpu: 2 },
    { pid: 12, ppid: 11, from: 20, to: 25, cpu: 4 },
    { pid: 13, ppid: 12, from: 10, to: 12, cpu: 8 },
    // whoever has its parent's pid afterwards is not its parent: somebody was alive
    { pid: 14, ppid: 10, from: 50, to: 60, cpu: 16 },
    { pid: 10, ppid: 1, from: 95, to: 99 },
    // nobody has that pid later
    { pid: 15, ppid: 7, from: 5, to: 6 },
  ]);
  assert.deepEqual([...set.parent], [-1, 0, -1, -1, 0, -1, -1]);
  findEarlierBirths(set);
  const tree = treeOf(set);
  assert.deepEqual([...tree.parent], [-1, 0, 1, 2, 0, -1, -1]);
  assert.equal(tree.inclusive_cpu_time[0], 31e6);
  // one that had the pid before, and was dead by then, is in nobody’s way
  const reused = testSet([
    { pid: 10, ppid: 1, from: 0, to: 5 },
    { pid: 12, ppid: 10, from: 20, to: 25 },
    { pid: 10, ppid: 1, from: 30, to: 40 },
  ]);
  findEarlierBirths(reused);
  assert.deepEqual([...treeOf(reused).parent], [-1, 2, -1]);
});
