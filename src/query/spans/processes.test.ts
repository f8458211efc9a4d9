import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, testSet } from '../../../test/made/processes.ts';
import { processesIn, selectStored } from './processes.ts';
import type { Selection } from './select.ts';

const set = testSet([
  { pid: 1, from: 0, to: 100, node: 'c1' },
  { pid: 2, ppid: 1, from: 1, to: 9, node: 'c1' },
  { pid: 3, ppid: 1, from: 12, to: 18, node: 'c1' },
  { pid: 4, ppid: 1, from: 15, to: 45, node: 'c2' },
  { pid: 5, ppid: 1, from: 60, node: 'c1' },
]);
const pids = (selection: Selection | undefined): number[] => [...processesIn(set, new Map([[0, { selection }]])).pid];

test('processes that ran at any moment of what is selected, not those of the gaps', () => {
  assert.deepEqual(pids(undefined), [1, 2, 3, 4, 5]);
  const intervals = [
    [BEGAN + 5e6, BEGAN + 10e6],
    [BEGAN + 20e6, BEGAN + 30e6],
  ] as const;
  assert.deepEqual(pids({ what: 'phase "a", 2 times', from: BEGAN + 5e6, to: BEGAN + 30e6, intervals }), [1, 2, 4]);
  assert.deepEqual(pids({ what: 'the time asked for', from: BEGAN + 50e6 }), [1, 5]);
  assert.deepEqual(pids({ what: 'step 1', from: BEGAN, to: BEGAN + 50e6, nodes: ['c2'] }), [4]);
  assert.deepEqual([...processesIn(set, new Map()).pid], [], 'a job that has nothing of it');
});

test('those of a database: by time and step, as it has no phases', () => {
  const job = set.jobs[0]!;
  assert.equal(selectStored(job, ['0'], {}), undefined);
  assert.deepEqual(selectStored(job, ['0', '1'], { step: '1' })?.step, { id: '1', whole: true });
  assert.throws(() => selectStored(job, ['0', '1'], { step: '7' }), { exit: 2, hint: 'it has 0 and 1' });
  assert.throws(() => selectStored(job, [], { marker: 'a' }), { exit: 2, message: /no phases/ });
});
