import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JOB_NEEDS, type Job } from './job.ts';
import { jobInShort } from './node-names.ts';
import { shaped } from './shape.ts';

const read = (job: object, wrong: string[] = []): Job =>
  shaped<Job>(
    JSON.parse(JSON.stringify(job)),
    { nodes: JOB_NEEDS.nodes, steps: JOB_NEEDS.steps, per_node: JOB_NEEDS.per_node },
    wrong,
  );

test('whatever nodes are called, they are read as they were written', () => {
  const name = fc.oneof(
    fc.integer({ min: 0, max: 3000 }).map((n) => `c${n}`),
    fc.integer({ min: 0, max: 3000 }).map((n) => `c${String(n).padStart(4, '0')}.site`),
    fc.string(),
    fc.constantFrom('c[1-3]', 'a,b', ' ', '', 'x[', '10.0.0.7'),
  );
  const many = fc.oneof(
    fc.array(name, { maxLength: 200 }),
    fc.integer({ min: 1, max: 5000 }).map((n) => Array.from({ length: n }, (_, i) => `nid${i + 7}`)),
  );
  fc.assert(
    fc.property(many, (nodes) => {
      const job = { nodes, steps: [{ id: '0', nodes }] } as unknown as Job;
      const again = read(jobInShort(job));
      assert.deepEqual([again.nodes, again.steps![0]!.nodes], [nodes, nodes]);
    }),
  );
});

test('few names stand as they are, for people and other programs', () => {
  const job = { nodes: ['c1', 'c2', 'c3'], per_node: { c1: { cpus: 1 } } } as unknown as Job;
  assert.deepEqual(jobInShort(job), job);
});

test('a short text that stands for very many names costs nobody his memory', () => {
  for (const nodes of ['c[1-999999]', 'c[1-300000],d[1-300000]', '[1]'.repeat(300_000), '']) {
    const wrong: string[] = [];
    assert.ok(read({ nodes }, wrong).nodes.length <= 1, nodes.slice(0, 30));
  }
  // each text anew, but no more than fit
  const steps = Array.from({ length: 1000 }, (_, i) => ({ id: `${i}`, nodes: `c[1-${100_000 + i}]` }));
  const wrong: string[] = [];
  const names = read({ nodes: [], steps }, wrong).steps!.reduce((sum, step) => sum + (step.nodes?.length ?? 0), 0);
  assert.ok(names <= 400_000 && wrong.length >= 996, `${names} ${wrong.length}`);
});
