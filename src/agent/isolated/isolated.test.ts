import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fakeGpu, hasCompiler } from '../../../test/fake-gpu/build.ts';
import { rowsOf } from '../../../test/fake-gpu/table-of.ts';
import { eventually } from '../../../test/made/eventually.ts';
import { untilRead } from '../../../test/made/until-read.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import type { Note } from '../../sources/host.ts';
import type { Scope } from '../../sources/scope.ts';
import { type IsolatedOptions, IsolatedSources } from './isolated.ts';

const scope: Scope = { members: { by: 'node' }, exclude: [], redact: false };

interface Seen {
  table: string;
  time: number;
  rows: Record<string, number | string>[];
}

/** Isolated sources that are asked every 30 ms until what is waited for has happened. */
function start(t: TestContext, kinds: string[], more: Partial<IsolatedOptions> = {}) {
  const frames: Seen[] = [];
  const notes: Note[] = [];
  const facts: NodeFacts['gpus'][] = [];
  const isolated = new IsolatedSources(kinds, {
    root: '/nonexistent',
    scope,
    deliver: (frame) => frames.push({ table: frame.table.name, time: frame.time, rows: rowsOf(frame) }),
    note: (note) => notes.push(note),
    facts: (gpus) => facts.push(gpus),
    // a machine with much to do is no card that hangs
    limitSeconds: 60,
    ...more,
  });
  t.after(() => isolated.close());
  const until = untilRead(isolated, notes);
  /** Cards in the newest samples. */
  const cards = (): string[] =>
    frames
      .filter((f) => f.table === 'gpu')
      .at(-1)
      ?.rows.map((row) => String(row.gpu)) ?? [];
  return { isolated, frames, notes, facts, until, cards };
}

describe('isolated GPU sources', { skip: hasCompiler() ? false : 'no C compiler' }, () => {
  test('samples, tables and facts come from the process that reads', async (t) => {
    fakeGpu(t, 'nvml', 'cards 2\n');
    const { isolated, frames, facts, notes, until } = start(t, ['gpu', 'gpu_process', 'loadavg']);
    assert.deepEqual(
      (await isolated.tables()).map((table) => table.name),
      ['gpu', 'gpu_process'],
    );
    assert.deepEqual(
      facts[0]!.map((gpu) => gpu.uuid),
      ['GPU-fake-0', 'GPU-fake-1'],
    );
    const time = Date.now() * 1000;
    assert.equal(isolated.request(time), true);
    assert.equal(isolated.request(time + 1), false, 'the first request is still being answered');
    assert.equal(isolated.skipped, 1);
    await until('two samples', () => frames.filter((f) => f.table === 'gpu').length >= 2);
    assert.equal(frames[0]!.time, time);
    assert.deepEqual(
      frames[0]!.rows.map((row) => [row.gpu, row.power_watts, row.temperature_hotspot_celsius]),
      [
        ['0', 100.502, Number.NaN],
        ['1', 101.502, Number.NaN],
      ],
    );
    assert.deepEqual(
      frames[1]!.rows.map((row) => row.pid),
      ['1000', '2000', '1001'],
    );
    assert.deepEqual(notes, []);
    assert.ok(isolated.cost.rss_bytes > 0);
  });

  test('a request that comes before the sources are open is answered when they are', async (t) => {
    fakeGpu(t, 'nvml', 'cards 1\n');
    const { isolated, frames } = start(t, ['gpu']);
    assert.equal(isolated.request(Date.now() * 1000), true);
    await eventually('the first frame', () => frames.length > 0);
    assert.equal(frames[0]!.rows[0]!.uuid, 'GPU-fake-0');
  });

  test('a card that hangs is left out by a second process, and read again when it answers', async (t) => {
    fakeGpu(t, 'nvml', 'cards 3\nhang 1 3 12\n');
    const { frames, notes, until, cards } = start(t, ['gpu'], { limitSeconds: 3 });
    await until('all cards', () => cards().length === 3);
    await until('the others alone', () => cards().join() === '0,2');
    const without = frames.length;
    assert.match(notes[0]!.why, /^does not answer since .*Z; the others are read without it$/);
    assert.equal(notes[0]!.what, 'GPU 1');
    await until('all cards again', () => cards().length === 3);
    assert.ok(frames.length > without, 'the others were read meanwhile');
    assert.match(notes.at(-1)!.why, /^did not answer from .*Z to .*Z$/);
    const times = frames.map((f) => f.time);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
      'what the hung process had read is not told late',
    );
  });

  test('a library that hangs while it starts keeps nobody else waiting', async (t) => {
    fakeGpu(t, 'nvml', 'init hang 3600\n');
    fakeGpu(t, 'amdsmi', 'cards 2\n');
    const { until, frames, notes } = start(t, ['gpu'], { openLimitSeconds: 5 });
    await until('the other vendor', () => frames.length > 0);
    assert.deepEqual(
      frames[0]!.rows.map((row) => row.vendor),
      ['AMD', 'AMD'],
    );
    assert.equal(notes[0]!.what, 'the start of NVML');
  });

  test('a card that falls off the bus ends; the others go on', async (t) => {
    fakeGpu(t, 'nvml', 'cards 2\nlost 0 4\n');
    const { until, cards, notes } = start(t, ['gpu']);
    await until('both', () => cards().length === 2);
    await until('one', () => cards().join() === '1');
    assert.match(notes[0]!.why, /^lost at .*: GPU is lost$/);
  });

  test('Ctrl-C and the signals of a scheduler are for the agent: the reader goes on', async (t) => {
    fakeGpu(t, 'nvml', 'cards 1\n');
    const { until, frames, notes, isolated } = start(t, ['gpu']);
    await until('a sample', () => frames.length > 0);
    const [reader] = fs.readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1').trim().split(' ').map(Number);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.kill(reader!, signal);
    const before = frames.length;
    await until('more samples', () => frames.length >= before + 3);
    assert.deepEqual(notes, []);
    await isolated.close();
  });

  test('a library that crashes takes only the reader with it; the card at fault is left out', async (t) => {
    fakeGpu(t, 'nvml', 'cards 2\ncrash 0 3\n');
    const { until, cards, notes } = start(t, ['gpu']);
    await until('the other card', () => cards().join() === '1');
    assert.ok(notes.some((n) => n.what === 'GPU 0' && /ended the reader \(SIGSEGV\)/.test(n.why)));
  });

  test('the agent can end while a read hangs, and nothing is left behind', (t) => {
    fakeGpu(t, 'nvml', 'cards 1\nhang 0 2 3600\n');
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-isolated-'));
    t.after(() => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 20 }));
    const program = path.join(folder, 'agent.ts');
    fs.writeFileSync(
      program,
      `import { IsolatedSources } from '${path.join(import.meta.dirname, 'isolated.ts')}';
       const isolated = new IsolatedSources(['gpu'], { root: '/nonexistent', scope: ${JSON.stringify(scope)}, deliver() {}, note() {} });
       await isolated.tables();
       isolated.request(Date.now() * 1000);
       await new Promise((resolve) => setTimeout(resolve, 100));
       const { execFileSync } = await import('node:child_process');
       process.stdout.write(execFileSync('pgrep', ['-P', String(process.pid)], { encoding: 'latin1' }));
       if (process.argv[2] === 'close') await isolated.close();
       if (process.argv[2] === 'exit') process.exit(3);`,
    );
    for (const how of ['close', 'exit', 'return']) {
      let output = '';
      try {
        // a program that cannot end would run into the limit
        output = execFileSync(process.execPath, [program, how], { encoding: 'latin1', timeout: 120_000 });
      } catch (error) {
        const { status, stdout } = error as { status: number | null; stdout: string };
        assert.equal(status, how === 'exit' ? 3 : 0, how);
        output = stdout;
      }
      const reader = Number(output.split('\n')[0]);
      assert.ok(reader > 0);
      assert.equal(isAlive(reader), false, `${how}: the reader is gone`);
    }
  });
});

function isAlive(pid: number): boolean {
  // the kernel needs a moment to take a killed process away
  for (let i = 0; i < 6000; i++) {
    const state = /^State:\s+(\S)/m.exec(statusOf(pid))?.[1];
    if (state === undefined || state === 'Z' || state === 'X') return false;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
  return true;
}

function statusOf(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    return '';
  }
}

test('nothing is started where there is nothing to read', async (t) => {
  const { isolated } = start(t, ['gpu', 'gpu_process']);
  assert.deepEqual(await isolated.tables(), []);
  assert.equal(isolated.request(1), true);
  assert.equal(isolated.cost.rss_bytes, 0);
});
