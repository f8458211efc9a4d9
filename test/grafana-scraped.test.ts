import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { freePort } from '../src/base/free-port.ts';
import { serveMetrics } from '../src/prometheus/metrics-server.ts';
import { sources } from '../src/sources/index.ts';
import { agentTable } from '../src/sources/own/agent.ts';
import type { Frame } from '../src/table/frame.ts';
import type { Table } from '../src/table/table.ts';
import { eventually } from './made/eventually.ts';
import { agentOf, frameOf, jobOf, START } from './make-recording.ts';
import { temporaryFolder } from './tacho.ts';

const lacks =
  spawnSync('prometheus', ['--version'], { stdio: 'ignore' }).status !== 0 && 'Prometheus (package prometheus)';

/** A row of a table in which every number is `value`. */
function frameWith(table: Table, value: number): Frame {
  const key = { cpu: 'all', cgroup: '.' }[table.name] ?? 'x';
  const keys = table.keys.map(({ name }) => [name, key]);
  const numbers = table.columns.filter(({ type }) => type !== 'text').map(({ name }) => [name, value]);
  return frameOf(table, [{ time: START, ...Object.fromEntries([...keys, ...numbers]) }]);
}

const tables = [...sources.map(({ table }) => table), agentTable].filter(({ events }) => events !== true);
const framesOf = (scope: Table['scope'], value: number): Frame[] =>
  tables.filter((table) => table.scope === scope).map((table) => frameWith(table, value));

interface Found {
  metric: Record<string, string>;
  value: [time: number, value: string];
}

interface Panel {
  title: string;
  panels?: Panel[];
  targets?: { expr: string }[];
}

test('every query of job.json answers with a Prometheus that scrapes', { skip: lacks }, async (t) => {
  const folder = temporaryFolder(t);
  const token = path.join(folder, 'token');
  fs.writeFileSync(token, 'open sesame\n', { mode: 0o600 });
  const day = jobOf({ id: 'fleet-2026-11-15', user: '', uid: -1 });
  let scrapes = 0;
  // the job is on c1 alone; each node says of itself how busy it is
  const nodes = ['c1', 'c2'];
  const server = await serveMetrics({ listen: '127.0.0.1:0', tokenFile: token }, () => {
    scrapes++;
    return [
      ...nodes.map((node, i) => ({
        job: day,
        agent: agentOf(node, []),
        frames: framesOf('node', scrapes * 1000 * (i + 1)),
      })),
      { job: jobOf({ start: Date.now() * 1000 }), agent: agentOf('c1', []), frames: framesOf('job', scrapes * 1000) },
    ];
  });
  t.after(() => server.close());
  const page = fs.readFileSync(path.join(import.meta.dirname, '../docs/prometheus.md'), 'utf8');
  const configuration = /```yaml\n(# prometheus.yml\n[^`]*)```/
    .exec(page)![1]!
    .replace('scheme: https', 'scheme: http')
    .replace(/credentials_file: .*/, `credentials_file: ${token}`)
    .replace(/targets: .*/, `targets: ["${new URL(server.address).host}"]`);
  const file = path.join(folder, 'prometheus.yml');
  fs.writeFileSync(file, `global: { scrape_interval: 1s }\n${configuration}`);
  const port = await freePort();
  const options = ['--config.file', file, '--storage.tsdb.path', `${folder}/data`];
  const prometheus = spawn('prometheus', [...options, '--web.listen-address', `127.0.0.1:${port}`], {
    stdio: 'ignore',
  });
  const over = new Promise((resolve) => prometheus.on('exit', resolve));
  t.after(async () => {
    prometheus.kill('SIGKILL');
    await over;
  });

  const ask = async (query: string): Promise<Found[]> => {
    const body = new URLSearchParams({ query });
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/query`, { method: 'POST', body }).catch(
      () => undefined,
    );
    const said: unknown = await response?.json().catch(() => undefined);
    const { data, error } = (said ?? {}) as { data?: { result: Found[] }; error?: string };
    assert.equal(error, undefined, query);
    return data?.result ?? [];
  };
  // a rate needs two samples, and a mean in steps of 15 s one of them
  const scraped = async (): Promise<number> =>
    Number((await ask('min(count_over_time(tacho_loadavg_load1[10m]))'))[0]?.value[1] ?? 0);
  await eventually('17 scrapes', async () => (await scraped()) >= 17);

  const chosen = (expr: string): string =>
    expr
      .replaceAll('$__rate_interval', '60s')
      .replaceAll('$__range', '600s')
      .replaceAll('$job', jobOf().id)
      .replaceAll('$run', '()')
      .replaceAll(/\$(cluster|node|user|owner)\b/g, '.*');
  const inside = (panels: readonly Panel[]): Panel[] => panels.flatMap((p) => [p, ...inside(p.panels ?? [])]);
  const { panels } = JSON.parse(
    fs.readFileSync(path.join(import.meta.dirname, '../packaging/grafana/job.json'), 'utf8'),
  ) as { panels: Panel[] };
  const silent: string[] = [];
  let asked = 0;
  for (const { title, targets = [] } of inside(panels)) {
    for (const { expr } of targets) {
      asked++;
      const series = await ask(chosen(expr));
      if (series.length === 0) silent.push(title);
      for (const { metric } of series) assert.notEqual(metric.node, 'c2', `${title}: the job is not there`);
    }
  }
  // tables that are written on change are not scraped
  assert.deepEqual(silent, ['process: rss, the ten highest', 'process: user per second, the ten highest']);
  assert.ok(asked > 45, `${asked}`);
});
