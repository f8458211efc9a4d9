import { execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { chromium } from 'playwright-core';

/*
 * The pictures of the README, of the demo job in a real browser: npm run pictures. Only what was made up is in them, nothing
 * of the machine that they are made on.
 */

const HERE = path.join(import.meta.dirname, '..');
const TACHO = path.join(HERE, 'tacho');
const PICTURES = path.join(HERE, 'docs/pictures');
const JOBS = [[], ['--slower'], ['--nodes', '4', '--hours', '1'], ['--nodes', '2', '--hours', '0.3']];
/** Pages as wide as on a laptop, in three quarters of the size. */
const [WIDTH, SCALE] = [1280, 0.75];

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-pictures-'));
for (const [i, options] of JOBS.entries())
  execFileSync(TACHO, ['demo', '-o', path.join(folder, String(i)), ...options], { stdio: 'inherit' });
const server = spawn(TACHO, ['serve', folder, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
const executablePath = execFileSync('sh', ['-c', 'command -v chromium || command -v chromium-browser'], {
  encoding: 'utf8',
}).trim();
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const url = await new Promise<string>((resolve, reject) => {
    server.stdout.setEncoding('utf8').once('data', (text: string) => resolve(text.split('\n')[0]!));
    server.once('exit', () => reject(new Error('tacho serve ended without an address')));
  });
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 800 }, deviceScaleFactor: SCALE });
  const picture = async (name: string, height: number): Promise<void> => {
    await page.setViewportSize({ width: WIDTH, height });
    await page.waitForLoadState('networkidle');
    const file = path.join(PICTURES, `page-${name}.png`);
    await page.screenshot({ path: file });
    process.stdout.write(`${path.relative(HERE, file)}\n`);
  };

  await page.goto(url);
  await page.locator('[role=rowgroup] [role=row] .state').first().click();
  await page.locator('.strip .panel canvas').nth(3).waitFor();
  await picture('jobs', 800);

  await page.goto(url);
  const job = page.locator('[role=rowgroup] [role=row]', { hasText: '2 h 00 min' });
  await page.goto(new URL((await job.getByRole('link').getAttribute('href'))!, url).href);
  await page.locator('[data-chart=ranks] canvas').first().waitFor();
  await picture('job', 940);

  await page.getByRole('button', { name: 'by operation' }).click();
  const processes = page.locator('.processes');
  await processes.locator('[role=img]').focus();
  for (const key of ['ArrowDown', 'ArrowDown', 't']) await page.keyboard.press(key);
  await processes.locator('.threads h3').waitFor();
  await page.setViewportSize({ width: WIDTH, height: 900 });
  await page.evaluate("document.querySelector('.processes').scrollIntoView(); scrollBy(0, -180)");
  await picture('processes', 900);
} finally {
  await browser.close();
  server.kill();
  fs.rmSync(folder, { recursive: true, force: true });
}
