import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Comparison } from '../../judge/compare/compare.ts';
import { compareCsv, compareText, fromDifference } from './compare-text.ts';

const job = (id: string, duration: number) => ({
  id,
  name: 'model',
  recording: `tacho-${id}`,
  state: 'completed',
  start: 1_794_775_752_000_000,
  duration,
});
const use = (time: number) => ({ processes: 1, cpu: 2_000, duration: time, time });

test('times are microseconds; what differs by next to nothing has no direction, what does not differ no row', () => {
  const comparison: Comparison = {
    jobs: [job('17', 100e6), job('18', 110e6)],
    differences: [0, 10e6],
    facts: [],
    metrics: [
      { name: 'user time', kind: 'microseconds', values: [61e6, 65e6] },
      { name: 'switches', kind: 'count', values: [25012, 24995] },
    ],
    by: 'process',
    parts: [
      { name: 'sim', jobs: [use(90e6), use(100e6 + 5)], difference: 10e6 + 5, explains: 1.0000005 },
      { name: 'cp', jobs: [use(10e6), use(10e6 - 5)], difference: -5, explains: -5e-7 },
      { name: 'sh', jobs: [use(1), use(1)], difference: 0, explains: 0 },
    ],
    only: [],
    phases: [],
    prefixes: [],
    notes: [],
  };
  const text = compareText(comparison);
  assert.match(text, /B took 10\.0 s more than A\./);
  assert.match(text, /user time +1 min 01 s +1 min 05 s +\+6\.6 %/);
  assert.match(text, /switches +25,012 +24,995 +< 0\.1 %/);
  assert.match(text, /\n +\+10\.0 s +100 % .* sim\n/);
  assert.match(text, /\n +-0\.005 ms +< 0\.1 % .* cp\n/);
  assert.doesNotMatch(text, / sh\n|-</);
});

test('recordings are named whole at 80 places, and ids cut before them', () => {
  const blank = { differences: [0, 0], facts: [], metrics: [], by: 'metric' as const };
  const local = (n: number) => ({
    ...job(`20261119-02154${n}-pipeline.sh-1kon`, 1e6),
    recording: `tacho-20261119-02154${n}-pipeline.sh`,
  });
  const text = compareText({
    ...{ ...blank, parts: [], only: [], phases: [], prefixes: [], notes: [] },
    jobs: [local(1), { ...local(2), recording: 'good' }],
  });
  assert.match(text, /^A {2}2\S+on .* tacho-20261119-021541-pipeline\.sh$/m);
  assert.match(text, /^B {2}2\S+on .* good$/m);
});

test('differences that nearly cancel each other out are not shares of what is left', () => {
  const text = compareText({
    jobs: [job('17', 100e6), job('18', 101e6)],
    differences: [0, 1e6],
    facts: [],
    metrics: [],
    by: 'process',
    parts: [
      { name: 'stage1.py', jobs: [use(50e6), use(40e6)], difference: -10e6, explains: -10 },
      { name: 'stage2.py', jobs: [use(50e6), use(61e6)], difference: 11e6, explains: 11 },
    ],
    only: [],
    phases: [],
    prefixes: [],
    notes: [],
  });
  assert.match(text, /\n +-10\.0 s .* stage1\.py\n/);
  assert.doesNotMatch(text, /%/);
});

test('jobs that took equally long have no table of differences, and two runs of one id columns of their own', () => {
  const same: Comparison = {
    jobs: [job('17', 100e6), { ...job('17', 100e6), recording: 'tacho-17-2' }, job('18', 100e6)],
    differences: [0, 0, 0],
    facts: [],
    metrics: [{ name: 'user time', kind: 'microseconds', values: [1, 2, 3] }],
    by: 'process',
    parts: [{ name: 'sim', jobs: [use(90e6), use(90e6), use(90e6)], difference: 0 }],
    only: [],
    phases: [],
    prefixes: [],
    notes: [],
  };
  assert.match(compareText(same), /\n\nNo command took more or less time\.\n$/);
  const two = { ...same, jobs: same.jobs.slice(0, 2), by: 'operation' as const };
  assert.match(compareText(two), /\n\nB took as long as A\. No operation took more or less time\.\n$/);
  assert.match(compareCsv(same), /^process,difference,explains,time 17 \(A\),time 17 \(B\),time 18,/);
  assert.equal(compareCsv({ ...same, by: 'metric' }), 'figure,unit,17 (A),17 (B),18\nuser time,microseconds,1,2,3\n');
});

test('phases have a table of their own', () => {
  const comparison: Comparison = {
    jobs: [job('17', 100e6), job('18', 110e6)],
    differences: [0, 10e6],
    facts: [],
    metrics: [],
    by: 'phase',
    parts: [],
    only: [],
    phases: [
      {
        name: 'epoch',
        jobs: [
          { times: 2, duration: 22e6 },
          { times: 2, duration: 42e6 },
        ],
        difference: 20e6,
      },
      { name: 'load', jobs: [undefined, { times: 1, duration: 5e6 }], difference: 5e6 },
    ],
    prefixes: [],
    notes: [],
  };
  assert.match(
    compareText(comparison),
    /Phases: time of each, added up\ndifference +A +B +times A +times B +phase\n +\+20\.0 s +22\.0 s +42\.0 s +2 +2 +epoch\n +\+5\.0 s +- +5\.0 s +- +1 +load\n/,
  );
  assert.deepEqual(compareCsv(comparison).split('\n').slice(1, 3), [
    'epoch,20000000,22000000,42000000,2,2',
    'load,5000000,,5000000,,1',
  ]);
});

test('commands that differ far behind are shown from where they differ', () => {
  const [a, b] = ['a/src/stage.py', '/tmp/b/src/stage.py'].map(
    (script) => `sh -c 'for n in 1 2 3; do python3 ${script}'`,
  );
  assert.deepEqual(fromDifference([a!, b!], 26), ["..python3 a/src/stage.py'", "..python3 /tmp/b/src/stage.py'"]);
  assert.deepEqual(fromDifference(['slurm', 'none'], 12), ['slurm', 'none']);
  const [long, other] = [`a${'x'.repeat(40)}`, `b${'x'.repeat(40)}`];
  assert.deepEqual(fromDifference([long, other], 12), [long, other]);
});
