import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { splitLine } from '../../src/base/csv.ts';
import type { Report } from '../../src/judge/report-schema.ts';
import { gpuTable, processEndTable } from '../../src/sources/tables.ts';
import { agentOf, appendRows, jobOf, makeRecording, START, temporary } from '../make-recording.ts';
import { tacho } from '../tacho.ts';
import { faults, lookAt, whyNoBrowser } from './browser.ts';

const skip = whyNoBrowser;
const folder = temporary();
/** Months ago: 2026-03-02. */
const OLD = Date.UTC(2026, 2, 2, 8) * 1000;

before(() => {
  if (skip) return;
  const demo = tacho(['demo', '-o', path.join(folder, 'demo'), '--nodes', '2', '--hours', '0.2']);
  assert.equal(demo.code, 0, demo.err);
  const run = tacho(['run', '-o', path.join(folder, 'short'), '--', 'sh', '-c', 'sleep 0.2; false; exit 3']);
  assert.equal(run.code, 3, run.err);
});

/** What somebody gets who saves a chart. */
async function saved(page: Page, chart: Locator, name: string): Promise<{ name: string; text: string }> {
  if ((await chart.locator('.menu').first().getAttribute('open')) === null)
    await chart.getByText('Save', { exact: true }).first().click();
  const [file] = await Promise.all([page.waitForEvent('download'), chart.getByText(name).first().click()]);
  return { name: file.suggestedFilename(), text: fs.readFileSync((await file.path())!, 'utf8') };
}

test('the table of jobs finds, filters and sorts, and its address shows the same again', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [folder]);
  const names = () => page.locator('[role=rowgroup] [role=row] a').allTextContents();
  await page.waitForSelector('[role=rowgroup] [role=row]');
  assert.equal((await names()).length, 2);
  await page.getByLabel('Filter by Name').fill('mixture');
  assert.deepEqual(await names(), ['train-mixture-70b']);
  await page.reload();
  await page.waitForSelector('[role=rowgroup] [role=row]');
  assert.deepEqual(await names(), ['train-mixture-70b']);
  await page.getByLabel('Filter by Name').fill('');
  await page.getByLabel('Filter by CPU').fill('> 101');
  assert.deepEqual(await names(), []);
  await page.getByLabel('Filter by CPU').fill('50 %..101 %');
  assert.deepEqual(await names(), ['train-mixture-70b']);
  // of what was asked for, or with a unit
  for (const bound of ['> 10', '> 10 GiB', '10G..100 TiB']) {
    await page.getByLabel('Filter by Memory').fill(bound);
    assert.deepEqual(await names(), ['train-mixture-70b'], bound);
  }
  await page.getByLabel('Filter by Memory').fill('> 100 TiB');
  assert.deepEqual(await names(), []);
  await page.getByLabel('Filter by CPU').fill('> much');
  await page.getByText('No job matches. CPU: “> much” cannot be read; write it as > 50 %.').waitFor();
  await page.getByRole('button', { name: 'Remove the filters' }).click();
  await page.getByText('No job matches.').waitFor({ state: 'detached' });
  assert.ok((await names()).includes('train-mixture-70b'));
  assert.doesNotMatch(page.url(), /cpu|memory/);
  assert.deepEqual(complaints, []);
});

test('a selected row has small charts below, and what is shown can be exported', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [folder]);
  const row = page.locator('[role=rowgroup] [role=row]', { hasText: 'train-mixture-70b' });
  await row.locator('.state').click();
  // all four: a request that a reload cuts off is an error to the browser
  await page.locator('.strip .panel canvas').nth(3).waitFor();
  assert.equal(await row.getAttribute('aria-selected'), 'true');
  await page.reload();
  await page.locator('.strip h2', { hasText: 'train-mixture-70b' }).waitFor();
  await page.locator('.strip .panel').nth(3).waitFor();
  assert.deepEqual(
    await page.locator('.strip .panel').evaluateAll((all) => all.map((one) => one.getAttribute('data-chart'))),
    ['cpu', 'memory', 'gpu', 'read'],
  );
  // what stands below the titles is not cut
  const figures = page.locator('.strip [data-chart=gpu] h3 small', { hasText: 'peak' });
  const [wide, room] = (await figures.evaluate((one) => [one.scrollWidth, one.parentElement!.clientWidth])) as number[];
  assert.ok(wide! <= room!, `${wide} of ${room} pixels`);
  await page.getByLabel('Filter by Name').fill('mixture');
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByText('Export 1 job (CSV)').click()]);
  const [titles, values, end] = fs
    .readFileSync((await file.path())!, 'utf8')
    .split('\n')
    .map(splitLine);
  const exported = (name: string): string => values![titles!.indexOf(name)]!;
  assert.deepEqual(
    [exported('name'), exported('user'), exported('account')],
    ['train-mixture-70b', 'ada', 'language-models'],
  );
  assert.ok(Number(exported('gpu')) > 0.5 && Number(exported('gpu')) < 1);
  assert.deepEqual(end, ['']);
  await page.getByText('Close', { exact: true }).click();
  await page.locator('.strip').waitFor({ state: 'detached' });
  // without a mouse
  await row.getByRole('link').focus();
  await page.keyboard.press('Space');
  await page.locator('.strip h2', { hasText: 'train-mixture-70b' }).waitFor();
  await page.keyboard.press('Space');
  await page.locator('.strip').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Copy link' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('chosen jobs are compared over time, aligned by start or by progress', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [folder]);
  await page.getByLabel(/^Compare train-mixture-70b/).check();
  assert.equal(await page.getByRole('button', { name: 'Compare 1 job' }).isDisabled(), true);
  await page.getByLabel(/^Compare sh/).check();
  await page.getByRole('button', { name: 'Compare 2 jobs' }).click();
  await page.locator('.compare [data-chart=cpu] canvas').waitFor();
  const report = (name: string) =>
    JSON.parse(tacho(['report', path.join(folder, name), '--format', 'json']).out) as Report;
  const [demo, short] = [report('demo'), report('short')];
  const rows = page.locator('.compare section[aria-label=Jobs] tbody tr');
  assert.deepEqual(await rows.locator('td:nth-child(2)').allTextContents(), [demo.job.id, short.job.id]);
  assert.match((await rows.nth(1).textContent())!, /12 min 0\d s shorter|11 min 5\d s shorter/);
  await page.getByLabel('Aligned by').selectOption('progress');
  assert.match(page.url(), /align=progress/);
  await page.getByRole('button', { name: 'Copy link' }).waitFor();
  await page.reload();
  await page.locator('.compare [data-chart=cpu] canvas').waitFor();
  assert.equal(await page.getByLabel('Aligned by').inputValue(), 'progress');
  const { name, text } = await saved(page, page.locator('.compare [data-chart=cpu]'), 'Values (CSV)');
  assert.match(name, /-cpu\.csv$/);
  assert.match(text, /^percent_of_time,[^,\n]+,[^,\n]+\n0,/);
  assert.match((await saved(page, page.locator('.compare [data-chart=cpu]'), 'Chart (SVG)')).text, /^<svg .*CPU/s);
  assert.deepEqual(await faults(page), []);
  // of a job of 0.2 s some charts have no values: the other job is drawn alone
  assert.deepEqual(complaints, []);
});

test('jobs that lack charts are compared by those that two of them have', { skip }, async (t) => {
  const folder = temporary();
  const times = { start: START, end: START + 60e6 };
  for (const [id, name] of [
    ['1', 'rain'],
    ['2', 'snow'],
  ] as const)
    await makeRecording({ folder: path.join(folder, id), job: { id, name, ...times } });
  fs.mkdirSync(path.join(folder, '3'));
  fs.writeFileSync(path.join(folder, '3', 'job.json'), JSON.stringify(jobOf({ id: '3', name: 'bare', ...times })));
  const { page, complaints } = await lookAt(t, [folder]);
  for (const name of [/^Compare rain/, /^Compare snow/, /^Compare bare/]) await page.getByLabel(name).check();
  await page.getByRole('button', { name: 'Compare 3 jobs' }).click();
  const first = page.locator('.compare [data-chart]').first();
  await first.locator('h3', { hasText: '; not recorded of 3' }).waitFor();
  await first.locator('canvas').waitFor();
  const jobs = new URL(page.url()).searchParams.get('jobs')!.split(',');
  await page.goto(new URL(`/compare?jobs=${jobs[0]},${jobs[2]}`, page.url()).href);
  await page.getByText('There are no charts: no two of these jobs have samples of the same.').waitFor();
  assert.equal(await page.getByLabel('Aligned by').count(), 0);
  assert.deepEqual(complaints, []);
});

test('every metric is explained', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [folder]);
  await page.getByRole('link', { name: 'Metrics' }).click();
  await page.getByLabel('Search metrics').fill('power_watts gpu.');
  await page.locator('h1', { hasText: /Metrics 1 column$/ }).waitFor();
  // what it means comes first: on a phone the rest is out of sight
  assert.match(
    (await page.locator('.metrics tbody tr').textContent())!,
    /^power_watts[A-Z][^`]+\.wattsgaugetacho_gpu_power_watts$/,
  );
  await page.getByLabel('Search metrics').fill('cpu.forks');
  await page.locator('.metrics td code', { hasText: /^all$/ }).waitFor();
  assert.deepEqual(await faults(page), []);
  assert.deepEqual(complaints, []);
});

test('a job shows the figures of its report, and zooms', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [folder]);
  const report = JSON.parse(tacho(['report', path.join(folder, 'demo'), '--format', 'json']).out) as Report;
  await page.click('text=train-mixture-70b');
  await page.waitForSelector('.panel canvas');
  assert.equal(await page.locator('.verdict').textContent(), report.findings[0]!.text);
  assert.equal(await page.locator('.findings details').count(), Math.min(4, report.findings.length));
  assert.equal(
    await page.getByLabel('GPU', { exact: true }).and(page.locator('[role=meter]')).getAttribute('aria-valuenow'),
    String(Math.round(report.summary.gpu_utilization! * 100)),
  );
  const gpu = page.locator('.panel', { has: page.locator('h3', { hasText: 'GPU use' }) });
  await gpu.locator('canvas').first().waitFor();
  assert.match((await gpu.locator('h3 small').textContent())!, /^16 GPUs, mean [\d.]+ %, peak 100 % of one GPU/);
  // cells that are painted over several frames have layers of their own
  assert.equal(await gpu.locator('canvas').count(), 1);
  await gpu.scrollIntoViewIfNeeded();
  const box = (await gpu.locator('.chart').boundingBox())!;
  await page.mouse.move(box.x + 150, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 250, box.y + 60);
  await page.mouse.up();
  await page.waitForSelector('.zoomed');
  assert.match(page.url(), /from=\d+&to=\d+/);
  await page.click('text=Show the whole job');
  await page.waitForSelector('.zoomed', { state: 'detached' });
  await page.goBack();
  await page.waitForSelector('.zoomed');
  // in a field Escape has another meaning
  await page.getByLabel('Filter processes').press('Escape');
  assert.match(page.url(), /from=\d+&to=\d+/);
  await page.locator('.zoomed').click();
  await page.keyboard.press('Escape');
  await page.waitForSelector('.zoomed', { state: 'detached' });
  assert.doesNotMatch(page.url(), /from=/);
  await gpu.getByText('heat map').click();
  await page.waitForSelector('.panel.wide canvas');
  // the same with keys
  const shown = (): number => {
    const { searchParams: query } = new URL(page.url());
    return Number(query.get('to')) - Number(query.get('from'));
  };
  const all = report.job.end! - report.job.start;
  await gpu.locator('.chart').focus();
  await page.keyboard.press('+');
  await page.waitForSelector('.zoomed');
  assert.ok(Math.abs(shown() - all / 2) < 2e6, `${shown()} of ${all}`);
  await gpu.locator('.chart').focus();
  await page.keyboard.press('Home');
  await page.waitForFunction(
    `new URL(location).searchParams.get('to') - new URL(location).searchParams.get('from') > ${all * 0.9}`,
  );
  assert.deepEqual(complaints, []);
});

test('evidence of a finding is shown on its chart, and what is behind the chart can be saved', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [path.join(folder, 'demo')]);
  const report = JSON.parse(tacho(['report', path.join(folder, 'demo'), '--format', 'json']).out) as Report;
  await page.click('text=train-mixture-70b');
  const unused = report.findings.find(({ id }) => id === 'gpu-unused')!;
  await page.locator('.findings summary', { hasText: unused.text }).click();
  const { node, gpu, text } = unused.evidence[0]!;
  // the chart at the upper edge of the window grows when the one below it is in sight
  let grow = (): void => {};
  const late = new Promise<void>((resolve) => (grow = resolve));
  await page.route('**/charts/ranks?*', (route) => late.then(() => route.continue()));
  await page.reload();
  await page.locator('.findings summary', { hasText: unused.text }).click();
  const middle = async (chart: string): Promise<number> => {
    const box = (await page.locator(`[data-chart=${chart}]`).boundingBox())!;
    return box.y + box.height / 2;
  };
  await page.locator('[data-chart=gpu] canvas').first().waitFor();
  const window = Math.round(2 * ((await middle('gpu')) - (await middle('ranks'))));
  await page.setViewportSize({ width: 1280, height: window });
  await page.getByRole('button', { name: `Show ${text} on the chart` }).click();
  const panel = page.locator('[data-chart=gpu].shown');
  await panel.locator('.legend', { hasText: `${node} ${gpu}` }).waitFor();
  assert.match(page.url(), new RegExp(`show=gpu%7E${node}%7E${gpu}`));
  grow();
  await page.locator('[data-chart=ranks] canvas').first().waitFor();
  await page.waitForLoadState('networkidle');
  const { y, height } = (await panel.boundingBox())!;
  const off = Math.abs(y + height / 2 - window / 2);
  assert.ok(off < 50, `the middle of the chart is ${off} pixels from that of the window`);
  await page.setViewportSize({ width: 1280, height: 900 });
  // the same link shows the same
  await page.reload();
  await panel.locator('.legend', { hasText: `${node} ${gpu}` }).waitFor();
  const download = async (name: string) => {
    if (
      !(await panel
        .locator('.menu')
        .getAttribute('open')
        .then((open) => open !== null))
    )
      await panel.getByText('Save', { exact: true }).click();
    const [file] = await Promise.all([page.waitForEvent('download'), panel.getByText(name).click()]);
    assert.equal(file.suggestedFilename(), `${report.job.id}-gpu.${/\((\w+)\)/.exec(name)![1]!.toLowerCase()}`);
    return fs.readFileSync((await file.path())!);
  };
  const csv = (await download('Values (CSV)')).toString();
  const rows = csv.split('\n').filter((line) => line.includes(`,${node},${gpu},`));
  assert.ok(rows.length > 100);
  assert.ok(
    rows.every((row) => row.endsWith(',0,0,0')),
    rows[0],
  );
  assert.match((await download('Chart (SVG)')).toString(), /^<svg .*GPU use/s);
  const png = await download('Chart (PNG)');
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  // two pixels for one: the title is above what is on the page
  const canvas = (await panel.locator('canvas').first().boundingBox())!;
  assert.equal(png.readUInt32BE(16), 2 * canvas.width);
  assert.ok(png.readUInt32BE(20) >= 2 * (canvas.height + 26), `${png.readUInt32BE(20)} of ${canvas.height}`);
  // the keyboard is back where it came from
  await panel.getByText('Values (CSV)').focus();
  await page.keyboard.press('Escape');
  assert.equal(await panel.locator('.menu').getAttribute('open'), null);
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Save');
  assert.deepEqual(complaints, []);
});

test('a click on a phase shows its time; a note stays; branches of the process tree close', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [path.join(folder, 'demo')]);
  await page.click('text=train-mixture-70b');
  await page.getByRole('group', { name: 'Phases' }).getByRole('button').nth(1).click();
  await page.waitForSelector('.zoomed');
  await page.getByText('Show the whole job').click();
  const processes = page.locator('.processes');
  const all = await processes.locator('h2 small').textContent();
  await processes.getByText('Close all branches').click();
  assert.match((await processes.locator('h2 small').textContent())!, /^2 processes of/);
  await processes.getByText('Open all branches').click();
  assert.equal(await processes.locator('h2 small').textContent(), all);
  await processes.locator('[role=img]').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  assert.match((await processes.locator('.under').textContent())!, /^node01 pid \d+ · .*python3/);
  await page.getByLabel('Text', { exact: true }).fill('<img src=x onerror=alert(1)>');
  await page.getByText('Save', { exact: true }).last().click();
  await page.locator('.note dd', { hasText: '<img src=x onerror=alert(1)>' }).waitFor();
  await page.getByLabel('Remove the note note').click();
  await page.locator('.note').waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('pages are usable without sight, in the dark and on a phone', { skip }, async (t) => {
  for (const [width, dark] of [
    [1280, undefined],
    [400, true],
  ] as const) {
    const { page } = await lookAt(t, [folder], { width, ...(dark ? { dark } : {}) });
    await page.waitForSelector('[role=rowgroup] [role=row]');
    assert.deepEqual(await faults(page), [], `jobs ${width}`);
    await page.getByText('train-mixture-70b').first().focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('.panel canvas');
    assert.deepEqual(await faults(page), [], `job ${width}`);
    const title = (await page.locator('.head h1').boundingBox())!;
    assert.ok(title.width > 300, `the title has ${title.width} of ${width} pixels`);
    const memory = page.locator('.memory td.faint', { hasText: 'The kernel cannot drop it' });
    await memory.scrollIntoViewIfNeeded();
    const { x, width: wide } = (await memory.boundingBox())!;
    assert.ok(x + wide <= width, `what a figure of memory means ends at ${x + wide} of ${width}`);
    await page.goBack();
    // what a look at many jobs begins with is seen without scrolling
    const cpu = (await page.getByLabel('Filter by CPU').boundingBox())!;
    assert.ok(cpu.x + cpu.width <= width, `the column CPU ends at ${cpu.x + cpu.width} of ${width}`);
    const sides = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [number, number];
    assert.ok(sides[0] <= sides[1], `${sides}`);
  }
});

test('what is not there is said in words', { skip }, async (t) => {
  const { page, url } = await lookAt(t, [folder]);
  await page.goto(new URL('/job/unknown', url).href);
  await page.waitForSelector('text=there is no such job here');
  const response = await page.goto(new URL('/nopage', url).href);
  assert.equal(response!.status(), 404);
  await page.getByRole('heading', { name: 'There is no page /nopage' }).waitFor();
  await page.getByRole('navigation', { name: 'Tacho' }).getByRole('link', { name: 'Nodes' }).waitFor();
  const empty = await lookAt(t, [temporary()]);
  await empty.page.goto(new URL('/compare', empty.url).href);
  await empty.page.getByRole('heading', { name: 'No jobs to compare' }).waitFor();
  assert.deepEqual(empty.complaints, []);
  await empty.page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await empty.page.waitForSelector('text=No jobs here yet');
});

test('a time that cannot be shown, very long names, and a job without samples are said in words', {
  skip,
}, async (t) => {
  const workFolder = temporary();
  await makeRecording({
    folder: path.join(workFolder, 'long'),
    job: { id: '1', name: 'n'.repeat(10_000), account: 'a'.repeat(300), start: START, end: START + 60e6 },
  });
  const nothing = path.join(workFolder, 'nothing');
  fs.mkdirSync(nothing);
  fs.writeFileSync(path.join(nothing, 'job.json'), JSON.stringify(jobOf({ id: '2', name: 'bare', end: START + 60e6 })));
  const { page, url } = await lookAt(t, [workFolder]);
  await page.getByText('bare').first().click();
  await page.getByText('There are no charts: no samples of this job are kept here.').waitFor();
  await page.goto(url);
  await page.locator('a', { hasText: 'nnnnnn' }).first().click();
  await page.locator('[data-chart] canvas').first().waitFor();
  const { height } = (await page.locator('h1').boundingBox())!;
  const width = await page.evaluate('document.documentElement.scrollWidth');
  assert.ok(height < 200, `the name is ${height} pixels high`);
  assert.equal(width, 1280);
  const { pathname } = new URL(page.url());
  const notice = 'The time in the address is empty or cannot be read. The whole job is shown.';
  for (const [from, to] of [
    [START, START],
    [START + 9, START],
    [Number.NaN, Number.NaN],
    [-5, 5],
    [START, Number.POSITIVE_INFINITY],
    [START, 1e23],
  ]) {
    await page.goto(new URL(`${pathname}?from=${from}&to=${to}`, url).href);
    await page.getByText(notice).waitFor();
    await page.locator('[data-chart] canvas').first().waitFor();
    assert.doesNotMatch((await page.locator('main').textContent())!, /NaN|not valid/, `${from} to ${to}`);
  }
  await page.goto(new URL(`${pathname}?from=${START}&to=${START + 9e6}`, url).href);
  await page.locator('.zoomed').waitFor();
  assert.equal(await page.getByText(notice).count(), 0);
});

test('processes as a tree, threads of one, each rank over time; a link shows the same', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [folder], { width: 1280 });
  await page.click('text=train-mixture-70b');
  const processes = page.locator('.processes');
  await processes.getByRole('button', { name: 'tree with figures' }).click();
  await processes.getByRole('button', { name: 'by operation' }).click();
  await processes.locator('.legend', { hasText: 'op:checkpoint (' }).waitFor();
  // its last line has the times
  const [shown, drawn] = (await processes
    .locator('.gantt .scroll')
    .evaluate((box) => [box.clientHeight, box.querySelector('canvas')!.clientHeight])) as [number, number];
  assert.ok(shown >= drawn, `${shown} of ${drawn} pixels of the processes are seen`);
  // titles stand above the figures
  const figures = processes.locator('[role=img]');
  await figures.hover({ position: { x: 50, y: 30 } });
  await processes.locator('.under', { hasText: / pid \d+ · / }).waitFor();
  await figures.hover({ position: { x: 50, y: 8 } });
  await processes.locator('.under', { hasText: /^Point at a process/ }).waitFor();
  await figures.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('t');
  await processes.locator('.threads h3', { hasText: '61 threads' }).waitFor();
  assert.equal(await processes.locator('.threads tbody tr').count(), 61);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.reload();
  await processes.locator('.threads h3', { hasText: '61 threads' }).waitFor();
  assert.equal(await processes.getByRole('button', { name: 'tree with figures' }).getAttribute('aria-pressed'), 'true');
  assert.match(
    (await page.getByLabel('Neighbours', { exact: true }).textContent())!,
    /No other job that this page shows/,
  );
  const ranks = page.locator('[data-chart=ranks]');
  await ranks.scrollIntoViewIfNeeded();
  await ranks.locator('h3', { hasText: '15 ranks' }).waitFor();
  assert.deepEqual(await faults(page), []);
  assert.deepEqual(complaints, []);
});

test('a job page asks every question once, the first ones before its scripts run', { skip }, async (t) => {
  const { page, url, complaints } = await lookAt(t, [path.join(folder, 'demo')]);
  await page.waitForSelector('[role=rowgroup] [role=row]');
  const link = await page.getByRole('link', { name: 'train-mixture-70b' }).getAttribute('href');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(new URL(link!, url).href);
  await page.locator('[data-chart=cpu] canvas').waitFor();
  const questions = asked.filter((path) => path.startsWith('/api/'));
  assert.deepEqual(questions, [...new Set(questions)]);
  // before the scripts that would ask them
  const first = ['', '/processes', '/charts', '/spans', '/columns', '/charts/runnable', '/charts/cpu'];
  assert.deepEqual(
    asked.slice(1, 1 + first.length),
    first.map((what) => `/api${link!.replace('job', 'jobs')}${what}`),
  );
  assert.deepEqual(complaints, []);
});

test('a print has every chart and finding, also those that were not in sight', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [path.join(folder, 'demo')]);
  await page.route(/\/api\/jobs\/[\w-]{12}$/, async (route) => {
    const response = await route.fetch();
    const report = (await response.json()) as Report;
    const findings = [1, 2, 3, 4, 5, 6].map((i) => ({ ...report.findings[0]!, text: `finding ${i}` }));
    await route.fulfill({ response, json: { ...report, findings } });
  });
  await page.click('text=train-mixture-70b');
  await page.waitForSelector('.panel canvas');
  assert.equal(await page.locator('.findings details').count(), 4);
  await page.evaluate(
    "window.print = () => { dispatchEvent(new Event('beforeprint')); document.documentElement.dataset.printed = ''; }",
  );
  await page.getByRole('button', { name: 'Print' }).click();
  await page.waitForSelector('html[data-printed]');
  const panels = await page.locator('.panel').count();
  assert.ok(panels > 10, `${panels} charts`);
  await page.emulateMedia({ media: 'print' });
  const pictures = (await page
    .locator('.panel .paper')
    .evaluateAll((all) =>
      Promise.all(all.map((one) => one.decode().then(() => one.naturalWidth * one.clientWidth))),
    )) as number[];
  assert.equal(pictures.filter((size) => size > 0).length, panels);
  // on A4 with margins of 1 cm nothing is squeezed, and letters are as large as on the page
  await page.setViewportSize({ width: 718, height: 900 });
  const drawn = (await page
    .locator('.panel .paper, .gantt .paper')
    .evaluateAll((all) =>
      all.map((one) => [
        one.clientWidth / one.clientHeight / (one.naturalWidth / one.naturalHeight),
        (one.clientWidth * 2) / one.naturalWidth,
      ]),
    )) as [number, number][];
  assert.equal(drawn.length, panels + 1);
  for (const [shape, size] of drawn) assert.ok(Math.abs(shape - 1) < 0.02 && Math.abs(size - 1) < 0.05, `${drawn}`);
  // paper is narrow, but has room for what each figure of memory means
  await page.setViewportSize({ width: 720, height: 900 });
  assert.equal(await page.locator('.memory td.faint').first().isVisible(), true);
  // nobody can press a button on paper to see the others
  assert.equal(await page.locator('.findings details').count(), 6);
  assert.deepEqual(complaints, []);
});

test('paper is white also where the page is dark, and tables are not wider', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [folder], { dark: true });
  const corner = () =>
    page.locator('.chart .paper').evaluateAll((all) =>
      Promise.all(
        all.map(async (one) => {
          await one.decode();
          const canvas = Object.assign(one.ownerDocument.createElement('canvas'), { width: 1, height: 1 });
          const pen = canvas.getContext('2d')!;
          pen.drawImage(one, 0, 0);
          return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).join(' ');
        }),
      ),
    );
  await page.getByRole('link', { name: 'Nodes', exact: true }).click();
  await page.getByLabel('Period').selectOption('all');
  await page.locator('.nodes-page canvas').first().waitFor();
  // as Ctrl-P does: the browser prints at once
  await page.evaluate("dispatchEvent(new Event('beforeprint'))");
  assert.deepEqual(await corner(), ['255 255 255']);
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 720, height: 900 });
  const isFitting = () => page.evaluate('document.documentElement.scrollWidth <= innerWidth');
  assert.equal(await isFitting(), true);
  assert.equal(await page.getByText('Save', { exact: true }).first().isVisible(), false);
  await page.emulateMedia({ media: 'screen' });
  await page.getByRole('link', { name: 'train-mixture-70b' }).first().click();
  await page.locator('section[aria-label=Nodes] tbody tr').first().waitFor();
  await page.locator('.gantt canvas').waitFor();
  await page.evaluate("dispatchEvent(new Event('beforeprint'))");
  await page.emulateMedia({ media: 'print' });
  assert.equal(await isFitting(), true);
  // the names of processes can be read on white
  assert.equal(await page.locator('.gantt canvas').isVisible(), false);
  const darkest = await page.locator('.gantt .paper').evaluate(async (one) => {
    await one.decode();
    const [width, height] = [100, one.naturalHeight];
    const canvas = Object.assign(one.ownerDocument.createElement('canvas'), { width, height });
    const pen = canvas.getContext('2d')!;
    pen.fillStyle = 'white';
    pen.fillRect(0, 0, width, height);
    pen.drawImage(one, 0, 0);
    return Math.min(...pen.getImageData(0, 0, width, height).data.filter((_: number, i: number) => i % 4 === 0));
  });
  assert.ok(darkest < 80, `${darkest}`);
  assert.deepEqual(complaints, []);
});

test('the table of jobs is printed with all its rows, also those that were not in sight', { skip }, async (t) => {
  const many = temporary();
  for (let i = 0; i < 80; i++)
    await makeRecording({ folder: path.join(many, `job-${i}`), seconds: 1, job: { id: String(i), name: `run-${i}` } });
  const { page, complaints } = await lookAt(t, [many]);
  const rows = page.locator('[role=rowgroup] [role=row]');
  await page.locator('[role=table][aria-rowcount="80"]').waitFor();
  assert.ok((await rows.count()) < 80);
  await page.evaluate("dispatchEvent(new Event('beforeprint'))");
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 718, height: 900 });
  assert.equal(await rows.count(), 80);
  const [last, edge] = await rows.last().evaluate((row) => {
    const { right, bottom } = row.lastElementChild!.getBoundingClientRect();
    return [Math.round(bottom - row.parentElement!.getBoundingClientRect().bottom), right];
  });
  assert.ok(last! <= 1 && edge! <= 718, `${last} ${edge}`);
  await page.emulateMedia({ media: 'screen' });
  await page.evaluate("dispatchEvent(new Event('afterprint'))");
  await rows.nth(79).waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('of a card whose memory is not known, what was used is shown alone', { skip }, async (t) => {
  const imported = temporary();
  const recording = path.join(imported, 'tacho-17');
  const node = path.join(recording, 'node=c1');
  await appendRows(node, gpuTable, [
    { time: START, gpu: '0', mine: 'yes', utilization_percent: 50, memory_used_bytes: 2 ** 30 },
    { time: START + 30e6, gpu: '0', mine: 'yes', utilization_percent: 50, memory_used_bytes: 2 ** 30 },
  ]);
  fs.writeFileSync(path.join(recording, 'job.json'), JSON.stringify(jobOf({ asked: { gpus: 1 } })));
  const { facts, ...agent } = agentOf('c1', [gpuTable]);
  const gpus = [{ gpu: '0', vendor: 'nvidia', model: 'A100' }];
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify({ ...agent, facts: { ...facts, gpus } }));
  const { page, complaints } = await lookAt(t, [imported]);
  await page.getByRole('link', { name: 'train', exact: true }).click();
  const meters = (await page.getByLabel('Asked for and used').textContent())!;
  assert.match(meters, /GPU memory1 GiB on the fullest card/);
  assert.deepEqual(complaints, []);
});

test('of a job that another program recorded its CPU time is told, and nothing of ticks', { skip }, async (t) => {
  const imported = temporary();
  const node = path.join(imported, 'tacho-17', 'node=c1');
  fs.mkdirSync(node, { recursive: true });
  const [start, end] = [OLD, OLD + 600e6];
  const job = jobOf({
    ...{ start, end, interval_seconds: Number.NaN, imported: { from: 'EPMT, 17.tgz', notes: [] } },
    environment: { SLURM_TASKS_PER_NODE: '1' },
  });
  fs.writeFileSync(path.join(imported, 'tacho-17', 'job.json'), JSON.stringify(job));
  const unknown = { cpus: Number.NaN, memory_bytes: Number.NaN };
  const agent = agentOf('c1', [processEndTable], { start, end, interval_seconds: Number.NaN, ticks: 0 });
  const facts = { ...agent.facts, ...unknown };
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify({ ...agent, facts }));
  await appendRows(node, processEndTable, [
    {
      ...{
        time: end - 1e6,
        pid: '7',
        start: String(start + 1e6),
        ppid: 1,
        exename: 'cc',
        path: '/usr/bin/cc',
        args: '',
      },
      ...{ tags: 'op:build', ended: 'exit', exitcode: 0, numtids: 1, usertime: 100e6, systemtime: 25e6, rssmax: 4000 },
    },
  ]);
  const { page, complaints } = await lookAt(t, [imported]);
  await page.getByRole('link', { name: 'train', exact: true }).click();
  const meters = page.getByLabel('Used', { exact: true });
  assert.match((await meters.textContent())!, /^Used.*CPU2 min 05 s of CPU time/);
  const quality = (await page.getByLabel('How good the recording is').textContent())!;
  assert.match(quality, /Quality A Nothing was sampled: all figures are from records\..*Imported from EPMT, 17\.tgz\./);
  // a long name is broken between its words
  const name = page.locator('.notes dt', { hasText: 'SLURM_TASKS_PER_NODE' });
  assert.deepEqual((await name.innerHTML()).split('<wbr>'), ['SLURM_', 'TASKS_', 'PER_', 'NODE']);
  assert.deepEqual(complaints, []);
});

test('drawn values are those of the recording, and a spike of one sample is drawn', { skip }, async (t) => {
  const { page } = await lookAt(t, [folder]);
  await page.click('text=train-mixture-70b');
  const panel = page.locator('[data-chart=gpu-power]');
  await panel.scrollIntoViewIfNeeded();
  await panel.locator('canvas').waitFor();
  const exported = tacho(['export', path.join(folder, 'demo'), '--table', 'gpu', '--columns', 'power_watts']).out;
  const watts = exported
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => Number(line.split(',').at(-1)));
  const most = watts.reduce((a, b) => Math.max(a, b));
  // one sample of 720 on one of 16 GPUs: 400 columns of pixels hold it all the same
  assert.match((await panel.locator('h3').textContent())!, new RegExp(`peak ${Math.round(most)} W`));
});

test('a job that cannot be read is shown when its folder is back', { skip }, async (t) => {
  const workFolder = temporary();
  const recording = await makeRecording({ folder: path.join(workFolder, 'tacho-17'), seconds: 20 });
  const { page, url } = await lookAt(t, [workFolder]);
  const href = await page.getByRole('link', { name: 'train' }).getAttribute('href');
  fs.renameSync(recording, path.join(workFolder, '.away'));
  await page.goto(new URL(href!, url).href);
  await page.getByRole('heading', { name: 'This job cannot be shown' }).waitFor();
  await page.evaluate('globalThis.isSame = true');
  fs.renameSync(path.join(workFolder, '.away'), recording);
  await page.getByRole('heading', { name: 'train' }).waitFor();
  assert.equal(await page.evaluate('globalThis.isSame'), true);
});

test('a study has the runs of one program under one name, and their sizes in words', { skip }, async (t) => {
  const workFolder = temporary();
  const job = (id: string, name: string, cores: string, seconds: number) =>
    makeRecording({
      folder: path.join(workFolder, id),
      job: { id, name, command: ['./halo'], tags: { cores }, end: START + seconds * 1e6 },
    });
  await job('a1', 'halo-1', '1', 60);
  await job('a2', 'halo-2', '2', 33);
  await job('b1', 'other3', '8', 50);
  await job('b2', 'other3', '8', 50);
  const { page, complaints } = await lookAt(t, [workFolder]);
  await page.getByRole('link', { name: 'Scaling' }).click();
  const study = page.locator('.scaling');
  await study.locator('canvas').waitFor();
  assert.deepEqual(await study.locator('.runs li').allTextContents(), [
    'a1: 1 core, 1 min 00 s',
    'a2: 2 cores, 33.0 s',
  ]);
  assert.deepEqual(await study.getByLabel('Program').locator('option').allTextContents(), [
    'halo, job halo-# (2 runs of 2 sizes)',
    'halo, job other3 (2 runs of 1 size)',
  ]);
  const csv = await saved(page, study, 'Values (CSV)');
  assert.equal(csv.name, 'halo-scaling.csv');
  assert.match(csv.text, /^cores,runs,wall_seconds,speedup,efficiency,predicted_speedup\n1,1,60,1,1,.*\n2,1,33,1\.8/);
  assert.match((await saved(page, study, 'Chart (SVG)')).text, /^<svg /);
  // files say what the page says below the chart
  const signs = await study.locator('.legend span').allTextContents();
  assert.deepEqual([signs[0], signs.at(-1)], ['dots: measured', 'dotted: ideal']);
  assert.ok((await saved(page, study, 'Chart (SVG)')).text.includes(`>${signs.join(' · ')}</text>`));
  const png = await saved(page, study, 'Chart (PNG)');
  assert.equal(png.name, 'halo-scaling.png');
  assert.match(png.text, /^.PNG/);
  assert.deepEqual(complaints, []);
});

test('nodes, history, scaling and experiments', { skip }, async (t) => {
  const { page, complaints } = await lookAt(t, [folder]);
  await page.getByRole('link', { name: 'Nodes', exact: true }).click();
  await page.getByLabel('Period').selectOption('all');
  await page.locator('h1', { hasText: 'with a running job' }).waitFor();
  const row = page.locator('.nodes-page tbody tr', { hasText: 'node02' });
  assert.match((await row.textContent())!, /^node02idle for .*train-mixture-70b \(ada\) ended 2026-03-02/);
  await page.locator('.nodes-page canvas').first().waitFor();
  const overTime = page.locator('section[aria-label="Nodes over time"]');
  assert.match((await saved(page, overTime, 'Values (CSV)')).text, /^time,node01,node02.*\n2026-/);
  assert.match((await saved(page, overTime, 'Chart (SVG)')).text, /^<svg /);
  assert.deepEqual(await faults(page), []);

  await page.getByRole('link', { name: 'History', exact: true }).click();
  // the job that ran last here ran just now
  assert.equal(await page.getByLabel('Period').locator('option:checked').textContent(), 'last 7 days');
  await page.getByLabel('Period').selectOption('all');
  const output = tacho(['history', folder, '--by', 'user', '--from', '2026-01-01', '--format', 'json']).out;
  const ada = page.locator('[aria-label=Ranking] tbody tr', { hasText: 'ada' });
  // 2 nodes of 64 CPUs for 0.2 h
  assert.match((await ada.textContent())!, /^ada125\.6/);
  assert.match(output, /25\.6/);
  await page.getByLabel('Amount').selectOption('jobs');
  // the number of jobs stands there once
  await page.locator('[aria-label=Ranking] tbody tr', { hasText: /^ada1\d+/ }).waitFor();
  const heads = await page.locator('[aria-label=Ranking] thead th').allTextContents();
  assert.equal(heads.filter((head) => /^jobs$/i.test(head)).length, 1);
  await page.getByLabel('Amount').selectOption('core_hours');
  const history = page.locator('section[aria-label="Over time"]');
  assert.match((await saved(page, history, 'Values (CSV)')).text, /^time,.*ada/);
  assert.deepEqual(await faults(page), []);

  await page.getByRole('link', { name: 'Scaling' }).click();
  await page.getByText('No program was run at two sizes').waitFor();
  await page.getByRole('link', { name: 'Experiments' }).click();
  await page.getByText('No experiments here yet').waitFor();
  assert.deepEqual(await faults(page), []);
  assert.deepEqual(complaints, []);
});

test('an experiment without time segments shows which of its jobs is out of line', { skip }, async (t) => {
  const jobs = temporary();
  for (const [i, minutes] of [9, 9.2, 8.9, 9.1, 20].entries())
    await makeRecording({
      folder: path.join(jobs, `tacho-${i}`),
      seconds: 5,
      job: {
        ...{ id: `${i}`, name: `build-${i}`, start: OLD + i * 86_400e6, end: OLD + i * 86_400e6 + minutes * 60e6 },
        tags: { exp_name: 'kernel', exp_component: 'tiny' },
      },
    });
  const { page, complaints } = await lookAt(t, [jobs]);
  await page.getByRole('link', { name: 'Experiments' }).click();
  const cells = page.locator('.matrix .cells li');
  await cells.nth(4).waitFor();
  const outlier = cells.filter({ hasText: '20 min' });
  assert.match((await outlier.textContent())!, /★/);
  assert.equal(await cells.filter({ hasText: '★' }).count(), 1);
  const heats = await cells.evaluateAll((all) => all.map((one) => Number(one.style.getPropertyValue('--heat'))));
  assert.equal(heats.filter((heat) => heat === 1).length, 1);
  assert.ok(heats.filter((heat) => heat < 0.1).length === 4, `${heats}`);
  assert.deepEqual(await faults(page), []);
  await outlier.getByRole('link').click();
  await page.getByRole('heading', { name: 'build-4' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('the history of old jobs says until when; ids that begin alike, durations, and a link to a recording', {
  skip,
}, async (t) => {
  const old = temporary();
  const ids = ['local-20260302T080000-1111', 'local-20260302T080000-2222'];
  for (const [i, id] of ids.entries())
    await makeRecording({
      folder: path.join(old, id),
      job: { id, name: `job-${i}`, nodes: ['c1'], start: OLD + i * 86_400e6, end: OLD + i * 86_400e6 + (i + 1) * 60e6 },
    });
  fs.symlinkSync(path.join(old, ids[0]!), path.join(old, 'again'));
  const { page, complaints } = await lookAt(t, [old]);
  const rows = page.locator('[role=rowgroup] [role=row]');
  await rows.nth(1).waitFor();
  const shown = await rows.locator('[role=cell]:first-child').allTextContents();
  assert.ok(new Set(shown.map((text) => text.trim().slice(-4))).size > 1, shown.join());
  const cuts = await rows
    .locator('[role=cell]:first-child')
    .evaluateAll((all) =>
      all.map((cell) => (cell as { scrollWidth: number }).scrollWidth - (cell as { clientWidth: number }).clientWidth),
    );
  assert.ok(
    cuts.every((cut) => cut <= 0),
    `${cuts} pixels are cut off`,
  );
  // seconds, not hundredths
  await page.getByLabel('Filter by Duration').fill('> 100');
  await page.waitForFunction("document.querySelectorAll('[role=rowgroup] [role=row]').length === 1");
  assert.deepEqual(await rows.locator('a').allTextContents(), ['job-1']);
  // bounds are written as the cells are; every day begins in local time
  const second = new Date((OLD + 86_400e6) / 1000);
  const day = [second.getFullYear(), second.getMonth() + 1, second.getDate()];
  const date = day.map((number) => String(number).padStart(2, '0')).join('-');
  for (const [title, bound, left] of [
    ['Duration', '> 1min 30s', ['job-1']],
    ['Duration', '1 min..90s', ['job-0']],
    ['Duration', '< soon', []],
    ['Start', `> ${date}`, ['job-1']],
    ['Start', `< ${date}`, ['job-0']],
  ] as const) {
    await page.getByLabel('Filter by Duration').fill('');
    await page.getByLabel(`Filter by ${title}`).fill(bound);
    // the link shows job-0 once more
    assert.deepEqual([...new Set(await rows.locator('a').allTextContents())], left, `${title} ${bound}`);
  }
  await page.getByLabel('Filter by Start').fill('');
  await page.getByRole('link', { name: 'job-0' }).first().click();
  await page.getByLabel('Neighbours', { exact: true }).getByText('No other job that this page shows ran on').waitFor();
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await page.locator('canvas').first().waitFor();
  assert.match(
    (await page.getByLabel('Period').locator('option:checked').textContent())!,
    /^7 days until 2026-03-0[34]$/,
  );
  assert.deepEqual(complaints, []);
});

test('what processes used can be seen on a dark page', { skip }, async (t) => {
  const { page } = await lookAt(t, [folder], { dark: true });
  await page.click('text=train-mixture-70b');
  await page.locator('.processes canvas').waitFor();
  // the darkest bar against the page: their difference in lightness is what the eye has
  const scale = (await page.locator('.processes .legend .scale').getAttribute('style'))!;
  const [first] = /rgb\([^)]*\)|#[\da-f]{6}/.exec(scale)!;
  const lightness = (text: string): number => {
    const channels = text.startsWith('#')
      ? [1, 3, 5].map((i) => Number.parseInt(text.slice(i, i + 2), 16))
      : text.match(/\d+/g)!.map(Number);
    const [r, g, b] = channels.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  assert.ok((lightness(first) + 0.05) / (lightness('#171c23') + 0.05) > 2, `${first} on #171c23`);
});
