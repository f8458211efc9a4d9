import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { openRecording } from '../../src/recording/folder/open.ts';
import { readTable } from '../../src/recording/read/read.ts';
import { inBaseUnit, labelName, metricsOf } from '../../src/table/names.ts';
import { eventually } from '../made/eventually.ts';
import { TACHO, temporaryFolder } from '../tacho.ts';
import { startVictoria, type Victoria, whyNoVictoria } from './server.ts';

const noPromtool = spawnSync('promtool', ['--version']).status !== 0 && 'promtool (package prometheus)';

interface Series {
  metric: Record<string, string>;
  values: number[];
  timestamps: number[];
}

/** The store keeps about fifteen digits. */
const rounded = (value: number): number => Number(value.toPrecision(12));

test('a real agent: what it has recorded is in the store, and what it exposes is accepted', {
  skip: whyNoVictoria() || noPromtool,
}, async (t) => {
  const server = await startVictoria(['-dedup.minScrapeInterval=1ms']);
  t.after(() => server.remove());
  const folder = temporaryFolder(t);
  const spool = path.join(folder, 'spool');
  const jobs = path.join(folder, 'jobs');
  fs.mkdirSync(jobs);
  const tokenFile = path.join(folder, 'token');
  fs.writeFileSync(tokenFile, 'open sesame\n', { mode: 0o600 });
  const agent = spawn(
    TACHO,
    [
      ...['agent', '--spool', spool, '--jobs', jobs, '--hooks-only', '--idle-interval', '200ms', '--node', 'c1'],
      ...['--victoria', server.url, '--victoria-interval', '500ms', '--metrics-listen', '127.0.0.1:0'],
      ...['--metrics-token-file', tokenFile],
    ],
    {
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
        XDG_CONFIG_HOME: folder,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let output = '';
  agent.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const over = new Promise((resolve) => agent.on('exit', resolve));
  t.after(() => agent.kill('SIGKILL'));
  const address = await eventually(
    () => `the address of the metrics in: ${output}`,
    () => /metrics: (http:\S+)/.exec(output)?.[1],
  );
  fs.writeFileSync(
    path.join(jobs, '.4711'),
    `SLURM_JOB_ID=4711\nSLURM_JOB_UID=${process.getuid!()}\nSLURM_NODELIST=c1\n`,
  );
  fs.renameSync(path.join(jobs, '.4711'), path.join(jobs, '4711'));
  await eventually(
    () => `job 4711 in: ${output}`,
    () => output.includes('job 4711'),
  );
  // the server is killed while samples come in
  await sleep(700);
  await server.kill();
  await sleep(700);
  await server.start();
  const restarted = Date.now();
  /** When the newest sample that the server has was taken, in milliseconds. */
  const newest = async (): Promise<number> => {
    await server.flush();
    const response = await fetch(`${server.url}/api/v1/export?match[]=tacho_loadavg_load1`);
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    return Math.max(0, ...lines.flatMap((line) => (JSON.parse(line) as Series).timestamps));
  };
  await eventually('a sample since the restart', async () => (await newest()) >= restarted);

  const text = await (await fetch(address, { headers: { authorization: 'Bearer open sesame' } })).text();
  const { stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
  assert.deepEqual(
    stderr.split('\n').filter((line) => line !== '' && !/snake_case|abbreviated units/.test(line)),
    [],
  );
  assert.match(text, /^tacho_loadavg_load1\{node="c1"\} \S+$/m);
  assert.match(text, /^tacho_job_info\{node="c1",job="4711",/m);
  agent.kill('SIGTERM');
  await over;

  // what was taken last can be asked for a moment later
  let comparison = await compare(server, spool);
  await eventually(
    () => `what was recorded; ${comparison.different}`,
    async () => {
      comparison = await compare(server, spool);
      return comparison.different === undefined;
    },
  );
  assert.ok(comparison.compared > 1000, `${comparison.compared} values`);
  assert.ok(comparison.all.some(({ metric }) => metric.__name__ === 'tacho_record' && metric.job === '4711'));
});

/** Compares each value that was recorded with what the store has; `different`: the first one that it has not, or otherwise. */
async function compare(
  server: Victoria,
  spool: string,
): Promise<{ compared: number; all: Series[]; different?: assert.AssertionError }> {
  await server.flush();
  const response = await fetch(`${server.url}/api/v1/export?match[]=${encodeURIComponent('{node="c1"}')}`);
  const all = (await response.text())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Series);
  const seriesByLabels = new Map(all.map((series) => [JSON.stringify(Object.entries(series.metric).sort()), series]));
  let compared = 0;
  for (const name of fs.readdirSync(spool).filter((each) => !each.startsWith('.'))) {
    const { nodes, job } = openRecording(path.join(spool, name));
    const whose = name.startsWith('fleet') ? {} : { job: job.id, user: job.user };
    for (const table of nodes[0]!.tables.keys()) {
      const batch = readTable(nodes[0]!, table);
      if (batch.table.events === true || table === 'process') continue;
      const metrics = metricsOf(batch.table);
      for (let s = 0; s + 1 < batch.series.length; s++) {
        const from = batch.series[s]!;
        const keys = batch.table.keys.map((key) => {
          const { codes, values } = batch.texts.get(key.name)!;
          return [labelName(key.name), values[codes[from]!]!] as const;
        });
        for (const [c, metric] of metrics.entries()) {
          const numbers = batch.numbers.get(batch.table.columns[c]!.name);
          if (metric === undefined || numbers === undefined) continue;
          const rows = Array.from({ length: batch.series[s + 1]! - from }, (_, i) => from + i);
          const there = rows.filter((row) => !Number.isNaN(numbers[row]));
          const labels = { __name__: metric.name, node: 'c1', ...whose, ...Object.fromEntries(keys) };
          const series = seriesByLabels.get(JSON.stringify(Object.entries(labels).sort()));
          const stored = [series?.timestamps ?? [], (series?.values ?? []).map(rounded)];
          const recorded = [
            there.map((row) => Math.floor(batch.time[row]! / 1000)),
            there.map((row) => rounded(inBaseUnit(numbers[row]!, metric.factor))),
          ];
          if (!isDeepStrictEqual(stored, recorded)) {
            const message = `${name} ${JSON.stringify(labels)}: ${JSON.stringify({ stored, recorded })}`;
            return { compared, all, different: new assert.AssertionError({ message }) };
          }
          compared += there.length;
        }
      }
    }
  }
  return { compared, all };
}
