import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, type Told, testJob, testSet } from '../../../test/made/processes.ts';
import type { ProcessJob } from '../../query/processes/set.ts';
import { report } from '../report.ts';
import { compare } from './compare.ts';

/** A job that lasted so many seconds, as its report card. */
function card(id: string, seconds: number, tags: Record<string, string> = {}) {
  return report({
    path: `tacho-${id}`,
    job: {
      format: 1,
      tacho: '0.1.0',
      id,
      scheduler: 'none',
      name: 'model',
      user: 'ada',
      uid: 1000,
      asked: {},
      nodes: ['c1'],
      interval_seconds: 1,
      start: BEGAN,
      end: BEGAN + seconds * 1e6,
      state: 'completed',
      tags,
      environment: {},
    },
    nodes: [],
    markers: [],
    now: BEGAN + 1e9,
  });
}

const jobs: ProcessJob[] = [testJob(), testJob({ id: '18', end: BEGAN + 130e6 })];
const both = (a: Told[], b: Told[]) => testSet([...a, ...b.map((one) => ({ ...one, job: 1 }))], jobs);

const usual: Told[] = [
  { pid: 1, from: 0, to: 100, exename: 'sh', cpu: 1 },
  { pid: 2, ppid: 1, from: 10, to: 30, exename: 'cp', args: 'in 1', cpu: 2, tags: 'op:copy' },
  { pid: 3, ppid: 1, from: 30, to: 90, exename: 'sim', cpu: 50, tags: 'op:run' },
];
const slow: Told[] = [
  { pid: 1, from: 0, to: 130, exename: 'sh', cpu: 1 },
  { pid: 2, ppid: 1, from: 10, to: 65, exename: 'cp', args: 'in 2', cpu: 2, tags: 'op:copy' },
  { pid: 3, ppid: 1, from: 65, to: 120, exename: 'sim', cpu: 50, tags: 'op:run' },
];

test('what explains the difference comes first, and the parts add up to it', () => {
  const comparison = compare([card('17', 100), card('18', 130)], both(usual, slow));
  assert.equal(comparison.by, 'operation');
  assert.deepEqual(comparison.differences, [0, 30e6]);
  assert.deepEqual(
    comparison.parts.slice(0, 2).map(({ name, difference }) => [name, difference]),
    [
      ['op:copy', 35e6],
      ['op:run', -5e6],
    ],
  );
  assert.equal(Math.round(comparison.parts[0]!.explains! * 100), 117);
  const sum = comparison.parts.reduce((total, row) => total + row.difference, 0);
  assert.equal(sum, 30e6);
});

test('by command when nothing is tagged', () => {
  const untagged = (recordedProcesses: Told[]): Told[] => recordedProcesses.map(({ tags, ...one }) => one);
  const comparison = compare([card('17', 100), card('18', 130)], both(untagged(usual), untagged(slow)));
  assert.equal(comparison.by, 'process');
  assert.equal(comparison.parts[0]!.name, 'cp');
  assert.deepEqual(comparison.parts[0]!.jobs[0], { processes: 1, cpu: 2e6, duration: 20e6, time: 20e6 });
});

test('scripts keep their names; only what one job lacks is paired by the shape of its name', () => {
  const python = (pid: number, args: string, from: number, to: number): Told => ({
    pid,
    ppid: 1,
    from,
    to,
    exename: 'python3',
    args,
  });
  const run = (folder: string, last: string, longer: number): Told[] => [
    { pid: 1, from: 0, to: 60, exename: 'sh', args: 'night.sh' },
    python(2, `${folder}stage1.py`, 0, 10),
    python(3, `${folder}stage2.py`, 10, 20 + longer),
    python(4, `${folder}resnet50.py`, 30, 40),
    python(5, `/tmp/${last}.py`, 40, 50),
  ];
  const comparison = compare(
    [card('17', 100), card('18', 130)],
    both(run('src/', 'abc', 0), run('/tmp/x/src/', 'def', 5)),
  );
  const rows = comparison.parts.map(({ name, difference }) => [name, difference]);
  assert.deepEqual(rows.filter(([name]) => String(name).startsWith('python3')).sort(), [
    ['python3 #.py', 0],
    ['python3 resnet50.py', 0],
    ['python3 stage1.py', 0],
    ['python3 stage2.py', 5e6],
  ]);
  assert.deepEqual(comparison.only, []);
});

test('scripts that some jobs lack are not one row of them all', () => {
  const scripts = (job: number, ...names: string[]): Told[] =>
    names.map((name, i) => ({
      ...{ job, pid: i + 1, from: i, to: i + 1, exename: 'python3', args: `${name}.py 4`, cpu: 1 },
    }));
  const cards = ['17', '18', '19'].map((id) => card(id, 100));
  const three = (...all: Told[][]) =>
    compare(
      cards,
      testSet(
        all.flat(),
        cards.map(({ job }) => testJob({ id: job.id })),
      ),
    );
  const named = three(scripts(0, 'stage1', 'stage2', 'model3'), scripts(1, 'stage1', 'stage2'), scripts(2, 'sum'));
  assert.deepEqual(named.only.map(({ command, counts }) => [command, counts]).sort(), [
    ['python3 model3.py 4', [1, 0, 0]],
    ['python3 stage1.py 4', [1, 1, 0]],
    ['python3 stage2.py 4', [1, 1, 0]],
    ['python3 sum.py 4', [0, 0, 1]],
  ]);
  const partNames = named.parts.map(({ name }) => name).filter((name) => name.startsWith('python3'));
  assert.deepEqual(
    partNames.sort(),
    ['model3', 'stage1', 'stage2', 'sum'].map((name) => `python3 ${name}.py`),
  );
  // names made up for the moment, many of them, are not a list that anybody reads
  const made = three(
    scripts(0, ...Array.from({ length: 40 }, (_, i) => `x${i}`)),
    scripts(1, 'sum'),
    scripts(2, 'sum'),
  );
  assert.deepEqual(made.only.find(({ command }) => command.includes('#'))?.counts, [40, 0, 0]);
  assert.ok(made.parts.some(({ name }) => name === 'python3 x#.py'));
});

test('a job without tags against one with tags: its time is that of processes without the tag', () => {
  const untagged = (recordedProcesses: Told[]): Told[] => recordedProcesses.map(({ tags, ...one }) => one);
  for (const [a, b, jobIndex, lasted] of [
    [usual, untagged(slow), 1, 130e6],
    [untagged(usual), slow, 0, 100e6],
  ] as const) {
    const { parts } = compare([card('17', 100), card('18', 130)], both([...a], [...b]));
    const uses = new Map(parts.map(({ name, jobs: each }) => [name, each[jobIndex]]));
    assert.deepEqual(uses.get('(without the tag)'), { processes: 3, cpu: 53e6, duration: lasted, time: lasted });
    assert.equal(uses.get('(no recorded process ran)')!.time, 0);
    assert.equal(uses.get('op:run'), undefined);
  }
});

test('failed processes are those that a report counts: by an exit code, or by a signal', () => {
  const ends: Told[] = [
    { pid: 1, exitcode: 7 },
    { pid: 2, exitsignal: 9 },
    { pid: 3, exitcode: 0, exitsignal: 15 },
    { pid: 4, exitcode: 0, ended: 'signal' },
    { pid: 5, exitcode: 0, ended: 'exit' },
    { pid: 6, source: 'start' },
  ];
  const comparison = compare([card('17', 100), card('18', 100)], both(ends, [{ pid: 1, exitcode: 0, exitsignal: 0 }]));
  assert.deepEqual(comparison.metrics.find(({ name }) => name === 'failed processes')!.values, [4, 0]);
});

test('processes only in one job are told; the n-th of a command is the n-th elsewhere', () => {
  const more: Told[] = [
    ...slow,
    { pid: 4, ppid: 1, from: 121, to: 122, exename: 'cp', args: 'in 3', cpu: 1 },
    { pid: 5, ppid: 1, from: 122, to: 129, exename: 'fix', cpu: 7 },
  ];
  const comparison = compare([card('17', 100), card('18', 130)], both(usual, more));
  assert.deepEqual(comparison.only, [
    { command: 'fix', counts: [0, 1], cpu: 7e6, duration: 7e6 },
    { command: 'cp in 3', counts: [1, 2], cpu: 1e6, duration: 1e6 },
  ]);
  assert.deepEqual(compare([card('17', 100), card('18', 130)], both(usual, slow)).only, []);
});

test('without processes the figures are compared, and what is missing is said', () => {
  const comparison = compare([card('17', 100, { case: 'a' }), card('18', 130, { case: 'b' })], undefined);
  assert.equal(comparison.by, 'metric');
  assert.deepEqual(comparison.metrics.find(({ name }) => name === 'duration')!.values, [100e6, 130e6]);
  assert.deepEqual(comparison.facts, [{ name: 'tag case', values: ['a', 'b'] }]);
  assert.deepEqual(comparison.notes, ['no processes were recorded of 17, 18']);
  const half = compare([card('17', 100), card('18', 130)], testSet(usual, jobs));
  assert.deepEqual(half.parts, []);
  assert.deepEqual(half.notes, ['no processes were recorded of 18']);
});

test('more than two jobs are held against the first', () => {
  const three = testSet(
    [...usual, ...usual.map((one) => ({ ...one, job: 1 })), ...slow.map((one) => ({ ...one, job: 2 }))],
    [testJob(), testJob({ id: '18' }), testJob({ id: '19', end: BEGAN + 130e6 })],
  );
  const comparison = compare([card('17', 100), card('18', 100), card('19', 130)], three);
  assert.deepEqual(comparison.differences, [0, 0, 30e6]);
  assert.equal(comparison.parts[0]!.difference, 35e6);
});

test('times are whole microseconds: what does not differ is no difference', () => {
  // three run side by side, and each moment is divided by three
  const beside = (shift: number): Told[] => [
    { pid: 1, from: 0, to: 100, exename: 'sh' },
    ...[2, 3, 4].map((pid) => ({ pid, ppid: 1, from: 10.1 + shift, to: 10.2 + shift, exename: `p${pid}` })),
    { pid: 5, ppid: 1, from: 40, to: 40.000001, exename: 'p5' },
  ];
  const { parts, metrics } = compare([card('17', 100.000003), card('18', 100.000003)], both(beside(0), beside(0.7)));
  for (const { name, difference, jobs: uses } of parts) {
    assert.equal(difference, 0, name);
    for (const use of uses) assert.ok(Number.isInteger(use!.time) && Number.isInteger(use!.duration), name);
  }
  for (const { name, kind, values } of metrics)
    if (kind === 'microseconds') for (const value of values) assert.ok(Number.isInteger(value ?? 0), name);
});

test('phases of one name are added up, and the largest difference comes first', () => {
  const seconds = (name: string, ...all: number[]) =>
    all.map((each) => ({ name, start: BEGAN, end: BEGAN + each * 1e6, seconds: each }));
  const [a, b] = [card('17', 100), card('18', 130)];
  a.phases = [...seconds('epoch', 10, 12), ...seconds('save', 3)];
  b.phases = [...seconds('load', 5), ...seconds('epoch', 20, 22)];
  const { phases } = compare([a, b], undefined, 'phase');
  assert.deepEqual(phases, [
    {
      name: 'epoch',
      jobs: [
        { times: 2, duration: 22e6 },
        { times: 2, duration: 42e6 },
      ],
      difference: 20e6,
    },
    { name: 'load', jobs: [undefined, { times: 1, duration: 5e6 }], difference: 5e6 },
    { name: 'save', jobs: [{ times: 1, duration: 3e6 }, undefined], difference: -3e6 },
  ]);
  assert.ok(
    compare([card('1', 1), card('2', 1)], undefined, 'phase').notes.includes(
      'no job has phases (tacho mark begin NAME)',
    ),
  );
});
