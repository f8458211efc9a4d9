import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { openRecording } from '../recording/folder/open.ts';
import type { Batch } from '../recording/read/batch.ts';
import { readTable } from '../recording/read/read.ts';
import { demoSize, valuesOf, writeDemo } from './demo.ts';
import { noise } from './noise.ts';
import { tell } from './story.ts';

/** Tables whose values count; processes, their GPUs and markers come on top. */
const COUNTED = ['gpu', 'cpu', 'loadavg', 'meminfo', 'network', 'disk', 'vmstat', 'power', 'cgroup'];

function folder(t: TestContext): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-demo-'));
  t.after(() => fs.rmSync(made, { recursive: true, force: true }));
  return path.join(made, 'demo');
}

const column = (batch: Batch, name: string, series: number): Float64Array =>
  batch.numbers.get(name)!.subarray(batch.series[series]!, batch.series[series + 1]!);
const mean = (values: Float64Array): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Every file with its contents, in the order of names. */
function fingerprint(recording: string): string {
  const hash = createHash('sha256');
  for (const name of fs.readdirSync(recording, { recursive: true, encoding: 'utf8' }).sort()) {
    const file = path.join(recording, name);
    if (fs.statSync(file).isFile()) hash.update(name).update(fs.readFileSync(file));
  }
  return hash.digest('hex');
}

test('15 values a GPU and 60 a node at every tick, none of them missing', async (t) => {
  const recording = await writeDemo({ folder: folder(t), nodes: 3, gpus: 4, seconds: 60 });
  const { nodes, job } = openRecording(recording);
  assert.deepEqual(
    nodes.map((n) => n.name),
    ['node01', 'node02', 'node03'],
  );
  assert.equal(job.asked.gpus, 12);
  for (const node of nodes) {
    let values = 0;
    for (const table of COUNTED) {
      for (const [name, numbers] of readTable(node, table).numbers) {
        assert.ok(!numbers.includes(Number.NaN), `${table}.${name} has a gap`);
        values += numbers.length;
      }
    }
    assert.equal(values, 60 * (4 * 15 + 60));
    assert.ok(node.agent!.tables.some((table) => table.name === 'process' && table.every === 10));
  }
  assert.equal(valuesOf(demoSize({})), 10_368_000);
});

test('the same bytes each time, another seed gives others, and sealing changes nothing', async (t) => {
  const small = { nodes: 2, gpus: 2, seconds: 60 };
  const first = await writeDemo({ folder: folder(t), ...small });
  const second = await writeDemo({ folder: folder(t), ...small });
  const other = await writeDemo({ folder: folder(t), ...small, seed: 2 });
  assert.equal(fingerprint(first), fingerprint(second));
  assert.notEqual(fingerprint(first), fingerprint(other));

  const live = await writeDemo({ folder: folder(t), ...small, live: true });
  const [sealedNode, liveNode] = [first, live].map((recording) => openRecording(recording).nodes[0]!);
  assert.ok(fs.existsSync(path.join(sealedNode!.folder, 'gpu.csv.zst')));
  assert.ok(fs.existsSync(path.join(liveNode!.folder, 'gpu.csv')));
  for (const table of [...COUNTED, 'process', 'gpu_process', 'marker']) {
    const [a, b] = [sealedNode!, liveNode!].map((node) => readTable(node, table));
    assert.deepEqual([...a!.numbers], [...b!.numbers], table);
    assert.deepEqual(a!.time, b!.time);
  }
});

test('there is a straggler, an idle GPU and a node that leaks memory', async (t) => {
  const recording = await writeDemo({ folder: folder(t), nodes: 4, gpus: 4, seconds: 7200, interval: 10 });
  const { nodes } = openRecording(recording);
  const { cast } = tell(7200, 4, 4);
  const gpus = nodes.map((node) => readTable(node, 'gpu'));
  gpus.forEach((batch, node) => {
    for (let gpu = 0; gpu < 4; gpu++) {
      const idle = node === cast.idle.node && gpu === cast.idle.gpu;
      const busy = mean(column(batch, 'utilization_percent', gpu));
      if (idle) assert.equal(busy, 0);
      else assert.ok(busy > 80 && busy < 97, `node ${node} GPU ${gpu} is ${busy} % busy`);
      const throttled = mean(column(batch, 'throttled_thermal', gpu));
      assert.ok(node === cast.straggler ? throttled > 0.2 : throttled === 0);
    }
  });
  const anon = nodes.map((node) => readTable(node, 'meminfo').numbers.get('AnonPages_bytes')!.at(-1)!);
  for (const [node, bytes] of anon.entries()) assert.ok(node === cast.leak ? bytes > 900e9 : bytes < 300e9);
  for (const node of nodes) {
    const memory = readTable(node, 'meminfo').numbers;
    for (const name of ['MemFree_bytes', 'Inactive_bytes', 'Cached_bytes']) {
      assert.ok(
        memory.get(name)!.every((bytes) => bytes > 0),
        `${name} of ${node.name} goes below 0`,
      );
    }
    const limit = node.agent!.facts.memory_limit_bytes!;
    assert.ok(
      readTable(node, 'cgroup')
        .numbers.get('memory_current_bytes')!
        .every((bytes) => bytes <= limit),
    );
  }
  // nobody works on the idle card
  const { texts } = readTable(nodes[cast.idle.node]!, 'gpu_process');
  assert.ok(!texts.get('gpu')!.values.includes(String(cast.idle.gpu)));
});

test('counters never go back, and CPU time adds up to all CPUs', async (t) => {
  const recording = await writeDemo({ folder: folder(t), nodes: 1, gpus: 1, seconds: 300 });
  const [node] = openRecording(recording).nodes;
  for (const { name, columns } of node!.agent!.tables) {
    const batch = readTable(node!, name);
    for (const { name: counter, kind } of columns) {
      if (kind !== 'counter') continue;
      for (let s = 0; s + 1 < batch.series.length; s++) {
        const values = column(batch, counter, s);
        assert.ok(
          values.every((value, i) => i === 0 || value >= values[i - 1]!),
          `${name}.${counter} goes back`,
        );
      }
    }
  }
  const cpu = readTable(node!, 'cpu').numbers;
  const grown = (name: string): number => cpu.get(name)!.at(-1)! - cpu.get(name)![0]!;
  assert.equal(grown('busy_ms') + grown('idle_ms') + grown('iowait_ms'), 299 * 128 * 1000);
});

test('the same job at every interval: who looks less often sees some of the same rows', async (t) => {
  const size = { nodes: 1, gpus: 2, seconds: 600 };
  const at = async (interval: number) =>
    openRecording(await writeDemo({ folder: folder(t), ...size, interval })).nodes[0]!;
  const often = await at(1);
  for (const interval of [10, 60]) {
    const seldom = await at(interval);
    for (const table of [...COUNTED, 'process', 'gpu_process']) {
      const [all, some] = [often, seldom].map((node) => readTable(node, table));
      // processes are looked at every ten seconds
      const stride = COUNTED.includes(table) ? interval : interval / 10;
      for (let s = 0; s + 1 < all!.series.length; s++)
        for (const name of all!.numbers.keys())
          assert.deepEqual(
            column(some!, name, s),
            column(all!, name, s).filter((_, i) => i % stride === 0),
            `${table}.${name} every ${interval} s`,
          );
    }
  }
});

test('phases follow each other without a gap, and every mark has its own moment', async (t) => {
  const { stretches } = tell(7200, 8, 8);
  assert.equal(stretches[0]!.start, 0);
  assert.equal(stretches.at(-1)!.end, 7200);
  for (const [i, stretch] of stretches.slice(1).entries()) assert.equal(stretch.start, stretches[i]!.end);
  assert.equal(stretches.filter(({ phase }) => phase === 'evaluate').length, 4);

  const recording = await writeDemo({ folder: folder(t), nodes: 1, gpus: 1, seconds: 60 });
  const { time, rows, texts } = readTable(openRecording(recording).nodes[0]!, 'marker');
  assert.equal(rows, stretches.length * 2 + 12);
  assert.equal(new Set(time).size, rows);
  assert.ok(texts.get('name')!.values.includes('tokens_per_second'));
});

test('a size that makes no sense is refused, and what exists is not touched', async (t) => {
  assert.throws(() => demoSize({ nodes: 0 }), /--nodes/);
  assert.throws(() => demoSize({ gpus: 1.5 }), /--gpus/);
  assert.throws(() => demoSize({ interval: 0 }), /--interval/);
  assert.throws(() => demoSize({ seconds: Number.NaN }), /--hours/);
  const recording = await writeDemo({ folder: folder(t), nodes: 1, gpus: 0, seconds: 10 });
  const before = fingerprint(recording);
  await assert.rejects(writeDemo({ folder: recording, nodes: 1, gpus: 0, seconds: 10 }), /exists already/);
  assert.equal(fingerprint(recording), before);
});

test('one that is stopped leaves nothing behind', async (t) => {
  const place = folder(t);
  const stop = new AbortController();
  const progress = (): void => stop.abort(new Error('enough'));
  await assert.rejects(
    writeDemo({ folder: place, nodes: 2, gpus: 1, seconds: 1000, progress, signal: stop.signal }),
    /enough/,
  );
  assert.ok(!fs.existsSync(place));
});

test('noise is even between 0 and 1, and normal around 0', () => {
  const stream = noise(1, 'test');
  const even = Float64Array.from({ length: 20_000 }, () => stream.uniform());
  const normal = Float64Array.from({ length: 20_000 }, () => stream.normal());
  assert.ok(Math.abs(mean(even) - 0.5) < 0.01);
  assert.ok(Math.abs(mean(normal)) < 0.03);
  assert.ok(Math.abs(mean(normal.map((x) => x * x)) - 1) < 0.05);
});
