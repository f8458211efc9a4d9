import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { operationsOf } from '../query/processes/operations.ts';
import { readProcesses } from '../query/processes/processes.ts';
import { readAllThreads } from '../query/processes/threads.ts';
import { ranksOf } from '../query/ranks/ranks.ts';
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
  const demoFolder = folder(t);
  const stop = new AbortController();
  const progress = (): void => stop.abort(new Error('enough'));
  await assert.rejects(
    writeDemo({ folder: demoFolder, nodes: 2, gpus: 1, seconds: 1000, progress, signal: stop.signal }),
    /enough/,
  );
  assert.ok(!fs.existsSync(demoFolder));
});

test('noise is even between 0 and 1, and normal around 0', () => {
  const stream = noise(1, 'test');
  const even = Float64Array.from({ length: 20_000 }, () => stream.uniform());
  const normal = Float64Array.from({ length: 20_000 }, () => stream.normal());
  assert.ok(Math.abs(mean(even) - 0.5) < 0.01);
  assert.ok(Math.abs(mean(normal)) < 0.03);
  assert.ok(Math.abs(mean(normal.map((x) => x * x)) - 1) < 0.05);
});

test('processes record themselves: ranks with their threads, operations, and all within the job', async (t) => {
  const recording = openRecording(
    await writeDemo({ folder: folder(t), nodes: 2, gpus: 2, seconds: 600, interval: 10 }),
  );
  const { start, end } = recording.job;
  const set = readProcesses([recording]);
  // three of four cards are in use: a trainer and a loader each, 24 short ones at checkpoints; 12 and 16 others on a node
  assert.equal(set.length, 2 * (1 + 12 + 16) + 3 * (2 + 24));
  assert.ok(set.start.every((time) => time >= start) && set.end.every((time) => time <= end!));
  const [world, ...others] = ranksOf(set, recording.job.steps);
  assert.deepEqual([world!.size, world!.launcher, others], [3, 'srun', []]);
  assert.deepEqual(
    world!.ranks.map(({ rank, node, allowed_cpus }) => [rank, node, allowed_cpus]),
    [
      [0, 'node01', '0-31'],
      [1, 'node01', '32-63'],
      // its first card is idle
      [2, 'node02', '32-63'],
    ],
  );
  assert.deepEqual(
    operationsOf(set)
      .map(({ name }) => name)
      .sort(),
    // the batch script has no tags
    ['', 'op:checkpoint', 'op:evaluate', 'op:input', 'op:stage', 'op:train'],
  );
  const threads = readAllThreads(recording, set);
  const trainer = set.threads.indexOf(61);
  const own = [...threads.process.keys()].filter((i) => threads.process[i] === trainer);
  assert.equal(own.length, 61);
  const cpu = own.reduce((sum, i) => sum + threads.cpu_time[i]!, 0);
  assert.ok(Math.abs(cpu - set.cpu_time[trainer]!) < 61, `${cpu} µs in threads, ${set.cpu_time[trainer]} in all`);
  // a thread has one CPU
  for (const [i, of] of threads.process.entries()) {
    const [used, lifetime] = [threads.cpu_time[i]!, set.end[of]! - set.start[of]!];
    assert.ok(used <= lifetime, `a thread of ${set.exename[of]} used ${used / lifetime} CPUs`);
  }
});

test('the slower run is the same job a day later: loading and checkpoints take four times as long', async (t) => {
  const size = { nodes: 1, gpus: 1, seconds: 1200, interval: 10 };
  const [usual, slow] = [
    openRecording(await writeDemo({ folder: folder(t), ...size })),
    openRecording(await writeDemo({ folder: folder(t), ...size, slower: true })),
  ];
  assert.deepEqual([slow.job.name, slow.job.asked], [usual.job.name, usual.job.asked]);
  assert.notEqual(slow.job.id, usual.job.id);
  assert.equal(slow.job.start - usual.job.start, 86_400e6);
  const { stretches } = tell(1200, 1, 1, true);
  const longest = (phase: string) =>
    Math.max(...stretches.filter((s) => s.phase === phase).map((s) => s.end - s.start));
  assert.ok(Math.abs(longest('checkpoint') - (4 * 1200) / 12 / 24) < 1e-9);
  // 12 checkpoints and the load
  assert.equal((slow.job.end! - slow.job.start) / 1e6, 1390);
  const written = ({ nodes }: typeof usual) => readTable(nodes[0]!, 'cgroup').numbers.get('io_written_bytes')!.at(-1)!;
  assert.ok(Math.abs(written(slow) / written(usual) - 1) < 0.2);
});
