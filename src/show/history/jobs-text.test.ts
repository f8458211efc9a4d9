import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobsText, whenText } from './jobs-text.ts';

test('a job of which accounting does not say when it ran has no start, not one in 1970', () => {
  const rows = [{ job: '8', user: 'ada', state: 'pending', time: 0 }].map((row) => jobsText([row]));
  assert.deepEqual(
    rows[0]!.split('\n').map((line) => line.trim().split(/\s+/)),
    [['job', 'user', 'state'], ['8', 'ada', 'pending'], ['']],
  );
  assert.equal(whenText(1), '1970-01-01 00:00');
});

test('large jobs have their numbers with commas', () => {
  const large = { job: '8', user: 'ada', state: 'completed', time: 0, nodes: 1024, cpus: 131_072 };
  assert.match(jobsText([large]), / 1,024 +131,072\b/);
});
