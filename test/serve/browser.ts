import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { TACHO } from '../tacho.ts';

const CHROMIUM = spawnSync('sh', ['-c', 'command -v chromium || command -v chromium-browser'], { encoding: 'utf8' });

/** Why no browser can be started here, or false. */
export const whyNoBrowser = CHROMIUM.status !== 0 && 'needs chromium';

/** The page of some folders, served by the program under test, and a browser to look at it. */
export interface Looking {
  url: string;
  page: Page;
  browser: Browser;
  server: ChildProcess;
  /** What the browser complained of. */
  complaints: string[];
}

export async function lookAt(
  t: TestContext,
  folders: readonly string[],
  options: { dark?: true; width?: number; port?: number; env?: Record<string, string> } = {},
): Promise<Looking> {
  const { server, url } = await serve(t, folders, options);
  const browser = await chromium.launch({ executablePath: CHROMIUM.stdout.trim(), args: ['--no-sandbox'] });
  t.after(() => browser.close());
  const page = await browser.newPage({
    viewport: { width: options.width ?? 1280, height: 900 },
    colorScheme: options.dark ? 'dark' : 'light',
  });
  page.setDefaultTimeout(120_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(url);
  return { url, page, browser, server, complaints };
}

/** Starts the server alone; it ends with the test. */
export async function serve(
  t: TestContext,
  folders: readonly string[],
  { port = 0, env = {} }: { port?: number; env?: Record<string, string> } = {},
): Promise<Pick<Looking, 'server' | 'url'>> {
  const server = spawn(TACHO, ['serve', ...folders, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  t.after(() => void server.kill());
  return { server, url: await firstLine(server) };
}

function firstLine({ stdout, stderr }: ChildProcess): Promise<string> {
  let [said, complained] = ['', ''];
  stderr!.setEncoding('utf8').on('data', (text: string) => (complained += text));
  return new Promise((resolve, reject) => {
    stdout!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('\n')) resolve(said.split('\n')[0]!);
    });
    stdout!.on('end', () => reject(new Error(`tacho serve printed no address: ${complained}`)));
  });
}
