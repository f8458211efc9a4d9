import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JobNumbers } from './job-numbers.ts';

test('client: a client gets the next number with its first graph, and its graphs are counted from 0', () => {
  const numbers = new JobNumbers('client');
  assert.deepEqual(numbers.current, { job: 0, dag: 0 });
  assert.deepEqual(numbers.graph({ client: 'Client-a', graph: 0 }), { job: 1, dag: 0 });
  assert.deepEqual(numbers.graph({ client: 'Client-b', graph: 1 }), { job: 2, dag: 0 });
  assert.deepEqual(numbers.graph({ client: 'Client-a', graph: 2 }), { job: 1, dag: 1 });
  // a task that submits tasks
  assert.deepEqual(numbers.graph({ client: 'Client-worker-1', graph: 3 }), { job: 1, dag: 1 });
  assert.deepEqual(numbers.placeOf(1), { job: 2, dag: 0 });
  assert.equal(numbers.placeOf(9), undefined);
  assert.throws(() => numbers.newJob(), /counted by client/);
  const second = new JobNumbers('client');
  second.goOnAfter(2);
  assert.deepEqual(second.graph({ client: 'Client-c' }), { job: 3, dag: 0 });
});

test('manual: only new-job counts, and graphs begin again with it', () => {
  const numbers = new JobNumbers('manual');
  const graph = () => numbers.graph({ client: 'Client-a' });
  assert.deepEqual(graph(), { job: 0, dag: 0 });
  assert.equal(numbers.newJob(), 1);
  assert.deepEqual(
    [graph(), graph()],
    [
      { job: 1, dag: 0 },
      { job: 1, dag: 1 },
    ],
  );
  assert.equal(numbers.newJob(42), 42);
  assert.deepEqual(graph(), { job: 42, dag: 0 });
  const second = new JobNumbers('manual');
  second.goOnAfter(42);
  assert.deepEqual([second.newJob(), second.newJob()], [43, 44]);
});
