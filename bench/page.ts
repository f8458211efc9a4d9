import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import { writeDemo } from '../src/demo/demo.ts';
import { TableWriter } from '../src/recording/live/append.ts';
import { loadavgTable, processEndTable, processStartTable } from '../src/sources/tables.ts';
import { Frame } from '../src/table/frame.ts';
import { agentOf, appendRows, jobOf, makeRecording } from '../test/make-recording.ts';
import type { Row } from './row.ts';

export interface PageOptions {
  /** Length of the demo's job, number of jobs in the table, and of processes; 0 leaves them out. */
  seconds?: number;
  jobs?: number;
  processes?: number;
  runs?: number;
}

const HERE = path.join(import.meta.dirname, '..');
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((file) => fs.existsSync(file));

/** What a person who opens the page waits for, in a real Chromium. Marks of the page tell when something was drawn. */
export async function bench(options: PageOptions = {}): Promise<Row[]> {
  const { seconds = 7200, jobs = 10_000, processes = 35_000, runs = 5 } = options;
  if (CHROMIUM === undefined) throw new Error('needs chromium: apt install chromium');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-page-'));
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const rows: Row[] = [];
    if (seconds > 0) rows.push(...(await demoRows(browser, folder, seconds, runs)));
    if (jobs > 0) rows.push(...(await tableRows(browser, folder, jobs, runs)));
    if (processes > 0) rows.push(...(await processRows(browser, folder, processes, runs)));
    rows.push(...(await liveRows(browser, folder)));
    return rows;
  } finally {
    await browser.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

interface Served {
  page: Page;
  url: string;
  origin: string;
  server: ChildProcess;
  close(): Promise<void>;
}

async function serve(browser: Browser, folder: string): Promise<Served> {
  const server = spawn(path.join(HERE, 'tacho'), ['serve', folder], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [text] = (await once(server.stdout!, 'data')) as [Buffer];
  const url = text.toString().split('\n')[0]!;
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(120_000);
  await page.goto(url);
  return {
    ...{ page, url, server, origin: new URL(url).origin },
    async close() {
      await page.close();
      server.kill();
    },
  };
}

const row = (what: string, must: string, measured: number, unit: string): Row => ({
  ...{ what, must, measured, unit },
  ...{ peer: '', ratio: Number.NaN },
});
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** When something was first drawn, in milliseconds since the navigation. */
async function drawnAt(page: Page, mark: string): Promise<number> {
  await page.waitForFunction((name) => performance.getEntriesByName(name).length > 0, mark);
  return page.evaluate((name) => performance.getEntriesByName(name)[0]!.startTime, mark);
}

const idOf = async (page: Page, name: string): Promise<string> => {
  const { jobs } = (await page.evaluate("fetch('/api/jobs').then((answer) => answer.json())")) as {
    jobs: { id: string; job: string }[];
  };
  return jobs.find(({ job }) => job === name)!.id;
};

/** Bytes of the page itself, for a browser that has nothing of it. */
async function firstLoad(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForLoadState('networkidle');
  const sizes = (await page.evaluate(
    "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map((each) => [each.name, each.transferSize])",
  )) as [string, number][];
  await context.close();
  return sizes.filter(([name]) => !name.includes('/api/')).reduce((sum, [, size]) => sum + size, 0);
}

async function demoRows(browser: Browser, folder: string, seconds: number, runs: number): Promise<Row[]> {
  const targetFolder = path.join(folder, 'demo');
  await writeDemo({ folder: path.join(targetFolder, 'one'), seconds });
  const { page, origin, close, url } = await serve(browser, targetFolder);
  const id = await idOf(page, '48213');
  const shell = await firstLoad(browser, url);
  const times: number[] = [];
  let sent = 0;
  for (let i = 0; i < runs; i++) {
    await page.goto(`${origin}/job/${id}`);
    times.push(await drawnAt(page, 'chart drawn'));
    if (i > 0) continue;
    await page.waitForLoadState('networkidle');
    const sizes = (await page.evaluate(
      "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map((each) => [each.name, each.transferSize])",
    )) as [string, number][];
    sent = shell + sizes.filter(([name]) => name.includes('/api/')).reduce((sum, [, size]) => sum + size, 0);
  }
  const zooms: number[] = [];
  for (let i = 0; i < runs; i++)
    zooms.push(
      (await page.evaluate(`(async () => {
        performance.clearMarks('chart drawn');
        const begun = performance.now();
        const from = Date.UTC(2026, 2, 2, 8, ${10 + i}) * 1000;
        history.pushState(null, '', '?from=' + from + '&to=' + (from + 60e6));
        dispatchEvent(new PopStateEvent('popstate'));
        for (;;) {
          await new Promise((done) => setTimeout(done, 2));
          const [first] = performance.getEntriesByName('chart drawn');
          if (first !== undefined) return first.startTime - begun;
        }
      })()`)) as number,
    );
  await close();
  return [
    row('job page of the demo: first chart, first time', '≤ 0.7 s', times[0]! / 1000, 's'),
    row('job page of the demo: first chart, again', '≤ 0.7 s', median(times) / 1000, 's'),
    row('job page of the demo: transferred', '≤ 2 MB', sent / 1e6, 'MB'),
    row('first load of the page, compressed', '≤ 400 kB', shell / 1000, 'kB'),
    row('zoom to one minute: drawn', '≤ 0.2 s', median(zooms) / 1000, 's'),
  ];
}

async function tableRows(browser: Browser, folder: string, number: number, runs: number): Promise<Row[]> {
  const targetFolder = path.join(folder, 'many');
  const start = Date.UTC(2026, 2, 2, 8) * 1000;
  for (let i = 0; i < number; i++)
    await makeRecording({
      folder: path.join(targetFolder, `job-${i}`),
      seconds: 1,
      job: {
        id: String(i),
        name: `job-${i % 97}`,
        user: `user${i % 31}`,
        start: start + i * 1e6,
        end: start + i * 1e6 + 60e6,
      },
    });
  const { page, origin, close } = await serve(browser, targetFolder);
  // rows of recordings without an index are worked out once
  await page.locator(`[role=table][aria-rowcount="${number}"]`).waitFor({ timeout: 600_000 });
  const times: number[] = [];
  for (let i = 0; i < runs; i++) {
    await page.goto(`${origin}/`);
    times.push(await drawnAt(page, 'jobs drawn'));
  }
  const frames = (await page.evaluate(`(async () => {
    const table = document.querySelector('[role=table]');
    const took = [];
    let last = performance.now();
    for (let i = 0; i < 120; i++) {
      table.scrollTop += 300;
      const now = await new Promise((done) => requestAnimationFrame(done));
      took.push(now - last);
      last = now;
    }
    return took;
  })()`)) as number[];
  await close();
  return [
    row(`table of ${number} jobs: drawn`, '≤ 0.5 s', median(times) / 1000, 's'),
    row('scrolling it: frames a second', '≥ 58', 1000 / median(frames), ''),
  ];
}

/** Sealed, as a job that has ended is, and as it was written. */
async function processRows(browser: Browser, folder: string, number: number, runs: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const isSealed of [true, false]) {
    const targetFolder = path.join(folder, isSealed ? 'processes' : 'unsealed-processes');
    const recording = path.join(targetFolder, 'one');
    await manyProcesses(recording, number);
    if (isSealed) execFileSync(path.join(HERE, 'tacho'), ['seal', recording], { stdio: 'ignore' });
    const { page, origin, close } = await serve(browser, targetFolder);
    const id = await idOf(page, '35');
    const times: number[] = [];
    for (let i = 0; i < runs; i++) {
      await page.goto(`${origin}/job/${id}`);
      times.push(await drawnAt(page, 'processes drawn'));
    }
    await close();
    const what = `${number} processes${isSealed ? '' : ', unsealed'}: drawn`;
    rows.push(
      row(`${what}, first time`, isSealed ? '≤ 1 s' : '', times[0]! / 1000, 's'),
      row(`${what}, again`, '≤ 1 s', median(times) / 1000, 's'),
    );
  }
  return rows;
}

/** A build of so many short processes, three levels deep. */
async function manyProcesses(recording: string, number: number): Promise<void> {
  const start = Date.UTC(2026, 2, 2, 8) * 1000;
  const node = path.join(recording, 'node=c1');
  fs.mkdirSync(node, { recursive: true });
  const job = jobOf({ id: '35', name: 'build', nodes: ['c1'], start, end: start + 3600e6, state: 'completed' });
  fs.writeFileSync(path.join(recording, 'job.json'), JSON.stringify(job));
  fs.writeFileSync(
    path.join(node, 'agent.json'),
    JSON.stringify(agentOf('c1', [processStartTable, processEndTable], { start })),
  );
  for (const table of [processStartTable, processEndTable]) {
    const frame = new Frame(table);
    for (let i = 0; i < number; i++) {
      const begun = start + Math.round((i / number) * 3500e6);
      const values: Record<string, number | string> = {
        ...{ pid: String(1000 + i), start: String(begun), ppid: i === 0 ? 1 : 1000 + Math.floor(i / 40), uid: 1000 },
        ...{
          tags: `op:${['build', 'link', 'test'][i % 3]}`,
          path: '/usr/bin/cc',
          exename: 'cc',
          args: `-c file${i}.c -o file${i}.o`,
        },
        ...{ began: 'exec', ended: 'exit', told_by: 'itself', exitcode: 0, exitsignal: 0, numtids: 1 },
        ...{ usertime: 80_000, systemtime: 9000, rssmax: 40_000, starttime: Math.round(begun / 1e4) % 1e9 },
      };
      const at = frame.row();
      frame.times![at] = table === processStartTable ? begun : i === 0 ? start + 3590e6 : begun + 90e6;
      table.keys.forEach(({ name }, k) => {
        frame.texts[at * frame.textWidth + k] = String(values[name]);
      });
      table.columns.forEach(({ name }, k) => {
        const to = frame.indexes[k]!;
        if (to < 0) frame.texts[at * frame.textWidth - 1 - to] = String(values[name] ?? '');
        else frame.numbers[at * frame.numberWidth + to] = Number(values[name] ?? Number.NaN);
      });
    }
    const writer = new TableWriter(node, table, { rollSeconds: Number.POSITIVE_INFINITY });
    writer.append(frame);
    await writer.close();
  }
}

const PUSHING = 100;

/** Nodes write a sample each second; when is one that only one of them has on the screen? */
async function liveRows(browser: Browser, folder: string): Promise<Row[]> {
  const recording = path.join(folder, 'live', 'one');
  const start = Date.now() * 1000 - 60e6;
  const nodes = Array.from({ length: PUSHING }, (_, n) => `c${n + 1}`);
  const { end: _, ...job } = jobOf({ id: '7', nodes, start, state: 'running', scheduler: 'none' });
  fs.mkdirSync(recording, { recursive: true });
  fs.writeFileSync(path.join(recording, 'job.json'), JSON.stringify(job));
  for (const name of nodes) {
    const node = path.join(recording, `node=${name}`);
    fs.mkdirSync(node);
    const { end: _end, end_reason: _reason, ...agent } = agentOf(name, [loadavgTable], { start });
    fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agent));
    await appendRows(
      node,
      loadavgTable,
      Array.from({ length: 59 }, (_each, i) => ({ time: start + i * 1e6, load1: 1, runnable: 3 })),
    );
  }
  const line = (time: number, runnable: number): string =>
    `${time},${loadavgTable.columns.map(({ name }) => (name === 'runnable' ? runnable : 1)).join(',')}\n`;
  const sample = (runnable: number): void => {
    const time = Date.now() * 1000;
    for (const [n, name] of nodes.entries())
      fs.appendFileSync(path.join(recording, `node=${name}`, 'loadavg.csv'), line(time, n === 0 ? runnable : 3));
  };
  const { page, origin, close } = await serve(browser, path.dirname(recording));
  await page.goto(`${origin}/job/${await idOf(page, '7')}`);
  const title = page.locator('[data-chart=runnable] h3');
  await title.filter({ hasText: 'peak 3 threads' }).waitFor();
  const took: number[] = [];
  for (let i = 0; i < 10; i++) {
    const begun = performance.now();
    await page.evaluate("performance.clearMarks('chart drawn')");
    sample(10 + i);
    await title.filter({ hasText: `peak ${10 + i} threads` }).waitFor();
    await page.waitForFunction("performance.getEntriesByName('chart drawn').length > 0");
    took.push(performance.now() - begun);
    await sleep(Math.max(0, 1000 - took.at(-1)!));
  }
  await close();
  const what = `live, ${PUSHING} nodes push each second: sample → drawn`;
  return [
    row(`${what}, median`, '≤ 2 s', median(took) / 1000, 's'),
    row(`${what}, worst of ${took.length}`, '≤ 2 s', Math.max(...took) / 1000, 's'),
  ];
}
