import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep } from '../../../test/made/report-jobs.ts';
import { report } from '../../judge/report.ts';
import { textTable } from '../terminal/text-table.ts';
import { reportHtml } from './html.ts';
import { jobRow, severalRows } from './several.ts';
import { cardOf, reportCards } from './text.ts';

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

test('of many jobs there is a table, which names each recording as one would type it, and in HTML links to its card', () => {
  const made = Array.from({ length: 38 }, (_, i) => ({
    ...report(sleep()),
    recording: `nightly/of-the-second-model/r${i + 1}`,
  }));
  const cards = reportCards({});
  for (const one of made) cards.add(cardOf(one, { isTableOnly: true }));
  const text = [...cards.texts()].join('');
  assert.ok(text.split('\n').length < 45, text);
  assert.ok(text.split('\n').every((line) => line.length <= 80));
  for (const { recording } of made) assert.match(text, new RegExp(`^  ${recording} +sleep 5`, 'm'));
  assert.doesNotMatch(text, /Programs/);
  const html = reportHtml(made);
  assert.match(html, /<a href="#job-37">nightly\/of-the-second-model\/r38<\/a>/);
  assert.match(html, /<article id="job-37">/);
});
