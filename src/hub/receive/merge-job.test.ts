import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../../recording/folder/job.ts';
import { mergeJobs } from './merge-job.ts';

const job = (facts: Partial<Job>): Job => ({
  format: 1,
  tacho: '0.1.0',
  id: '7',
  scheduler: 'slurm',
  name: '',
  user: 'ada',
  uid: 1000,
  asked: {},
  nodes: [],
  interval_seconds: 1,
  start: Number.NaN,
  state: 'running',
  tags: {},
  environment: {},
  ...facts,
});

test('nodes are united, the earliest start and the latest end count', () => {
  const merged = mergeJobs(
    job({ nodes: ['c1', 'c2'], start: 20, end: 90 }),
    job({ nodes: ['c2', 'c3'], start: 10, end: 80 }),
  );
  assert.deepEqual([merged.nodes, merged.start, merged.end], [['c1', 'c2', 'c3'], 10, 90]);
  assert.equal(mergeJobs(job({}), job({ start: 5 })).start, 5);
  assert.equal(mergeJobs(job({}), job({})).end, undefined);
});

test('what one node knows is not undone by another that does not', () => {
  const rich = job({
    name: 'simulate',
    account: 'physics',
    asked: { cpus: 8 },
    command: ['a', 'b'],
    steps: [{ id: '0' }],
  });
  const poor = job({ scheduler: 'none', environment: { A: '1' } });
  for (const merged of [mergeJobs(rich, poor), mergeJobs(poor, rich)]) {
    assert.deepEqual(
      [merged.name, merged.account, merged.asked, merged.command, merged.steps, merged.scheduler, merged.environment],
      ['simulate', 'physics', { cpus: 8 }, ['a', 'b'], [{ id: '0' }], 'slurm', { A: '1' }],
    );
  }
});

test('how it ended is one node’s word: a failure before a success, an end before none', () => {
  const good = job({ state: 'completed', exit_code: 0 });
  const bad = job({ state: 'failed', exit_code: 3, reason: 'it crashed' });
  for (const merged of [mergeJobs(good, bad), mergeJobs(bad, good)]) {
    assert.deepEqual([merged.state, merged.exit_code, merged.reason], ['failed', 3, 'it crashed']);
  }
  assert.equal(mergeJobs(good, job({ state: 'running' })).state, 'completed');
  assert.equal(mergeJobs(job({ state: 'unknown' }), job({ state: 'running' })).state, 'running');
  const timeout = mergeJobs(good, job({ state: 'timeout' }));
  assert.deepEqual([timeout.state, timeout.exit_code], ['timeout', undefined]);
});

test('what people have said stays', () => {
  const have = job({ tags: { model: 'mine' }, annotations: { note: 'mine' } });
  const merged = mergeJobs(have, job({ tags: { model: 'theirs', other: '1' } }));
  assert.deepEqual([merged.tags, merged.annotations], [{ model: 'mine', other: '1' }, { note: 'mine' }]);
});

test("what Tacho's own commands used is told by each node for itself", () => {
  const used = (cpu_seconds: number) => ({ commands: 1, cpu_seconds, max_rss_bytes: 1 });
  const merged = mergeJobs(job({ own_use: { c1: used(1) } }), job({ state: 'failed', own_use: { c2: used(2) } }));
  assert.deepEqual(merged.own_use, { c1: used(1), c2: used(2) });
  assert.deepEqual(mergeJobs(merged, job({})).own_use, merged.own_use);
});

test('why nothing is known of an end does not stay when it becomes known', () => {
  const lost = job({ state: 'unknown', reason: 'nothing more came' });
  assert.equal(mergeJobs(lost, job({ state: 'completed' })).reason, undefined);
  assert.equal(mergeJobs(job({ state: 'completed' }), lost).reason, undefined);
  assert.equal(mergeJobs(lost, job({ state: 'failed', reason: 'exit code 3' })).reason, 'exit code 3');
  assert.equal(mergeJobs(job({ state: 'failed' }), job({ state: 'failed', reason: 'x' })).reason, 'x');
});
