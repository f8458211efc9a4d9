import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fields, invalidValueText, list, map, may, moment, must, number, shaped, text, tuple } from './shape.ts';

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

test('parts of a field that cannot be used are left out and named, and the rest stays', () => {
  const shape = {
    written: may(list(text)),
    steps: may(list(fields({ id: text, end: may(moment) }))),
    tags: must(map(text), {}),
    start: must(moment, Number.NaN),
    spans: may(list(tuple(moment, number))),
  };
  const wrong: string[] = [];
  const record = {
    written: ['a', 5, 'b'],
    steps: [{ id: '1', end: 'late', more: 1 }, { end: 5 }, null],
    tags: { good: 'yes', bad: {} },
    start: 1e300,
    spans: [[1, 2], [1], [1, 'x']],
    format: 1,
  };
  assert.deepEqual(shaped(record, shape, wrong), {
    written: ['a', 'b'],
    steps: [{ id: '1', more: 1 }],
    tags: { good: 'yes' },
    start: Number.NaN,
    spans: [[1, 2]],
    format: 1,
  });
  assert.deepEqual(wrong, [
    'written.1',
    'steps.0.end',
    'steps.1.id',
    'steps.2',
    'tags.bad',
    'start',
    'spans.1',
    'spans.2',
  ]);
  assert.equal(invalidValueText(wrong), 'written.1, steps.0.end, steps.1.id, steps.2, tags.bad and 3 more');
  const none: string[] = [];
  assert.deepEqual(shaped({ written: 5, steps: null }, shape, none), { tags: {}, start: Number.NaN });
  assert.deepEqual(none, ['written']);
});
