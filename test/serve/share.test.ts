import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeRecording, START, temporary } from '../make-recording.ts';
import { lookAt, whyNoBrowser } from './browser.ts';

test('a link made on the page shows one job to a browser without the token, until it is revoked', {
  skip: whyNoBrowser,
}, async (t) => {
  const folder = temporary();
  for (const id of ['1', '2'])
    await makeRecording({
      folder: path.join(folder, id),
      job: { id, name: `job-${id}`, start: START, end: START + 60e6 },
    });
  const { page, browser, complaints } = await lookAt(t, [folder], { env: { XDG_STATE_HOME: temporary() } });
  await page.getByRole('link', { name: 'job-1' }).click();
  await page.getByLabel('A link that shows this job').fill('3');
  await page.getByRole('button', { name: 'Make a link' }).click();
  const link = await page.getByLabel('The link').inputValue();
  const other = await (await browser.newContext()).newPage();
  await other.goto(link);
  await other.getByRole('heading', { name: 'job-1' }).waitFor();
  // whoever has a link cannot pass on others
  assert.equal(await other.getByRole('button', { name: 'Make a link' }).count(), 0);
  await other.goto(new URL('/', link).href);
  await other.waitForSelector('[role=rowgroup] [role=row]');
  assert.deepEqual(await other.locator('[role=rowgroup] [role=row] a').allTextContents(), ['job-1']);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText(/made .*revoked/).waitFor();
  await other.goto(link);
  await other.getByText('This link was revoked by whoever made it.').waitFor();
  assert.deepEqual(complaints, []);
});
