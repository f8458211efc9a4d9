import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { gather } from '../../src/judge/facts/gather.ts';
import { report } from '../../src/judge/report.ts';
import type { Report } from '../../src/judge/report-schema.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { tacho, temporaryFolder } from '../tacho.ts';
import { omnistatLines, T0 } from './omnistat-series.ts';
import { startVictoria, type Victoria, whyNoVictoria } from './server.ts';

const skip = whyNoVictoria();
let victoria: Victoria;

before(async () => {
  if (skip) return;
  victoria = await startVictoria();
  await victoria.load(omnistatLines());
});

after(() => victoria?.remove());

const cardOf = (folder: string): Report => report(gather(openRecording(folder)));

function expectFirst(card: Report): void {
  assert.equal(card.job.id, '74129');
  assert.equal(card.job.user, 'ada');
  assert.equal(card.job.partition, 'batch');
  assert.deepEqual(card.job.nodes, ['frontier01', 'frontier02']);
  assert.equal(card.job.interval_seconds, 1);
  assert.equal(card.job.start, T0 * 1000);
  assert.equal(card.job.steps, 2);
  assert.equal(card.gpus.length, 4);
  const first = card.gpus.find((gpu) => gpu.node === 'frontier01' && gpu.gpu === '0')!;
  assert.equal(first.utilization_mean, 0.8);
  assert.equal(first.memory_max_bytes, 16 * 2 ** 30);
  assert.equal(first.power_mean_watts, 500);
  assert.equal(first.energy_joules, 119 * 500);
  assert.equal(first.energy_source, 'counter');
  assert.equal(first.model, 'MI250X');
  assert.equal(first.temperature_max_celsius, 50);
  // three busy cards and one that is not
  assert.equal(card.summary.energy_joules, 3 * 119 * 500 + 119 * 100);
  assert.ok(Math.abs(card.summary.gpu_utilization! - 0.6) < 1e-9);
  assert.equal(card.gpus.find((gpu) => gpu.node === 'frontier02' && gpu.gpu === '1')!.utilization_max, 0);
  const [node] = card.nodes;
  assert.equal(node!.node_cpus, 64);
  assert.ok(Math.abs(node!.node_cpu_utilization! - 0.25) < 1e-3, `${node!.node_cpu_utilization}`);
  assert.equal(node!.load_mean, 17);
  const network = card.flows.find(({ what }) => what === 'network')!;
  assert.equal(network.in_bytes, 2 * 119 * 1e6);
  assert.equal(network.out_bytes, 2 * 119 * 2e6);
  const [phase] = card.phases;
  assert.equal(phase!.name, 'warm up');
  assert.equal(phase!.start, (T0 + 20_000) * 1000);
  assert.ok(Math.abs(phase!.seconds - 30) < 0.01);
  assert.deepEqual(
    card.figures.map(({ name, value }) => [name, Number(value)]),
    [
      ['GFLOPS', 11],
      ['GFLOPS', 12],
    ],
  );
}

test('every job of Omnistat becomes a recording with its own samples', { skip }, (t) => {
  const folder = temporaryFolder(t);
  const done = tacho(['import', 'omnistat', victoria.url, '-o', folder]);
  assert.equal(done.code, 0, done.err);
  assert.match(done.out, /tacho-74129: .* rows, frontier\[01-02\]\n/);
  assert.match(done.out, /tacho-74130: .* rows, frontier01\n/);
  expectFirst(cardOf(path.join(folder, 'tacho-74129')));
  const second = cardOf(path.join(folder, 'tacho-74130'));
  assert.equal(second.job.user, 'bob');
  assert.deepEqual(second.job.nodes, ['frontier01']);
  assert.equal(second.gpus[0]!.samples, 60);
  assert.equal(second.summary.energy_joules, 2 * 59 * 500);
  // what Tacho has no column for is still there, under its own name
  const tables = tacho(['list', path.join(folder, 'tacho-74129'), '--tables', '--format', 'json']);
  const names = JSON.parse(tables.out).map(({ name }: { name: string }) => name);
  assert.ok(names.includes('omnistat_hardware'), names.join(' '));
});

test('errors of all blocks of a card are added up', { skip }, (t) => {
  const folder = temporaryFolder(t);
  assert.equal(tacho(['import', 'omnistat', victoria.url, '--job', '74129', '-o', folder]).code, 0);
  const made = tacho(['export', path.join(folder, 'tacho-74129'), '--table', 'gpu', '-c', 'ecc_corrected', '--epoch']);
  const rows = made.out.trim().split('\n').slice(1);
  assert.equal(rows.length, 4 * 120);
  assert.equal(rows[0]!.split(',').at(-1), '1');
  assert.equal(rows[119]!.split(',').at(-1), '3');
});

test('the data folder of user mode is read without being touched', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  await victoria.stop();
  try {
    const before = listing(victoria.data);
    const done = tacho(['import', 'omnistat', victoria.data, '--job', '74129', '-o', folder]);
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(listing(victoria.data), before);
    expectFirst(cardOf(path.join(folder, 'tacho-74129')));
    assert.deepEqual(fs.readdirSync(folder), ['tacho-74129']);
  } finally {
    await victoria.start();
  }
});

/** Every file with its size and when it was changed. */
function listing(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { size, mtimeMs } = fs.statSync(path.join(folder, name));
      return `${name} ${size} ${mtimeMs}`;
    });
}

test('files that Omnistat exports can be imported, too', (t) => {
  const folder = temporaryFolder(t);
  const text = [
    'metric,rocm_utilization_percentage,rocm_utilization_percentage,rocm_average_socket_power_watts',
    'instance,n1,n2,n1',
    'card,0,0,0',
    'timestamp,,,',
    '2026-03-02 08:00:00,100.0,50.0,400.0',
    '2026-03-02 08:00:01,0.0,,600.0',
    '2026-03-02 08:00:02,50.0,70.0,500.0',
  ].join('\n');
  fs.writeFileSync(path.join(folder, 'omnistat-rocm.csv'), `${text}\n`);
  const done = tacho(['import', 'omnistat', folder, '--job', '17', '-o', folder]);
  assert.equal(done.code, 0, done.err);
  const card = cardOf(path.join(folder, 'tacho-17'));
  const first = card.gpus.find(({ node }) => node === 'n1')!;
  assert.equal(first.utilization_mean, 0.5);
  assert.equal(first.energy_joules, 1050);
  assert.equal(first.energy_source, 'integrated power');
  const second = card.gpus.find(({ node }) => node === 'n2')!;
  assert.equal(second.utilization_mean, 0.6);
  fs.writeFileSync(path.join(folder, 'omnistat-rocm.csv'), `${text}\n2026-03-02 08:00:03,1.0\n`);
  const cut = tacho(['import', 'omnistat', folder, '--job', '18', '-o', folder]);
  assert.equal(cut.code, 1);
  assert.match(cut.err, /line 8: it has 2 cells, not 4/);
  assert.ok(!fs.existsSync(path.join(folder, 'tacho-18')));
});

test('what is not there is said', { skip }, (t) => {
  const folder = temporaryFolder(t);
  const wrong = tacho(['import', 'omnistat', victoria.url, '--job', '74192', '-o', folder]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /no job 74192 in http.*\n.*did you mean 74129\?/);
  const away = tacho(['import', 'omnistat', 'http://127.0.0.1:1', '-o', folder]);
  assert.equal(away.code, 1);
  assert.match(away.err, /cannot reach the store http:\/\/127.0.0.1:1: /);
  fs.writeFileSync(path.join(folder, 'a.csv'), 'time,value\n1,2\n');
  const strange = tacho(['import', 'omnistat', path.join(folder, 'a.csv'), '-o', folder]);
  assert.equal(strange.code, 1);
  assert.match(strange.err, /is not a file that Omnistat exports/);
  const nothing = tacho(['import', 'omnistat', path.join(folder, 'nowhere'), '-o', folder]);
  assert.equal(nothing.code, 2);
  assert.match(nothing.err, /there is no .*nowhere/);
});

test('a database without anything of Omnistat is named for what it holds', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const other = await startVictoria();
  t.after(() => other.remove());
  await other.load(`node_load1{instance="c1:9100"} 1 ${T0}\n`);
  const done = tacho(['import', 'omnistat', other.url, '-o', folder]);
  assert.equal(done.code, 1);
  assert.match(done.err, /no metrics of Omnistat in http.*\n.*node_load1 .*tacho import victoria/);
});
