import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { loadavgTable } from '../../src/sources/tables.ts';
import { eventually } from '../made/eventually.ts';
import { agentOf, appendRows, jobOf, temporary } from '../make-recording.ts';
import { faults, lookAt, serve, whyNoBrowser } from './browser.ts';

/** A job on two nodes; c1 was recorded for two minutes, until now unless it started earlier, c2 for one. */
async function runningJob(secondsAgo = 120) {
  const folder = temporary();
  const recording = path.join(folder, 'tacho-17');
  const now = Date.now() * 1000;
  const start = now - secondsAgo * 1e6;
  const { end: _, ...job } = jobOf({ nodes: ['c1', 'c2'], start, state: 'running', scheduler: 'none' });
  const add = async (node: string, times: readonly number[], runnable: number): Promise<void> => {
    const nodePath = path.join(recording, `node=${node}`);
    await appendRows(
      nodePath,
      loadavgTable,
      times.map((time) => ({ time, load1: 1, runnable })),
    );
    const { end: _end, end_reason: _reason, ...agent } = agentOf(node, [loadavgTable], { start });
    fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agent));
  };
  fs.mkdirSync(recording);
  fs.writeFileSync(path.join(recording, 'job.json'), JSON.stringify(job));
  const seconds = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => start + (from + i) * 1e6);
  await add('c1', seconds(0, 119), 3);
  await add('c2', seconds(0, 60), 3);
  return { folder, recording, job, start, add };
}

test('a running job: samples are pushed, a silent node says since when, a server that comes back is found', {
  skip: whyNoBrowser,
}, async (t) => {
  const { folder, recording, job, add } = await runningJob();
  const env = { XDG_STATE_HOME: temporary() };
  const { page, url, server } = await lookAt(t, [folder], { env });
  await page.getByText('train').first().click();
  const panel = page.locator('[data-chart=runnable]');
  // c2 was silent for half of the time: it is not counted as idle then
  await panel.locator('h3', { hasText: 'mean 3 threads, peak 3 threads' }).waitFor();
  // five seconds after a sample a node is silent, and a busy machine may draw it later than that
  const recorded = page.locator('tr', { hasText: /^c1recording/ });
  const silent = page.locator('p.silent', { hasText: /^c2: no samples since \d{4}-/ });
  await eventually('c1 is recorded, c2 is silent', async () => {
    await add('c1', [Date.now() * 1000], 3);
    return (await recorded.isVisible()) && (await silent.isVisible());
  });
  assert.match(
    (await page.locator('tr.silent', { hasText: /^c2/ }).textContent())!,
    /^c2stopped early, no samples since \d{4}-/,
  );
  // grey, and still to be read
  assert.deepEqual(await faults(page), []);
  // the browser keeps what it has: a page that was loaded again would not
  await page.evaluate('globalThis.isSame = true');
  await add('c1', [Date.now() * 1000], 7);
  await panel.locator('h3', { hasText: 'peak 7 threads' }).waitFor();

  // what was drawn stays while there are no answers
  await page.route('**/charts/runnable?*', (route) => route.abort());
  const refused = page.waitForEvent('requestfailed', (request) => request.url().includes('/charts/runnable?'));
  await add('c1', [Date.now() * 1000], 7);
  await refused;
  await page.unroute('**/charts/runnable?*');
  await page.evaluate('new Promise(requestAnimationFrame)');
  assert.equal(await panel.locator('canvas').count(), 1);
  assert.equal(await panel.locator('.missing').count(), 0);

  server.kill();
  await once(server, 'exit');
  await page.getByText('The server does not answer').waitFor();
  await add('c1', [Date.now() * 1000], 9);
  const again = await serve(t, [folder], { env, port: Number(new URL(url).port) });
  assert.equal(again.url, url);
  await panel.locator('h3', { hasText: 'peak 9 threads' }).waitFor();
  await page.getByText('The server does not answer').waitFor({ state: 'detached' });

  const ended = { ...job, end: Date.now() * 1000, state: 'completed', exit_code: 0 };
  fs.writeFileSync(path.join(recording, 'job.json'), JSON.stringify(ended));
  await page.locator('.state.completed').waitFor();
  assert.equal(await page.evaluate('globalThis.isSame'), true);
});

test('samples that come faster than answers do not keep charts from being drawn', { skip: whyNoBrowser }, async (t) => {
  const { folder, add } = await runningJob();
  const { page } = await lookAt(t, [folder], { env: { XDG_STATE_HOME: temporary() } });
  await page.route(/charts\/runnable/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 2500));
    await route.continue().catch(() => undefined);
  });
  await page.getByText('train').first().click();
  let added = Promise.resolve();
  const timer = setInterval(() => {
    added = added.then(() => add('c1', [Date.now() * 1000], 5));
  }, 400);
  // the last of them needs its folder
  t.after(() => {
    clearInterval(timer);
    return added;
  });
  await page.locator('[data-chart=runnable] h3', { hasText: 'peak 5 threads' }).waitFor({ timeout: 40_000 });
});

test('a job of which nothing was heard for long has ended at its last sample, and runs again when one comes', {
  skip: whyNoBrowser,
}, async (t) => {
  const { folder, start, add } = await runningJob(3600);
  const { page, complaints } = await lookAt(t, [folder], { env: { XDG_STATE_HOME: temporary() } });
  await page.getByText('train').first().click();
  await page.locator('.head .state.unknown').waitFor();
  assert.match((await page.locator('.head').textContent())!, / to \d{4}-.* · 1 min 58 s · /);
  await page.locator('dd', { hasText: 'recording ended without `tacho stop`' }).waitFor();
  // an hour in which nothing was recorded is not drawn
  const { step, band } = (await page.evaluate(
    "fetch(location.href.replace('/job/', '/api/jobs/') + '/charts/runnable').then((answer) => answer.json())",
  )) as { step: number; band: { mean: unknown[] } };
  assert.ok(step * band.mean.length <= 120e6, `${(step * band.mean.length) / 1e6} s`);
  await add('c1', [start + 3600e6], 9);
  await page.locator('.head .state.running').waitFor();
  await page.locator('[data-chart=runnable] h3', { hasText: 'peak 9 threads' }).waitFor();
  assert.deepEqual(complaints, []);
});
