import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, type Told, testSet } from '../../../test/made/processes.ts';
import { agent, job, material, node, START, span } from '../../../test/made/report-jobs.ts';
import { count, series, table } from '../../../test/made/report-statistics.ts';
import { report } from '../report.ts';
import { reportSchema } from '../report-schema.ts';

interface Sampled {
  start: number;
  /** Milliseconds in the part. */
  used: number;
  /** When it had used how much in all of its life, in seconds. */
  samples?: [when: number, used: number][];
}

/** Seconds 10 to 50 of a job of 100, of whose processes these are recorded, and sampled to have used so much. */
function partUse(
  processRows: readonly Told[],
  sampled: Record<number, Sampled>,
  to = 50,
  members: 'tree' | 'cgroup' = 'tree',
) {
  const lifetime = span(100);
  const shifted = processRows.map((one) => {
    const later = (seconds: number): number => seconds + (START - BEGAN) / 1e6;
    const from = later(one.from ?? 0);
    return { ...one, from, to: later(one.to!), birth: one.birth === undefined ? from : later(one.birth) };
  });
  const rows = Object.entries(sampled).map(([pid, { start, used }]) =>
    series(lifetime, { pid, start: String(START / 1000 + start * 1000) }, { user_ms: count(lifetime, used) }),
  );
  const nodes = [node('c1', agent('c1', lifetime, { scope: { members } }), [table('process', rows)])];
  const points = Object.entries(sampled).flatMap(([pid, { start, samples = [] }]) => ({
    pid,
    start: String(START / 1000 + start * 1000),
    times: samples.map(([when]) => START + when * 1e6),
    used: samples.map(([, used]) => used * 1e6),
  }));
  const samples = new Map([['c1', { series: new Map(), processes: points, damage: [] }]]);
  const whole = material(job(100), nodes, { processes: testSet(shifted), samples });
  const range = { what: 'marker work', from: START + 10e6, to: START + to * 1e6 };
  const card = report(material(job(100), nodes, { range, whole }));
  const { processes, summary } = reportSchema.parse(JSON.parse(JSON.stringify(card)));
  const used = processes.map((p) => [Number(p.pid), p.cpu_seconds, p.source]);
  return [...used, summary.cpu_seconds, summary.processes];
}

test('of a part, processes that began and ended in it are told from their records, others as they were sampled', () => {
  const inside = { pid: 2, from: 11, to: 13, cpu: 2 };
  const unseen = { pid: 3, from: 14, to: 14.5, cpu: 0.4 };
  const killed = { pid: 5, from: 30, to: 31, cpu: 0.1, source: 'parent' };
  const longer = { pid: 4, from: 20, to: 60, cpu: 30 };
  const samples: Sampled['samples'] = [
    [20.5, 0.5],
    [49.5, 19.8],
    [50.5, 20.2],
  ];
  const sampled = { 2: { start: 11, used: 1400 }, 4: { start: 20, used: 20_000, samples } };
  assert.deepEqual(partUse([inside, unseen, killed, longer], sampled), [
    [4, 20, 'sample'],
    [2, 2, 'record'],
    [3, 0.4, 'record'],
    [5, 0.1, 'parent'],
    22.5,
    4,
  ]);
  // the last process of a job may end a moment after it
  assert.deepEqual(partUse([{ ...longer, to: 100.004 }], { 4: sampled[4] }, 100), [[4, 30, 'record'], 30, 1]);
});

test('a program that another became is in the part if it began and ended there, whenever that one began', () => {
  const before = { pid: 7, from: 5, to: 12, cpu: 1, ended: 'exec' };
  const after = { pid: 7, from: 12, birth: 5, to: 20, cpu: 6 };
  // of the first nobody knows when in its life it used its second: two sevenths of it are in the part
  assert.deepEqual(partUse([before, after], { 7: { start: 5, used: 5000 } }), [
    [7, 6, 'record'],
    [7, 2 / 7, 'record'],
    6 + 2 / 7,
    2,
  ]);
  const samples: Sampled['samples'] = [
    [9, 0.8],
    [10, 0.9],
    [11, 1],
  ];
  assert.deepEqual(partUse([before, after], { 7: { start: 5, used: 5000, samples } }), [
    [7, 6, 'record'],
    [7, 0.1, 'record'],
    6.1,
    2,
  ]);
  const early = { pid: 8, from: 11, to: 12, cpu: 1, ended: 'exec' };
  const late = { pid: 8, from: 12, birth: 11, to: 70, cpu: 9 };
  const around: Sampled['samples'] = [
    [49.5, 4.5],
    [50.5, 5.5],
  ];
  assert.deepEqual(partUse([early, late], { 8: { start: 11, used: 4000, samples: around } }), [
    [8, 5, undefined],
    5,
    1,
  ]);
});

test('of a part, processes that cross its edges unseen have their share of it, and those of another time are not listed', () => {
  const early = { pid: 2, from: 5, to: 9, cpu: 3 };
  const into = { pid: 3, from: 8, to: 12, cpu: 2, exitcode: 3 };
  const outof = { pid: 4, from: 49, to: 53, cpu: 4, exitcode: 4 };
  const late = { pid: 5, from: 51, to: 52, cpu: 1 };
  // the row that says that it had gone is of the tick after
  const gone: Sampled['samples'] = [
    [8.5, 2.5],
    [12, 3],
  ];
  const sampled = { 2: { start: 5, used: 0, samples: gone }, 5: { start: 51, used: 0 } };
  assert.deepEqual(partUse([early, into, outof, late], sampled), [[3, 1, 'record'], [4, 1, 'record'], 2, 2]);
  assert.deepEqual(partUse([early, late], sampled).at(-1), 0);
});

test('where a cgroup counts, processes that cross the edges of a part have their share of what their records tell, too', () => {
  const longer = { pid: 4, from: 20, to: 60, cpu: 30 };
  const [partUsed] = partUse([longer], { 4: { start: 20, used: 20_000 } }, 50, 'cgroup');
  assert.deepEqual(partUsed, [4, 22.5, undefined]);
  // it grew as it was sampled in all of the job, not as far as the part's last row goes
  const samples: Sampled['samples'] = [
    [49.5, 19],
    [50.5, 21],
  ];
  const [grown] = partUse([longer], { 4: { start: 20, used: 10_000, samples } }, 50, 'cgroup');
  assert.deepEqual(grown, [4, 20, undefined]);
});
