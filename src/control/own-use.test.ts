import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { noteOwnUse, ownUse, takeOwnUse } from './own-use.ts';

test('what a command of Tacho’s noted has its node, what it used, and when', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  fs.writeFileSync(path.join(folder, 'job.json'), '{}');
  noteOwnUse(folder, { SLURMD_NODENAME: 'c2' });
  const own = takeOwnUse(folder, ['c1', 'c2'])!.c2!;
  const [begin, end, seconds] = own.spans![0]!;
  assert.deepEqual([own.commands, own.spans!.length, seconds === own.cpu_seconds], [1, 1, true]);
  assert.ok(begin < end && begin > 0 && end <= Date.now() * 1000);
  assert.equal(takeOwnUse(folder, ['c1', 'c2']), undefined);
});

test('a node is found by its name with its domain, where only one is meant', () => {
  const nodes = (...names: string[]): string[] => Object.keys(ownUse('c1\t0.25\t1000\n', names) ?? {});
  assert.deepEqual(
    [nodes('c1', 'c1.x'), nodes('c1.x', 'c2.x'), nodes('c1.x', 'c1.y'), nodes('c2', 'c3'), nodes('login')],
    [['c1'], ['c1.x'], [], [], ['login']],
  );
});

test('of very many commands some that follow each other are told together; all of their use is', () => {
  const line = (i: number): string => `c1\t0.25\t1000\t${i * 100}\t${i * 100 + 50}\n`;
  const notes = Array.from({ length: 1001 }, (_, i) => line(i)).join('');
  const { spans = [], ...own } = ownUse(notes, ['c1'])!.c1!;
  assert.deepEqual(own, { commands: 1001, cpu_seconds: 250.25, max_rss_bytes: 1000 });
  assert.deepEqual([spans.length, spans[0], spans.at(-1)], [251, [0, 350, 1], [100_000, 100_050, 0.25]]);
  assert.equal(
    spans.reduce((sum, [, , seconds]) => sum + seconds, 0),
    250.25,
  );
});

test('notes without times, or with impossible ones, count without them', () => {
  const notes = 'c1\t0.5\t1000\nc1\t0.25\t1000\t9\t3\nc1\t0.25\t1000\t-Infinity\t-Infinity\n';
  assert.deepEqual(ownUse(notes, ['c1']), { c1: { commands: 3, cpu_seconds: 1, max_rss_bytes: 1000 } });
});
