import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { after, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { TACHO } from '../tacho.ts';

const CHROMIUM = spawnSync('sh', ['-c', 'command -v chromium || command -v chromium-browser'], { encoding: 'utf8' });

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

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
  const { server, url } = await (options.env === undefined ? sharedServer(folders) : serve(t, folders, options));
  const browser = await sharedBrowser();
  const { page, complaints } = await window(t, browser, {
    viewport: { width: options.width ?? 1280, height: 900 },
    colorScheme: options.dark ? 'dark' : 'light',
  });
  await page.goto(url);
  return { url, page, browser, server, complaints };
}

async function window(
  t: TestContext,
  browser: Browser,
  options: BrowserContextOptions,
): Promise<Pick<Looking, 'page' | 'complaints'>> {
  const context = await browser.newContext(options);
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
}

/** A file, opened as people open one that they were sent; what it asks of anybody is in `requests`. */
export async function openFile(
  t: TestContext,
  file: string,
  options: BrowserContextOptions = {},
): Promise<Pick<Looking, 'page' | 'complaints'> & { requests: string[] }> {
  const { page, complaints } = await window(t, await sharedBrowser(), { offline: true, ...options });
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(pathToFileURL(file).href);
  return { page, complaints, requests };
}

let launched: Promise<Browser> | undefined;

/** One browser for all tests of a file; each has a window of its own. */
function sharedBrowser(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath: CHROMIUM.stdout.trim(), args: ['--no-sandbox'] });
  return launched;
}

const started = new Map<string, Promise<Pick<Looking, 'server' | 'url'>>>();

/** One server for the same folders. */
function sharedServer(folders: readonly string[]): Promise<Pick<Looking, 'server' | 'url'>> {
  const key = folders.join('\n');
  const server = started.get(key) ?? startServer(folders);
  started.set(key, server);
  return server;
}

after(async () => {
  await (await launched)?.close();
  for (const each of started.values()) (await each.catch(() => undefined))?.server.kill();
});

/** Starts the server alone; it ends with the test. */
export async function serve(
  t: TestContext,
  folders: readonly string[],
  options: { port?: number; env?: Record<string, string> } = {},
): Promise<Pick<Looking, 'server' | 'url'>> {
  const started = await startServer(folders, options);
  t.after(() => void started.server.kill());
  return started;
}

async function startServer(
  folders: readonly string[],
  { port = 0, env = {} }: { port?: number; env?: Record<string, string> } = {},
): Promise<Pick<Looking, 'server' | 'url'>> {
  const server = spawn(TACHO, ['serve', ...folders, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  return { server, url: await firstLine(server) };
}

function firstLine({ stdout, stderr }: ChildProcess): Promise<string> {
  let [output, complained] = ['', ''];
  stderr!.setEncoding('utf8').on('data', (text: string) => (complained += text));
  return new Promise((resolve, reject) => {
    stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('\n')) resolve(output.split('\n')[0]!);
    });
    stdout!.on('end', () => reject(new Error(`tacho serve printed no address: ${complained}`)));
  });
}

/** What axe-core finds wrong for people who cannot see the page as others do. */
export async function faults(page: Page): Promise<string[]> {
  await page.evaluate(fs.readFileSync(AXE, 'utf8'));
  const { violations } = await page.evaluate(() =>
    (
      globalThis as never as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
    ).axe.run(),
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
}
