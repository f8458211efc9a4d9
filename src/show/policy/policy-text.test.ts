import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pastJob } from '../../../test/made/policy-history.ts';
import type { Judged } from '../../policy/evaluate.ts';
import type { Policy } from '../../policy/policy.ts';
import { judgedText } from './policy-text.ts';

test('on a narrow page what the policy is about stays, and how jobs ended goes', () => {
  const now = Date.parse('2026-03-20T00:00:00Z') * 1000;
  const summary = pastJob('20261118-063405-train-8p8t', now, 10, 8, { name: 'train', state: 'completed' });
  const judged: Judged = {
    cases: [{ user: 'ada', jobs: [{ summary, figures: { cpu_use: 0.1 } }], totals: { core_hours: 80 } }],
    jobs: 1,
    exempt: [],
    unmeasured: [],
  };
  const policy = { name: 'low', help: 'Less than a quarter used' } as Policy;
  const heads = (width: number): string[] =>
    judgedText([{ policy, judged }], { width })
      .split('\n')
      .find((line) => line.startsWith('  job'))!
      .trim()
      .split(/\s{2,}/);
  assert.deepEqual(heads(200), ['job', 'name', 'state', 'start', 'core-hours', 'cpu_use']);
  assert.deepEqual(heads(80), ['job', 'name', 'start', 'core-hours', 'cpu_use']);
  assert.deepEqual(heads(64), ['job', 'name', 'core-hours', 'cpu_use']);
});
