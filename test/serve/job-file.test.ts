import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Report } from '../../src/judge/report-schema.ts';
import { temporary } from '../make-recording.ts';
import { tacho } from '../tacho.ts';
import { openFile, whyNoBrowser } from './browser.ts';

const skip = whyNoBrowser;
const folder = temporary();
const demo = path.join(folder, 'demo');
const file = path.join(folder, 'job.html');
/** What would end the script that it stands in, if it were not packed. */
const MARKER = '</script><b>x';

function ran(args: readonly string[]): string {
  const { code, err, out } = tacho([...args]);
  assert.equal(code, 0, err);
  return out;
}

before(() => {
  if (skip) return;
  ran(['demo', '-o', demo, '--nodes', '2', '--hours', '0.2']);
  ran(['report', demo, '--format', 'html', '-o', file]);
});

test('the report of a job is one file with charts, findings and processes, and asks nobody', { skip }, async (t) => {
  const report = JSON.parse(ran(['report', demo, '--format', 'json'])) as Report;
  const { page, complaints, requests } = await openFile(t, file);
  await page.waitForSelector('.panel canvas');
  assert.equal(await page.locator('.verdict').textContent(), report.findings[0]!.text);
  assert.equal(await page.locator('.findings details').count(), Math.min(4, report.findings.length));
  assert.match((await page.locator('[data-chart=gpu] h3').textContent())!, /^GPU use 16 GPUs/);
  await page.locator('.processes h2', { hasText: /\d+ processes$/ }).waitFor();
  // evidence is drawn by name, though 16 series are one band
  const unused = report.findings.find(({ id }) => id === 'gpu-unused')!;
  const { node, gpu, text } = unused.evidence[0]!;
  await page.locator('.findings summary', { hasText: unused.text }).click();
  await page.getByRole('button', { name: `Show ${text} on the chart` }).click();
  await page.locator('[data-chart=gpu].shown .legend', { hasText: `${node} ${gpu}` }).waitFor();
  await page.locator('[data-chart=gpu-power]').getByText('heat map').click();
  await page.waitForSelector('[data-chart=gpu-power].wide canvas');
  // a phase is zoomed to, and the same address shows the same
  await page.getByRole('group', { name: 'Phases' }).getByRole('button').nth(1).click();
  await page.locator('.zoomed', { hasText: 'tacho serve shows them all' }).waitFor();
  await page.reload();
  await page.locator('.zoomed', { hasText: 'Show the whole job' }).waitFor();
  await page.waitForSelector('[data-chart=gpu-power].wide canvas');
  // what needs a server is not there
  assert.equal(await page.getByText(/Copy link|Share this job|Neighbours|All jobs|Draw another column/).count(), 0);
  assert.deepEqual([...new Set(requests.map((url) => url.split('#')[0]))], [pathToFileURL(file).href]);
  assert.deepEqual(complaints, []);
});

test('standard output gets the same file', { skip }, () => {
  assert.equal(ran(['report', demo, '--format', 'html']), fs.readFileSync(file, 'utf8'));
});

test('the threads of a process are in the file', { skip }, async (t) => {
  const { page, complaints } = await openFile(t, file);
  const processes = page.locator('.processes');
  await processes.locator('[role=img]').focus();
  for (const key of ['ArrowDown', 'ArrowDown', 't']) await page.keyboard.press(key);
  await processes.locator('.threads h3', { hasText: '61 threads' }).waitFor();
  assert.equal(await processes.locator('.threads tbody tr').count(), 61);
  assert.deepEqual(complaints, []);
});

test('where scripts do not run the file is the report', { skip }, async (t) => {
  const { page } = await openFile(t, file, { javaScriptEnabled: false });
  assert.match((await page.locator('h1').textContent())!, /train-mixture-70b/);
  assert.equal(await page.locator('article section h2', { hasText: 'Findings' }).isVisible(), true);
});

test('a marker and a name with HTML stay text', { skip }, async (t) => {
  const recording = path.join(folder, 'odd');
  const mark = (action: string): string => `printf '%s000000,${action},${MARKER},,\n' $(date +%s) >> "$TACHO_MARKS"`;
  const script = `${mark('begin')}; sleep 2.1; ${mark('end')}`;
  ran(['run', '-o', recording, '--name', MARKER, '--', 'sh', '-c', script]);
  const odd = path.join(folder, 'odd.html');
  ran(['report', recording, '--format', 'html', '-o', odd]);
  const { page, complaints } = await openFile(t, odd);
  await page.locator('header.head h1', { hasText: MARKER }).waitFor();
  assert.match((await page.getByRole('group', { name: 'Phases' }).textContent())!, /<\/script><b>x/);
  assert.equal(await page.locator('b', { hasText: 'x' }).count(), 0);
  assert.deepEqual(complaints, []);
});

test('a part of a job shows that part', { skip }, async (t) => {
  const partFile = path.join(folder, 'part.html');
  const { job } = JSON.parse(ran(['report', demo, '--format', 'json'])) as Report;
  const [from, to] = [job.start / 1e6 + 60, job.start / 1e6 + 180];
  ran(['report', demo, '--from', `@${from}`, '--to', `@${to}`, '--format', 'html', '-o', partFile]);
  const { page, complaints } = await openFile(t, partFile);
  await page.locator('.zoomed', { hasText: '(2 min 00 s)' }).waitFor();
  await page.waitForSelector('.panel canvas');
  assert.deepEqual(complaints, []);
});
