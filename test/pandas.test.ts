import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { writeDemo } from '../src/demo/demo.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { type ExportOptions, exportRecordings } from '../src/show/export/export.ts';
import { gpu } from '../src/sources/gpu/gpu.ts';
import { network } from '../src/sources/host/network.ts';
import { agentOf, appendRows, jobOf, loadTable, type Row, temporary } from './make-recording.ts';

/** Debian's Python has python3-pandas; another one first in the path may not. */
const PYTHON = ['/usr/bin/python3', 'python3'].find((name) => spawnSync(name, ['-c', 'import pandas']).status === 0);
const skip = PYTHON === undefined ? 'python3-pandas is not installed' : false;

function pandas(script: string, folder: string): Record<string, unknown> {
  const done = spawnSync(PYTHON!, ['-W', 'error', path.join(import.meta.dirname, 'pandas', script)], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, MPLCONFIGDIR: folder },
  });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout) as Record<string, unknown>;
}

const NODES = ['node01', 'node02'];
const CARDS = 12;
const SECONDS = 20;
const MEMORY = 64 * 2 ** 30;
const START = Date.UTC(2025, 0, 1, 10) * 1000;

/** What is recorded: known numbers, and a card that does not answer for two seconds. */
const utilization = (node: number, card: number, second: number): number =>
  ((node + 1) * 7 + card * 3 + second * 5) % 101;
const lost = (node: number, card: number, second: number): boolean =>
  node === 1 && card === 3 && (second === 4 || second === 5);

async function record(milliseconds = 1000): Promise<string> {
  const folder = path.join(temporary(), 'tacho-99');
  fs.mkdirSync(folder);
  fs.writeFileSync(
    path.join(folder, 'job.json'),
    JSON.stringify(jobOf({ id: '99', nodes: NODES, interval_seconds: milliseconds / 1000 })),
  );
  for (const [n, node] of NODES.entries()) {
    const nodePath = path.join(folder, `node=${node}.cluster.example`);
    const cards: Row[] = [];
    const ports: Row[] = [];
    const load: Row[] = [];
    for (let second = 0; second < SECONDS; second++) {
      // clocks and agents are never quite punctual
      const time = START + second * milliseconds * 1000 + n * 310 + second;
      for (let card = 0; card < CARDS; card++) {
        if (lost(n, card, second)) continue;
        cards.push({
          time,
          gpu: String(card),
          utilization_percent: utilization(n, card, second),
          memory_used_bytes: MEMORY / (card + 1),
          // one node says how large its cards are in the table, the other among its facts
          ...(n === 0 ? { memory_total_bytes: MEMORY } : {}),
          temperature_celsius: 40 + card,
          clock_mhz: 1700 - second,
          ...(second === 9 ? {} : { power_watts: 300.5 + card }),
        });
      }
      for (const [port, kind] of [
        ['lo', 'loopback'],
        ['eth0', 'ethernet'],
        ['mlx5_0:1', 'infiniband'],
      ]) {
        ports.push({
          time,
          interface: port!,
          class: kind!,
          received_bytes: (n + 1) * 1e12 + second * 1e9,
          sent_bytes: second,
        });
      }
      load.push({ time, load1: second / 4 });
    }
    await appendRows(nodePath, gpu.table, cards);
    await appendRows(nodePath, network.table, ports);
    await appendRows(nodePath, loadTable, load);
    const agent = agentOf(`${node}.cluster.example`, [gpu.table, network.table, loadTable]);
    agent.facts.gpus = Array.from({ length: CARDS }, (_, card) => ({
      gpu: String(card),
      vendor: 'AMD',
      memory_bytes: MEMORY,
    }));
    fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agent));
  }
  return folder;
}

async function exported(recording: string, ...all: Partial<ExportOptions>[]): Promise<string> {
  const folder = temporary();
  for (const options of all) {
    await exportRecordings([openRecording(recording)], { format: 'csv', layout: 'long', folder, ...options });
  }
  return folder;
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test("every line of Omnistat's manual gives the right numbers", { skip }, async () => {
  const given = pandas('omnistat.py', await exported(await record(), { layout: 'omnistat' }));
  assert.deepEqual(given.levels, ['metric', 'instance', 'card']);
  assert.equal(given.index, 'timestamp');
  assert.equal(given.zone, 'None');
  assert.deepEqual(
    given.times,
    range(SECONDS).map((s) => `2025-01-01 10:00:${String(s).padStart(2, '0')}`),
  );
  assert.deepEqual(given.metrics, [
    'rocm_utilization_percentage',
    'rocm_vram_used_percentage',
    'rocm_temperature_celsius',
    'rocm_sclk_clock_mhz',
    'rocm_average_socket_power_watts',
  ]);
  assert.deepEqual(given.cards, range(CARDS).map(String));
  assert.deepEqual(given.shape, [SECONDS, 2 * CARDS]);
  assert.deepEqual(given.dtypes, ['float64']);
  assert.deepEqual(
    given.one_gpu,
    range(SECONDS).map((s) => utilization(0, 0, s)),
  );
  assert.deepEqual(given.zero_columns, [
    ['rocm_utilization_percentage', 'node01', '0'],
    ['rocm_utilization_percentage', 'node02', '0'],
    ['rocm_vram_used_percentage', 'node01', '0'],
    ['rocm_vram_used_percentage', 'node02', '0'],
  ]);
  const [one, two, vram1, vram2] = given.zero_means as [number, number, number, number];
  assert.ok(Math.abs(one - mean(range(SECONDS).map((s) => utilization(0, 0, s)))) < 1e-9);
  assert.ok(Math.abs(two - mean(range(SECONDS).map((s) => utilization(1, 0, s)))) < 1e-9);
  assert.deepEqual([vram1, vram2], [100, 100]);
  const means = given.node_means as Record<string, number[]>;
  assert.deepEqual(Object.keys(means), NODES);
  for (const [n, node] of NODES.entries()) {
    for (const s of range(SECONDS)) {
      const cards = range(CARDS).filter((card) => !lost(n, card, s));
      assert.ok(
        Math.abs(means[node]![s]! - mean(cards.map((card) => utilization(n, card, s)))) < 1e-9,
        `${node} at ${s} s`,
      );
    }
  }
  if (given.plotted !== null) assert.deepEqual(given.plotted, [means.node01, means.node02]);
  assert.deepEqual(given.network_levels, ['metric', 'instance', 'device_class', 'interface']);
  assert.deepEqual((given.network_columns as string[][]).slice(0, 4), [
    ['omnistat_network_rx_bytes', 'node01', 'infiniband', 'mlx5_0'],
    ['omnistat_network_rx_bytes', 'node01', 'net', 'eth0'],
    ['omnistat_network_rx_bytes', 'node02', 'infiniband', 'mlx5_0'],
    ['omnistat_network_rx_bytes', 'node02', 'net', 'eth0'],
  ]);
  assert.deepEqual(
    given.received,
    range(SECONDS).map((s) => 2e12 + s * 1e9),
  );
});

test('times below a second have milliseconds in every row', { skip }, async () => {
  const given = pandas('omnistat.py', await exported(await record(250), { layout: 'omnistat' }));
  assert.deepEqual((given.times as string[]).slice(0, 6), [
    '2025-01-01 10:00:00',
    '2025-01-01 10:00:00.250000',
    '2025-01-01 10:00:00.500000',
    '2025-01-01 10:00:00.750000',
    '2025-01-01 10:00:01',
    '2025-01-01 10:00:01.250000',
  ]);
  const folder = await exported(await record(250), { layout: 'omnistat' });
  const lines = fs.readFileSync(path.join(folder, 'omnistat-rocm.csv'), 'utf8').split('\n');
  assert.match(lines[4]!, /^2025-01-01 10:00:00\.000,7\.0,/);
});

test('the first rows are as Omnistat writes them', async () => {
  const folder = await exported(await record(), { layout: 'omnistat' });
  const lines = fs.readFileSync(path.join(folder, 'omnistat-rocm.csv'), 'utf8').split('\n');
  const columns = 5 * 2 * CARDS;
  assert.ok(lines[0]!.startsWith('metric,rocm_utilization_percentage,rocm_utilization_percentage,'));
  assert.ok(lines[1]!.startsWith(`instance,${'node01,'.repeat(CARDS)}node02,`));
  assert.ok(lines[2]!.startsWith('card,0,1,2,3,4,5,6,7,8,9,10,11,0,1,'));
  assert.equal(lines[3], `timestamp${','.repeat(columns)}`);
  assert.ok(lines[4]!.startsWith('2025-01-01 10:00:00,7.0,10.0,13.0,'));
  assert.equal(lines.length, 4 + SECONDS + 1);
  for (const line of lines.slice(0, -1)) assert.equal(line.split(',').length, columns + 1);
});

test('long, wide and NDJSON open in pandas as the manual says', { skip }, async () => {
  const tables = ['gpu', 'load'];
  const wide = { layout: 'wide', tables, columns: ['utilization_percent', 'power_watts', 'load1'] } as const;
  const folder = await exported(await record(), { tables: ['gpu'] }, wide, { format: 'ndjson', tables: ['gpu'] });
  // the two nodes are called by their whole names here
  for (const name of ['gpu.csv', 'gpu-wide.csv', 'gpu.ndjson', 'load-wide.csv']) {
    const file = path.join(folder, name);
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replaceAll('.cluster.example', ''));
  }
  const given = pandas('tables.py', folder);
  assert.equal(given.rows, 2 * CARDS * SECONDS - 2);
  assert.equal(given.zone, 'UTC');
  assert.equal(given.missing, 2 * CARDS);
  assert.equal(given.json_missing, 2 * CARDS);
  assert.equal(given.json_equal, true);
  assert.deepEqual(given.wide_levels, ['metric', 'node', 'gpu']);
  assert.equal(given.wide_zone, 'UTC');
  const expected = (n: number, card: number): number =>
    mean(
      range(SECONDS)
        .filter((s) => !lost(n, card, s))
        .map((s) => utilization(n, card, s)),
    );
  for (const means of [given.means, given.wide_means] as Record<string, number>[]) {
    assert.equal(Object.keys(means).length, 2 * CARDS);
    for (const [n, node] of NODES.entries()) {
      for (const card of range(CARDS)) assert.ok(Math.abs(means[`${node}/${card}`]! - expected(n, card)) < 1e-9);
    }
  }
  assert.deepEqual(
    given.load,
    range(SECONDS).map((s) => s / 4),
  );
});

test('the demo goes through the same lines', { skip }, async () => {
  const recording = await writeDemo({ folder: path.join(temporary(), 'demo'), nodes: 3, gpus: 4, seconds: 120 });
  const given = pandas('omnistat.py', await exported(recording, { layout: 'omnistat' }));
  assert.deepEqual(given.cards, ['0', '1', '2', '3']);
  assert.deepEqual(Object.keys(given.node_means as object), ['node01', 'node02', 'node03']);
});
