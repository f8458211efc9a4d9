import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, type Told, testSet } from '../../../test/made/processes.ts';
import { ranksOf, type World } from './ranks.ts';
import { ioBytes, slowestOf, spreadOf } from './spread.ts';

const ompi = (pid: number, rank: number, more: Partial<Told> = {}): Told => ({
  pid,
  ppid: 10,
  from: 1,
  to: 9,
  cpu: 2,
  exename: 'app',
  rank: String(rank),
  ranks: 2,
  world: '17',
  exitcode: 0,
  ...more,
});

const shape = (worlds: readonly World[]) =>
  worlds.map(({ number, launcher, step, size, ranks }) => [
    number,
    launcher,
    step,
    size,
    ranks.map(({ rank, node }) => `${rank}@${node}`).join(' '),
  ]);

test('the ranks of mpirun, one world after the other', () => {
  const set = testSet([
    { pid: 1, from: 0, to: 100, exename: 'bash' },
    { pid: 10, ppid: 1, from: 0, to: 10, exename: 'mpirun' },
    ompi(12, 1),
    ompi(11, 0),
    { pid: 20, ppid: 1, from: 20, to: 30, exename: 'mpirun.openmpi' },
    ompi(21, 0, { ppid: 20, from: 21, to: 29, world: '18' }),
    ompi(22, 1, { ppid: 20, from: 21, to: 29, world: '18' }),
  ]);
  assert.deepEqual(shape(ranksOf(set)), [
    [1, 'mpirun', '', 2, '0@c1 1@c1'],
    [2, 'mpirun.openmpi', '', 2, '0@c1 1@c1'],
  ]);
});

test('a launcher that does not name its world: its daemons tell two apart, and join nodes', () => {
  const proxy = (pid: number, node: string, from: number): Told => ({
    pid,
    node,
    from,
    to: from + 9,
    exename: 'hydra_pmi_proxy',
  });
  const rank = (pid: number, ppid: number, n: number, node: string, from: number): Told =>
    ompi(pid, n, { ppid, node, from, to: from + 5, world: '', ranks: 4 });
  const set = testSet([
    proxy(10, 'c1', 0),
    proxy(10, 'c2', 0),
    ...[rank(11, 10, 0, 'c1', 1), rank(12, 10, 1, 'c1', 1), rank(11, 10, 2, 'c2', 1), rank(12, 10, 3, 'c2', 1)],
    proxy(20, 'c1', 20),
    proxy(20, 'c2', 20),
    ...[rank(21, 20, 0, 'c1', 21), rank(22, 20, 1, 'c1', 21), rank(21, 20, 2, 'c2', 21)],
  ]);
  assert.deepEqual(shape(ranksOf(set)), [
    [1, 'mpiexec', '', 4, '0@c1 1@c1 2@c2 3@c2'],
    [2, 'mpiexec', '', 4, '0@c1 1@c1 2@c2'],
  ]);
});

test('tasks of steps; what Slurm starts to start ranks is none, nor is a batch script', () => {
  const task = (pid: number, n: number, node: string, step: string, more: Partial<Told> = {}): Told =>
    ompi(pid, n, { ppid: 1, node, step, world: '', ranks: 2, ...more });
  const set = testSet([
    { pid: 1, from: 0, to: 100, exename: 'bash', rank: '0' },
    { pid: 10, ppid: 1, from: 0, to: 60, exename: 'mpirun', rank: '0' },
    // the batch script's own variable is the rank of what it starts
    { pid: 11, ppid: 1, from: 0, to: 1, exename: 'date', rank: '0' },
    task(50, 0, 'c1', '0'),
    task(50, 1, 'c2', '0'),
    task(60, 0, 'c1', '1', { from: 20, to: 30 }),
    task(60, 1, 'c2', '1', { from: 20, to: 30 }),
    task(70, 0, 'c2', '2', { exename: 'orted', ranks: 2 }),
    task(70, 1, 'c3', '2', { exename: 'orted', ranks: 2 }),
    ompi(71, 1, { ppid: 70, node: 'c2', step: '2', from: 40, to: 50, world: '99' }),
    ompi(72, 0, { ppid: 10, node: 'c1', from: 40, to: 50, world: '99' }),
  ]);
  assert.deepEqual(shape(ranksOf(set)), [
    [1, 'srun', '0', 2, '0@c1 1@c2'],
    [2, 'srun', '1', 2, '0@c1 1@c2'],
    [3, 'mpirun', '', 2, '0@c1 1@c2'],
  ]);
});

test('a step of one task, and a launcher of one rank, are no worlds', () => {
  const set = testSet([
    { pid: 2, from: 0, to: 5, rank: '0', ranks: 1, step: '0' },
    { pid: 3, from: 0, to: 5, rank: 'no number', ranks: 4 },
    { pid: 4, from: 0, to: 5, rank: '3' },
  ]);
  assert.deepEqual(ranksOf(set), []);
});

test('what the kernel counted for the children of a rank after they had written their records', () => {
  const metrics = (user: number, system: number, cutime: number, cstime: number) => ({
    metrics: { usertime: user * 1e6, systemtime: system * 1e6, cutime: cutime * 1e6, cstime: cstime * 1e6 },
  });
  const ranks = (...processRows: Told[]) => {
    const set = testSet([
      { pid: 10, from: 0, to: 10, exename: 'mpirun' },
      ...processRows,
      ompi(12, 1, { cpu: 1, ...metrics(1, 0, 0, 0) }),
    ]);
    const { user_seconds, system_seconds, cpu_seconds } = ranksOf(set)[0]!.ranks[0]!;
    return [user_seconds, system_seconds, cpu_seconds];
  };
  const child = ompi(14, 0, { ppid: 11, from: 3, to: 4, cpu: 1, ...metrics(1, 0, 0, 0) });
  // 0.5 s of system time for its memory
  assert.deepEqual(ranks(ompi(11, 0, { cpu: 3, ...metrics(2, 1, 1, 0.5) }), child), [3, 1.5, 4.5]);
  // nobody has waited for it
  assert.deepEqual(ranks(ompi(11, 0, { cpu: 3, ...metrics(2, 1, 0, 0) }), child), [3, 1, 4]);
  // once, however deep: what a parent counts has its children's children
  const below = ompi(15, 0, { ppid: 14, from: 3, to: 4, cpu: 2, ...metrics(2, 0, 0, 0) });
  const between = ompi(14, 0, { ppid: 11, from: 3, to: 4, cpu: 1, ...metrics(1, 0, 2, 0.25) });
  assert.deepEqual(ranks(ompi(11, 0, { cpu: 3, ...metrics(2, 1, 3, 0.25) }), between, below), [5, 1.25, 6.25]);
});

test('recordings that do not say how many ranks there are', () => {
  const set = testSet([
    { pid: 10, from: 0, to: 10, exename: 'mpirun' },
    ...[0, 1, 3].map((n): Told => ({ pid: 11 + n, ppid: 10, from: 1, to: 9, rank: String(n) })),
  ]);
  assert.deepEqual(shape(ranksOf(set)), [[1, 'mpirun', '', 4, '0@c1 1@c1 3@c1']]);
});

test('a rank is its process, what that became, and all that it started', () => {
  const metrics = (user: number, system: number, peak: number) => ({
    ...{ usertime: user * 1e6, systemtime: system * 1e6, time_waiting: 0.5e9, rssmax: peak },
    ...{ read_bytes: 10, write_bytes: 20, rchar: 100, wchar: 200 },
  });
  const set = testSet([
    { pid: 10, from: 0, to: 10, exename: 'mpirun' },
    ompi(11, 0, {
      exename: 'sh',
      to: 2,
      birth: 1,
      cpu: 0.25,
      ended: 'exec',
      exitcode: Number.NaN,
      metrics: metrics(0.25, 0, 1000),
    }),
    ompi(11, 0, {
      from: 2,
      to: 9,
      birth: 1,
      cpu: 3,
      threads: 4,
      allowed_cpus: '0-3',
      exitcode: 7,
      metrics: metrics(2, 1, 5000),
    }),
    ompi(14, 0, { ppid: 11, from: 3, to: 4, cpu: 1, exename: 'gzip', metrics: metrics(1, 0, 2000) }),
    ompi(12, 1, { source: 'start', to: 8, cpu: 1, exitcode: Number.NaN, metrics: metrics(1, 0, 100) }),
    ompi(13, 0, { job: 0, ppid: 99, rank: '' }),
  ]);
  const [world] = ranksOf(set);
  const [first, second] = world!.ranks;
  assert.deepEqual(
    { ...first, start: (first!.start - BEGAN) / 1e6, end: (first!.end - BEGAN) / 1e6 },
    {
      ...{ rank: 0, node: 'c1', pid: 11, program: 'app', command: 'app', processes: 2, threads: 4, start: 1, end: 9 },
      ...{ user_seconds: 3.25, system_seconds: 1, cpu_seconds: 4.25, wait_seconds: 1.5 },
      memory_peak_bytes: 7000 * 1024,
      ...{ read_bytes: 30, written_bytes: 60, read_chars: 300, written_chars: 600 },
      ...{ allowed_cpus: '0-3', exit_code: 7, signal: Number.NaN, source: 'record' },
    },
  );
  assert.deepEqual([second!.source, second!.exit_code], ['sample', Number.NaN]);
  assert.deepEqual(
    spreadOf(world!.ranks, (rank) => rank.cpu_seconds),
    { min: 1, mean: 2.625, max: 4.25 },
  );
  assert.deepEqual(
    spreadOf(world!.ranks, (rank) => rank.exit_code),
    { min: 7, mean: 7, max: 7 },
  );
  assert.equal(
    spreadOf(world!.ranks, (rank) => rank.signal),
    undefined,
  );
  assert.deepEqual([slowestOf(world!.ranks)!.rank, ioBytes(first!)], [0, 900]);
});
