import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { gpu } from '../src/sources/gpu/gpu.ts';
import { gpuProcess } from '../src/sources/gpu/process.ts';
import type { Host } from '../src/sources/host.ts';
import { sources } from '../src/sources/index.ts';
import type { Scope } from '../src/sources/scope.ts';
import { type SourceKind, Unavailable } from '../src/sources/source.ts';
import { Frame } from '../src/table/frame.ts';
import { header } from '../src/table/table.ts';
import { fixture, frozen } from './frozen.ts';
import { type FrozenProcess, nodeFiles, processFiles } from './frozen-process.ts';

// Everything a frozen machine gives, as text. After a wanted change: UPDATE_GOLDEN=1 node --test test/golden-host.test.ts
const FIXTURES = join(import.meta.dirname, 'fixtures');
const TABLES = 'loadavg meminfo vmstat cpu interrupts disk network nfs lustre pressure power'.split(' ');
const TIME = 1762381164000000;

const field = (word: string): string => (/[",\n]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word);

function rows(frame: Frame): string[] {
  const lines: string[] = [];
  for (let r = 0; r < frame.rows; r++) {
    const cells = [String(frame.time)];
    for (let k = 0; k < frame.table.keys.length; k++) cells.push(field(frame.texts[r * frame.textWidth + k]!));
    for (const [c, at] of frame.indexes.entries()) {
      const { type, decimals } = frame.table.columns[c]!;
      const value = frame.numbers[r * frame.numberWidth + at]!;
      if (at < 0) cells.push(field(frame.texts[r * frame.textWidth - 1 - at]!));
      else if (Number.isNaN(value)) cells.push('');
      else cells.push(type === 'int' ? String(value) : value.toFixed(decimals ?? 3));
    }
    lines.push(cells.join(','));
  }
  return lines;
}

const NODE: Scope = { members: { by: 'node' }, exclude: [], redact: false };
const inCgroup = (path: string): Scope => ({
  ...NODE,
  members: { by: 'cgroup', path },
  cgroup: { path, shared: false },
});

function tableText(kind: SourceKind, host: Host, scope: Scope): string[] {
  try {
    const source = kind.open(host, scope);
    const frame = new Frame(source.table);
    frame.clear(TIME);
    source.read(frame);
    source.close();
    return [`# ${kind.table.name}`, header(source.table).join(','), ...rows(frame), ''];
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return [`# ${kind.table.name}: ${error.why}: ${error.message}`, ''];
  }
}

function everything(host: Host, tables: readonly string[], scope = NODE): string {
  const kinds = tables.map((name) => sources.find((kind) => kind.table.name === name)!);
  const text = kinds.flatMap((kind) => tableText(kind, host, scope));
  return [...text, ...host.notes.map((note) => `# note: ${note.table} ${note.what}: ${note.why}`)].join('\n');
}

function assertGolden(name: string, now: string): void {
  const golden = join(FIXTURES, `${name}.golden.csv`);
  if (process.env.UPDATE_GOLDEN !== undefined) writeFileSync(golden, now);
  // line by line, so that a difference is readable
  assert.deepEqual(now.split('\n'), readFileSync(golden, 'utf8').split('\n'));
}

for (const name of ['host-small', 'host-gpu-node', 'host-cray']) {
  test(`all host tables of ${name} are what they were`, () => {
    assertGolden(name, everything(fixture(name), TABLES));
  });
}

test('cgroups of a job, in both versions', () => {
  assertGolden('cgroup-v1', everything(fixture('cgroup-v1'), ['cgroup'], inCgroup('/slurm_c1/uid_1000/job_17')));
  const job = '/system.slice/slurmstepd.scope/job_17';
  assertGolden('cgroup-v2', everything(fixture('cgroup-v2'), ['cgroup'], inCgroup(job)));
});

test('AMD cards from the files of amdgpu, and who uses them', async () => {
  await gpu.load();
  await gpuProcess.load();
  assertGolden('gpu-amd', everything(fixture('gpu-amd'), ['gpu', 'gpu_process']));
});

test('processes, and the memory that they share', (t) => {
  const list: FrozenProcess[] = [
    {
      pid: 100,
      start: 12345,
      name: 'python3',
      command: ['python3', 'a "b",c'],
      state: 'R',
      user: 250,
      rssPages: 100_000,
      pss: 250_000,
    },
    { pid: 101, parent: 100, threads: 8, schedule: [2_800_000_000, 1_500_999_999, 40], io: [1000, 2000, 4096, 8192] },
    { pid: 102, parent: 100, state: 'Z' },
  ];
  const { host } = frozen(t, Object.assign(nodeFiles(999), ...list.map(processFiles)));
  const memory = { pss_bytes: Number.NaN, shared_bytes: Number.NaN };
  assertGolden('processes', everything(host, ['process', 'process_memory'], { ...NODE, memory }));
});
