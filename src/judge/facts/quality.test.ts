import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Material } from '../../query/material.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { SPOOL_FULL } from './lost.ts';
import { qualityOf } from './quality.ts';
import { unmeasuredOf } from './unmeasured.ts';

test('what a full spool had to give up is lost, and said by table', () => {
  const span = (table: string, filePart: number, rows: number) => ({
    table,
    from: { part: filePart, bytes: 0 },
    to: { part: filePart + 1, bytes: 0 },
    rows,
  });
  const agent = {
    node: 'c1',
    ticks: 10,
    late_ticks: 0,
    missed_ticks: 0,
    lost_samples: [{ table: 'cpu', rows: 3, why: 'no space left' }],
    // a part that turned out to be empty is no loss
    dropped: [span('meminfo', 2, 600), span('meminfo', 3, 600), span('vmstat', 2, 599), span('nfs', 2, 0)],
  } as unknown as AgentRecord;
  const material = { job: { interval_seconds: 1 }, nodes: [{ agent, tables: new Map() }] } as unknown as Material;
  const quality = qualityOf(material, [], 10);
  assert.deepEqual(quality.lost_samples, [
    { node: 'c1', table: 'cpu', rows: 3, why: 'no space left' },
    { node: 'c1', table: 'meminfo', rows: 1200, why: SPOOL_FULL },
    { node: 'c1', table: 'vmstat', rows: 599, why: SPOOL_FULL },
  ]);
  assert.ok(quality.reasons.includes('samples lost, 0 % written'));
});

test('the grade of lost samples is explained by how much was written, not by the ticks', () => {
  const lost = (rows: number) => ({ table: 'vmstat', rows, why: 'no space left' });
  const table = (rows: number) => ({ rows }) as never;
  const graded = (missing: number, range?: Material['range']) => {
    const agent = { node: 'c1', ticks: 100, interval_seconds: 1, lost_samples: [lost(missing)] };
    const tables = new Map([
      ['meminfo', table(100)],
      ['vmstat', table(100)],
    ]);
    const nodes = [{ node: 'c1', agent, tables }];
    const material = { job: { interval_seconds: 1 }, nodes, ...(range && { range }) } as unknown as Material;
    const nodeReports = [{ node: 'c1', status: 'recorded', first_sample: 0, last_sample: 100e6 }] as const;
    const { grade, ticks, expected_ticks, reasons } = qualityOf(material, nodeReports, 100);
    return [grade, ticks, expected_ticks, ...reasons];
  };
  assert.deepEqual(graded(200), ['D', 100, 100, 'samples lost, 50 % written']);
  assert.deepEqual(graded(1), ['A', 100, 100, 'samples lost, 99 % written']);
  // of a part nobody knows how much was lost
  assert.deepEqual(graded(200, { what: 'step 1' }), ['A', 100, 100, 'samples lost']);
});

test('ticks that were missed are missing: the first and the last sample do not make up for them', () => {
  const agent = { node: 'c1', ticks: 121, late_ticks: 10, missed_ticks: 2, interval_seconds: 0.1 };
  const material = { job: { interval_seconds: 0.1 }, nodes: [{ node: 'c1', agent, tables: new Map() }] };
  const nodeReports = [{ node: 'c1', status: 'recorded', first_sample: 0, last_sample: 12.1e6 }] as const;
  const { grade, ticks, expected_ticks, reasons } = qualityOf(material as unknown as Material, nodeReports, 12.1);
  assert.deepEqual([grade, ticks, expected_ticks, reasons], ['B', 121, 123, ['ticks missed']]);
});

test('the ticks of one node do not make up for those of another', () => {
  const recorded = (node: string, ticks: number) => ({
    node,
    agent: { node, ticks, interval_seconds: 1 },
    tables: new Map(),
  });
  const nodes = [recorded('c1', 146), recorded('c2', 153)];
  const material = { job: { interval_seconds: 1 }, nodes } as unknown as Material;
  const nodeReports = nodes.map(
    ({ node }) => ({ node, status: 'recorded', first_sample: 0, last_sample: 151.2e6 }) as const,
  );
  const { ticks, expected_ticks, grade, reasons } = qualityOf(material, nodeReports, 151.5);
  assert.deepEqual([ticks, expected_ticks, grade, reasons], [299, 151 + 153, 'B', ['gaps']]);
});

test('an agent that came later than others, but before the job, missed nothing of it', () => {
  const node = (name: string, first: number, last: number, ticks: number) => ({
    recorded: { node: name, agent: { node: name, ticks, interval_seconds: 1 }, tables: new Map() },
    reported: { node: name, status: 'recorded', first_sample: first * 1e6, last_sample: last * 1e6 } as const,
  });
  const graded = (...nodes: ReturnType<typeof node>[]) => {
    const job = { interval_seconds: 1, start: 8e6, end: 18e6 };
    const material = { job, nodes: nodes.map(({ recorded }) => recorded) } as unknown as Material;
    const { ticks, expected_ticks, grade } = qualityOf(
      material,
      nodes.map(({ reported }) => reported),
      10,
    );
    return [ticks, expected_ticks, grade];
  };
  assert.deepEqual(graded(node('c1', 0, 22, 22), node('c2', 7, 19, 12)), [34, 34, 'A']);
  // what it missed of the job is due, and so is what it missed of its own time
  assert.deepEqual(graded(node('c1', 0, 22, 22), node('c2', 12, 19, 7)), [29, 22 + 11, 'C']);
  assert.deepEqual(graded(node('c1', 0, 22, 12), node('c2', 7, 19, 12)), [24, 34, 'D']);
});

test('a node that never recorded has all of its ticks missing, also in a short job', () => {
  const node = { node: 'c1', agent: { node: 'c1', ticks: 2, interval_seconds: 1 }, tables: new Map() };
  const material = { job: { interval_seconds: 1 }, nodes: [node] } as unknown as Material;
  const nodes = [
    { node: 'c1', status: 'recorded', first_sample: 0, last_sample: 1.3e6 },
    { node: 'c2', status: 'never recorded' },
  ] as const;
  const { ticks, expected_ticks, grade, reasons } = qualityOf(material, nodes, 1.3);
  assert.deepEqual([ticks, expected_ticks, grade, reasons], [2, 4, 'D', ['c2 never recorded']]);
});

test('records of which the source may be cut off are not graded as whole', () => {
  const agent = { node: 'c1', ticks: 0, doubts: [{ where: 'c1-papiex.csv, line 3', why: 'it has no end' }] };
  const material = {
    path: 'r',
    job: {},
    nodes: [{ node: 'c1', agent: { ...agent, unmeasured: [] }, tables: new Map() }],
  };
  const nodeReports = [{ node: 'c1', status: 'recorded' }] as const;
  const { grade, damage, reasons } = qualityOf(material as unknown as Material, nodeReports, 100);
  assert.deepEqual([grade, damage, reasons], ['B', ['c1-papiex.csv, line 3: it has no end'], ['damaged files']]);
  assert.deepEqual(unmeasuredOf(material as unknown as Material, []), [
    { what: 'c1-papiex.csv, line 3', why: 'it has no end', nodes: ['c1'] },
  ]);
});

test('ticks that no agent was there for are due, and first and last samples do not make up for them', () => {
  const graded = (away: { from: number; to: number }[], range?: Material['range']) => {
    const agent = { node: 'c1', ticks: 23, late_ticks: 0, missed_ticks: 0, interval_seconds: 1, away };
    const rows = new Map([['agent', { rows: 23, series: [] }]]);
    const nodes = [{ node: 'c1', agent, tables: rows }];
    const material = { job: { interval_seconds: 1, start: 0 }, nodes, ...(range && { range }) } as unknown as Material;
    const nodeReports = [{ node: 'c1', status: 'recorded', first_sample: 0.2e6, last_sample: 25.4e6 }] as const;
    const { ticks, expected_ticks, grade, reasons } = qualityOf(material, nodeReports, 25.4);
    return [ticks, expected_ticks, grade, ...reasons];
  };
  assert.deepEqual(graded([]), [23, 25, 'C', 'gaps']);
  assert.deepEqual(graded([{ from: 7e6, to: 12.9e6 }]), [23, 28, 'C', 'no agent on c1 for 5.9 s']);
  // the next one's first sample was a tick itself
  assert.equal(graded([{ from: 7e6, to: 13e6 }])[1], 28);
  const twice = graded([
    { from: 7e6, to: 12.9e6 },
    { from: 14e6, to: 17.5e6 },
  ]);
  assert.deepEqual(twice, [23, 31, 'D', 'no agent on c1 for up to 5.9 s']);
  // of a part only what lies in it
  assert.equal(graded([{ from: 7e6, to: 12.9e6 }], { what: 'step 1', from: 9e6 })[1], 26);
  assert.equal(graded([{ from: 7e6, to: 12.9e6 }], { what: 'step 1', from: 13e6 })[1], 25);
});

test('the agent of a node that was not there for much of a job keeps its recording from the best grade', () => {
  const graded = (service: boolean, range?: Material['range'], wall = 100, late = wall / 2) => {
    const agent = { node: 'c1', ticks: wall / 2, late_ticks: 0, missed_ticks: 0, ...(service ? { service } : {}) };
    const nodes = [{ node: 'c1', agent, tables: new Map() }];
    const job = { interval_seconds: 1, start: 0 };
    const material = { job, nodes, ...(range && { range }) } as unknown as Material;
    const nodeReports = [
      { node: 'c1', status: 'recorded', first_sample: late * 1e6, last_sample: (late + wall / 2) * 1e6 },
    ] as const;
    const { grade, reasons } = qualityOf(material, nodeReports, wall);
    return [grade, ...reasons];
  };
  const half = '50 % of the job’s time recorded';
  assert.deepEqual(graded(true), ['B', `${half}, the agent came 50.0 s after its start`]);
  // a short one too
  assert.deepEqual(graded(true, undefined, 8), ['B', `${half}, the agent came 4.0 s after its start`]);
  assert.deepEqual(graded(false, undefined, 8), ['A']);
  // its agent went away before its end
  assert.deepEqual(graded(true, undefined, 100, 0), ['B', half]);
  // whoever said `tacho start` wanted no more
  assert.deepEqual(graded(false), ['A', '50 % of the job’s time recorded']);
  assert.deepEqual(graded(true, { what: 'step 1' }), ['A', '50 % of the job’s time recorded']);
});
