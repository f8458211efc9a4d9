import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeRecording, START, temporary } from '../make-recording.ts';
import { type Answer, TACHO, tacho } from '../tacho.ts';
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
  // all of it is seen, and copied by a button
  const field = await page
    .getByLabel('The link')
    .evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth]);
  assert.ok(field[0]! <= field[1]!, `the link needs ${field[0]} of ${field[1]} pixels`);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.locator('.share').getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Link copied').waitFor();
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), link);
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

test('links are made, listed and revoked from the command line', async (t) => {
  const folder = temporary();
  for (const id of ['41', '42'])
    await makeRecording({ folder: path.join(folder, id), job: { id, name: 'solve', start: START, end: START + 60e6 } });
  const env = { ...process.env, XDG_STATE_HOME: temporary() };
  const ask = (...args: string[]): Answer => tacho(['share', ...args], { env });
  assert.match(ask('list').err, /you serve no page on this machine/);
  const server = spawn(TACHO, ['serve', folder, '--port', '0'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => server.kill());
  const [printed] = (await once(server.stdout, 'data')) as [Buffer];
  const address = printed.toString().trim();
  assert.equal(ask('list').out, 'No links were made.\n');
  const made = ask('make', '41', '--expires', '2d');
  assert.equal(made.code, 0, made.err);
  const link = made.out.trim();
  assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/share\/[\w-]{32}$/);
  const [, id] = /tacho share revoke (\S+) ends it/.exec(made.err)!;
  // no id may look like an option
  assert.match(id!, /^[\da-f]{18}$/);
  // whoever has it is sent to the job
  const opened = await fetch(link, { redirect: 'manual' });
  assert.match(opened.headers.get('location')!, /^\/job\//);
  const [one] = JSON.parse(ask('list', '--format', 'json', '--server', address).out) as Record<string, unknown>[];
  assert.deepEqual([one!.id, one!.name, one!.state], [id, '41 solve', 'good']);
  assert.match(ask('make', '43').err, /the page shows no job 43/);
  assert.match(ask('list', '--server', new URL(address).origin).err, /does not know you/);
  assert.equal(ask('revoke', id!).out, 'The link to 41 solve opens nothing any more.\n');
  assert.match(ask('list').out, new RegExp(`${id} +41 solve .* revoked`));
  assert.equal((await fetch(link, { redirect: 'manual' })).status, 410);
  server.kill('SIGTERM');
  await once(server, 'close');
  assert.match(ask('list').err, /you serve no page on this machine/);
});
