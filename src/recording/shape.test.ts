import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { shaped } from './shape.ts';

const needed = { id: '', nodes: [], start: Number.NaN, facts: { cpus: Number.NaN, gpus: [] } };

test('what is there stays, what is missing is filled in', () => {
  const wrong: string[] = [];
  assert.deepEqual(shaped({ id: '17', facts: { cpus: 4 }, more: true }, needed, wrong), {
    id: '17',
    nodes: [],
    start: Number.NaN,
    facts: { cpus: 4, gpus: [] },
    more: true,
  });
  assert.deepEqual(wrong, []);
});

test('a field of another kind is named and replaced', () => {
  const wrong: string[] = [];
  assert.deepEqual(shaped({ id: 17, nodes: 'c1', start: null, facts: { cpus: 'four' } }, needed, wrong), {
    id: '',
    nodes: [],
    start: Number.NaN,
    facts: { cpus: Number.NaN, gpus: [] },
  });
  assert.deepEqual(wrong, ['id', 'nodes', 'facts.cpus']);
});

test('whatever a file holds, the needed fields are there and of their kind', () => {
  fc.assert(
    fc.property(fc.object({ key: fc.constantFrom('id', 'nodes', 'start', 'facts', 'cpus', 'gpus', 'x') }), (record) => {
      const whole = shaped<typeof needed>(record, needed, []);
      assert.equal(typeof whole.id, 'string');
      assert.equal(typeof whole.start, 'number');
      assert.ok(Array.isArray(whole.nodes) && Array.isArray(whole.facts.gpus));
      assert.equal(typeof whole.facts.cpus, 'number');
    }),
  );
});
