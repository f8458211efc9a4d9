import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep } from '../../../test/made/report-jobs.ts';
import { report } from '../../judge/report.ts';
import { textTable } from '../terminal/text-table.ts';
import { jobRow, severalRows } from './several.ts';

test('jobs that look the same are told apart by the folders of their recordings', () => {
  const card = report(sleep());
  const other = { ...card, job: { ...card.job, name: 'other', command: ['other'] } };
  const heads = (...reports: (typeof card)[]): string[] =>
    severalRows(reports.map(jobRow)).columns.map(({ head }) => head);
  assert.ok(!heads(card, other).includes('recording'));
  const twins = [
    { ...card, recording: '/runs/d1' },
    { ...card, recording: '/runs/d2' },
  ];
  assert.equal(heads(...twins)[1], 'recording');
  assert.deepEqual(
    severalRows(twins.map(jobRow)).rows.map((row) => row[1]),
    ['d1', 'd2'],
  );
});

test('on a narrow page the energy goes before the number of nodes', () => {
  const card = report(sleep());
  const { columns, rows } = severalRows([jobRow({ ...card, summary: { ...card.summary, energy_joules: 3.6e6 } })]);
  const shown = (width: number): string[] => textTable(columns, rows, width)[0]!.split(/ +/);
  const most = shown(Number.POSITIVE_INFINITY);
  assert.ok(most.includes('energy') && most.includes('nodes'), `${most}`);
  const whole = textTable(columns, rows)[0]!.length;
  assert.deepEqual(
    shown(whole - 1),
    most.filter((head) => head !== 'energy'),
  );
});
