import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bounded } from './bounded.ts';

test('an answer that fits is as it was', () => {
  assert.deepEqual(JSON.parse(bounded({ a: [1, 2.5, 'x'], b: { c: null } })), { a: [1, 2.5, 'x'], b: { c: null } });
});

test('a long list loses its end, and says so', () => {
  const shortenedAnswer = JSON.parse(
    bounded({ rows: Array.from({ length: 5000 }, (_, i) => ({ i, text: 'x'.repeat(50) })) }),
  );
  assert.equal(shortenedAnswer.rows[0].i, 0);
  assert.match(shortenedAnswer.rows.at(-1), /^4\d{3} more were left out$/);
});

test('moments are dates, and a command is one line; other numbers stay as they are', () => {
  const fields = { start: 1772438400000000, last_sample: 1772438400500000, memory_bytes: 1772438400000000, from: 3 };
  assert.deepEqual(
    JSON.parse(bounded({ job: { ...fields, command: ['sh', '-c', 'a b'] }, time: [1772438400000000] })),
    {
      job: {
        start: '2026-03-02T08:00:00.000Z',
        last_sample: '2026-03-02T08:00:00.500Z',
        memory_bytes: 1772438400000000,
        from: 3,
        command: "sh -c 'a b'",
      },
      time: ['2026-03-02T08:00:00.000Z'],
    },
  );
});

test('no answer is longer than it may be', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 200, max: 5000 }), (value, most) => {
      const text = bounded(value, most);
      assert.ok(text === undefined || text.length <= most * 7);
      if (text !== undefined) JSON.parse(text);
    }),
  );
});
