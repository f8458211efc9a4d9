import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep } from '../../../test/made/report-jobs.ts';
import { report } from '../../judge/report.ts';
import { textTable } from '../terminal/text-table.ts';
import { reportHtml } from './html.ts';
import { jobRow, manyRows, severalRows } from './several.ts';
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

test('in a table of many jobs an id that the folder has is not said again, and no name is cut to a few letters', () => {
  const card = report(sleep());
  const names = ['ocean_annual_rho2_1x1deg_18540101', 'ocean_annual_z_1x1deg_18540101', '', 'kern'];
  const jobs = names.map((name, i) => ({
    ...card,
    job: { ...card.job, id: `68500${i}`, scheduler: 'slurm' as const, name: name || `68500${i}`, command: undefined },
    recording: `jobs/tacho-68500${i}`,
  }));
  const lines = (width: number): string[] => {
    const { columns, rows } = manyRows(jobs.map((one) => jobRow(one as never)));
    return textTable(columns, rows, width);
  };
  assert.match(lines(80)[1]!, /^jobs\/tacho-685000 {2}ocean_annual_rho2_1x1d\.\. {2}completed /);
  assert.match(lines(80)[3]!, /^jobs\/tacho-685002 +completed /);
  assert.match(lines(74)[1]!, /^jobs\/tacho-685000 {2}ocean_annual_rho\.\. {2}completed /);
  // no room for 16 letters of a name: the state instead
  assert.match(lines(60)[1]!, /^jobs\/tacho-685000 {2}completed /);
});
