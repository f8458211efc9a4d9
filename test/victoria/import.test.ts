import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { writeDemo } from '../../src/demo/demo.ts';
import { importVictoria } from '../../src/import/victoria/import.ts';
import { openStore } from '../../src/query/store/client.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { readTable } from '../../src/recording/read/read.ts';
import { temporary } from '../make-recording.ts';
import { tacho, temporaryFolder } from '../tacho.ts';
import { pushRecordings } from './push.ts';
import { startVictoria, type Victoria, whyNoVictoria } from './server.ts';

const skip = whyNoVictoria();
let victoria: Victoria;
let original: string;

before(async () => {
  if (skip) return;
  const workFolder = temporary();
  original = await writeDemo({
    folder: path.join(workFolder, 'demo'),
    nodes: 2,
    gpus: 1,
    seconds: 120,
    live: true,
    records: false,
  });
  victoria = await startVictoria();
  await pushRecordings(victoria.url, workFolder);
});

after(() => victoria?.remove());

/**
 * Every number of every table, with times in milliseconds. A store has no series of a column without any value, as
 * pss_bytes is in a job with a cgroup of its own.
 */
function numbers(folder: string): Map<string, number[]> {
  const valuesBySeries = new Map<string, number[]>();
  for (const node of openRecording(folder).nodes) {
    for (const name of node.tables.keys()) {
      const batch = readTable(node, name);
      valuesBySeries.set(
        `${node.name} ${name} time`,
        [...batch.time].map((time) => Math.floor(time / 1000)),
      );
      for (const [column, values] of batch.numbers)
        if (!values.every(Number.isNaN)) valuesBySeries.set(`${node.name} ${name} ${column}`, [...values]);
    }
  }
  return valuesBySeries;
}

test('a job that was pushed comes back with every value', { skip }, (t) => {
  const folder = temporaryFolder(t);
  const done = tacho(['import', 'victoria', victoria.url, '-o', folder, '--format', 'json']);
  assert.equal(done.code, 0, done.err);
  const { imported } = JSON.parse(done.out);
  assert.equal(imported.length, 1);
  assert.equal(imported[0].job, '48213');
  const valuesBySeries = numbers(imported[0].recording);
  const wanted = numbers(original);
  assert.deepEqual([...valuesBySeries.keys()].sort(), [...wanted.keys()].sort());
  for (const [name, values] of wanted) {
    const own = valuesBySeries.get(name)!;
    assert.equal(own.length, values.length, name);
    // decimals went through a unit and back
    values.forEach((value, i) => {
      assert.ok(
        Object.is(own[i], value) || Math.abs(own[i]! - value) <= 1e-9 * Math.abs(value),
        `${name} ${i}: ${own[i]}`,
      );
    });
  }
  assert.deepEqual(openRecording(imported[0].recording).job, openRecording(original).job);
  const again = tacho(['import', 'victoria', victoria.url, '-o', folder]);
  assert.equal(again.code, 1);
  assert.match(again.err, /tacho-48213 is there already/);
});

test('a data folder is read over a copy, and a running one is refused', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const running = tacho(['import', 'victoria', victoria.data, '-o', folder]);
  assert.equal(running.code, 1);
  assert.match(running.err, /a VictoriaMetrics is running on .*\n.*give its address instead/);
  await victoria.stop();
  try {
    const done = tacho(['import', 'victoria', victoria.data, '--job', '48213', '-o', folder]);
    assert.equal(done.code, 0, done.err);
    assert.deepEqual(fs.readdirSync(folder), ['tacho-48213']);
    assert.equal(numbers(path.join(folder, 'tacho-48213')).size, numbers(original).size);
    const node = path.join(import.meta.dirname, '../../node_modules/.bin');
    const without = tacho(['import', 'victoria', victoria.data, '-o', folder], { env: { PATH: `${node}:/bin` } });
    if (!fs.existsSync('/bin/victoria-metrics')) assert.match(without.err, /package is called victoria-metrics/);
  } finally {
    await victoria.start();
  }
});

test('series of any program become one recording', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const lines: string[] = [];
  const start = Date.UTC(2026, 4, 1);
  for (let s = 0; s < 60; s += 15) {
    for (const node of ['c1', 'c2']) {
      lines.push(`node_load1{instance="${node}:9100",job="node"} ${s / 10} ${start + s * 1000}`);
      lines.push(
        `node_disk_read_bytes_total{instance="${node}:9100",device="sda",job="node"} ${s * 100} ${start + s * 1000}`,
      );
    }
  }
  await victoria.load(`${lines.join('\n')}\n`);
  const done = tacho([
    'import',
    'victoria',
    victoria.url,
    '--match',
    '{__name__=~"node_load.+|node_disk.+"}',
    '-o',
    folder,
  ]);
  assert.equal(done.code, 0, done.err);
  const recording = openRecording(path.join(folder, 'tacho-victoria-20260501-000000'));
  assert.deepEqual(recording.job.nodes, ['c1', 'c2']);
  assert.equal(recording.job.interval_seconds, 15);
  assert.equal(recording.job.start, start * 1000);
  assert.equal(recording.job.end, (start + 45_000) * 1000);
  const disk = readTable(recording.nodes[1]!, 'node_disk_read');
  assert.deepEqual([...disk.numbers.get('bytes_total')!], [0, 1500, 3000, 4500]);
  assert.equal(disk.table.columns[0]!.kind, 'counter');
  const card = tacho(['report', recording.path]);
  assert.equal(card.code, 0, card.err);
  const nothing = tacho(['import', 'victoria', victoria.url, '--match', 'nowhere', '-o', folder]);
  assert.equal(nothing.code, 1);
  assert.match(nothing.err, /holds nothing that matches nowhere/);
});

test('an answer that is cut off is never taken for a whole one', async (t) => {
  const folder = temporaryFolder(t);
  const line = '{"metric":{"__name__":"up","instance":"c1"},"values":[1],"timestamps":[1772438400000]}';
  const server = http.createServer((request, response) => {
    if (request.url!.endsWith('/export')) response.end(`${line}\n${line.slice(0, 40)}`);
    else if (request.url!.endsWith('/series'))
      response.end('{"status":"success","data":[{"__name__":"up","instance":"c1"}]}');
    else response.end('{"status":"success","data":{"resultType":"vector","result":[]}}');
  });
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await assert.rejects(importVictoria(url, { folder, match: 'up' }), /ends in the middle of a line/);
  assert.deepEqual(fs.readdirSync(folder), []);
  const samples = openStore(url).samples('up');
  assert.equal((await samples.next()).value!.labels.__name__, 'up');
  await assert.rejects(samples.next(), /ends in the middle of a line/);
});

test('wrong use is said', (t) => {
  const folder = temporaryFolder(t);
  const cases: [string[], number, RegExp][] = [
    [['nowhere'], 2, /there is no nowhere/],
    [[folder], 1, /is not a data folder of VictoriaMetrics/],
    [['http://127.0.0.1:1'], 1, /cannot reach the store/],
    [['http://127.0.0.1:1', '--job', '1', '--match', 'up'], 2, /either --job or --match/],
  ];
  for (const [args, code, pattern] of cases) {
    const done = tacho(['import', 'victoria', ...args, '-o', folder]);
    assert.equal(done.code, code, args.join(' '));
    assert.match(done.err, pattern);
  }
  assert.deepEqual(fs.readdirSync(folder), []);
});
