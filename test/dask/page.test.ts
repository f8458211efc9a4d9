import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daskRecording } from '../made/dask-recording.ts';
import { eventually } from '../made/eventually.ts';
import { faults, lookAt, whyNoBrowser } from '../serve/browser.ts';

test('the page has the task stream above the charts, one cursor, graphs, and memory of workers', {
  skip: whyNoBrowser,
}, async (t) => {
  const { page, complaints } = await lookAt(t, [await daskRecording()]);
  await page.locator('[role=rowgroup] [role=row] a').first().click();
  const stream = page.getByLabel('Tasks of the Dask cluster');
  assert.match((await stream.locator('h2').textContent())!, /24 tasks in 1 graph, 1 failed or lost/);
  // sum-1 runs from 5.5 to 6.5 s, the end of the job, in the first lane
  const box = (await stream.locator('canvas').boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.95, box.y + 5);
  await stream.getByText('sum-1: 1.0 s on worker 0').waitFor();
  const line = (await stream.locator('.cursor').boundingBox())!;
  assert.equal(line.width, 1);
  assert.ok(Math.abs(line.x - (box.x + box.width * 0.95)) < 2, `${line.x}`);
  assert.deepEqual(await stream.locator('tbody tr td').allTextContents(), [
    ...['1', '0', 'sum', '22', '100 %, 1 failed', '6.5 s'],
  ]);
  const memory = page.locator('[data-chart=dask-memory]');
  await memory.scrollIntoViewIfNeeded();
  await memory.locator('canvas').waitFor();
  assert.match((await memory.textContent())!, /limit 1 GiB each/);
  assert.deepEqual(
    await page.locator('[data-chart^=dask-]').evaluateAll((all) => all.map((one) => one.getAttribute('data-chart'))),
    ['dask-executing', 'dask-memory', 'dask-spilled'],
  );
  // the moment under the cursor of a chart is the stream's, too
  const chart = (await memory.locator('canvas').first().boundingBox())!;
  await page.mouse.move(chart.x + chart.width / 2, chart.y + 40);
  await eventually('the cursor in the middle of the stream', async () => {
    const { x } = (await stream.locator('.cursor').boundingBox()) ?? { x: 0 };
    return Math.abs((x - box.x) / box.width - 0.5) < 0.2;
  });
  assert.deepEqual(await faults(page), []);
  assert.deepEqual(complaints, []);
});
