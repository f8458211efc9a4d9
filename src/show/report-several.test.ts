import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep } from '../../test/report/jobs.ts';
import { report } from '../judge/report.ts';
import { severalRows } from './report-several.ts';

test('jobs that look the same are told apart by the folders of their recordings', () => {
  const card = report(sleep());
  const other = { ...card, job: { ...card.job, name: 'other', command: ['other'] } };
  const heads = (...reports: (typeof card)[]): string[] => severalRows(reports).columns.map(({ head }) => head);
  assert.ok(!heads(card, other).includes('recording'));
  const twins = [
    { ...card, recording: '/runs/d1' },
    { ...card, recording: '/runs/d2' },
  ];
  assert.equal(heads(...twins)[1], 'recording');
  assert.deepEqual(
    severalRows(twins).rows.map((row) => row[1]),
    ['d1', 'd2'],
  );
});
