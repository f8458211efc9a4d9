import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Comparison } from '../judge/compare.ts';
import { compareText } from './compare-text.ts';

const job = (id: string, duration: number) => ({
  id,
  name: 'model',
  recording: `tacho-${id}`,
  state: 'completed',
  start: 1_794_775_752_000_000,
  duration,
});
const use = (time: number) => ({ processes: 1, cpu: 2_000, duration: time, time });

test('times are microseconds; what differs by next to nothing has no direction, what does not differ no row', () => {
  const found: Comparison = {
    jobs: [job('17', 100e6), job('18', 110e6)],
    differences: [0, 10e6],
    facts: [],
    metrics: [
      { name: 'user time', kind: 'microseconds', values: [61e6, 65e6] },
      { name: 'switches', kind: 'count', values: [25012, 24995] },
    ],
    by: 'process',
    parts: [
      { name: 'sim', jobs: [use(90e6), use(100e6 + 5)], difference: 10e6 + 5, explains: 1.0000005 },
      { name: 'cp', jobs: [use(10e6), use(10e6 - 5)], difference: -5, explains: -5e-7 },
      { name: 'sh', jobs: [use(1), use(1)], difference: 0, explains: 0 },
    ],
    only: [],
    notes: [],
  };
  const text = compareText(found);
  assert.match(text, /B took 10\.0 s more than A\./);
  assert.match(text, /user time +1 min 01 s +1 min 05 s +\+6\.6 %/);
  assert.match(text, /switches +25 ?012 +24 ?995 +< 0\.1 %/);
  assert.match(text, /\n +\+10\.0 s +100 % .* sim\n/);
  assert.match(text, /\n +-0\.005 ms +< 0\.1 % .* cp\n/);
  assert.doesNotMatch(text, / sh\n|-</);
});
