import assert from 'node:assert/strict';
import { test } from 'node:test';
import { report } from '../../src/judge/report.ts';
import type { Report } from '../../src/judge/report-schema.ts';
import type { Material } from '../../src/query/material.ts';
import type { AgentRecord } from '../../src/recording/folder/agent-record.ts';
import { meters } from '../../src/show/report/meters.ts';
import { testSet } from '../made/processes.ts';
import { agent, cgroup, job, material, node, START, span } from '../made/report-jobs.ts';
import { count, level, series, table } from '../made/report-statistics.ts';

/** Nodes that were not all seen for the same time: what they did is held against the time that they were seen. */

const GIB = 2 ** 30;

interface Seen {
  /** For so long it was recorded, and so much CPU time and GPU use were seen. */
  seconds: number;
  cpu: number;
  gpu?: number;
}

/** A job of so many seconds; nodes that were seen for less stopped early. */
function materialOf(wall: number, cpus: number, nodes: Record<string, Seen>): Material {
  const names = Object.keys(nodes);
  const made = Object.entries(nodes).map(([name, { seconds, cpu, gpu }]) => {
    const sampledSpan = span(seconds);
    const record = agent(name, sampledSpan);
    if (seconds < wall) {
      delete record.end;
      delete record.end_reason;
    }
    const cards = [
      series(
        sampledSpan,
        { gpu: '0' },
        { utilization_percent: level(sampledSpan, gpu ?? 0), power_watts: level(sampledSpan, 100) },
        { mine: 'yes' },
      ),
    ];
    const power = [
      series(sampledSpan, { domain: 'package-0' }, { energy_mj: count(sampledSpan, seconds * 1e5) }, { meter: 'rapl' }),
    ];
    return node(name, record, [
      cgroup(sampledSpan, cpu / seconds, GIB),
      table('power', power),
      ...(gpu === undefined ? [] : [table('gpu', cards)]),
    ]);
  });
  const asked = { nodes: names.length, cpus: cpus * names.length, memory_bytes: names.length * 2 * GIB };
  return material(job(wall, { nodes: names, asked }), made);
}

const near = (value: number | undefined, wanted: number): void =>
  assert.ok(Math.abs(value! - wanted) < 1e-9, `${value} is not ${wanted}`);

const about = (from: Material, id: string) => {
  const { findings, checks } = report(from);
  return { finding: findings.find((f) => f.id === id), check: checks.find((c) => c.id === id)! };
};

test('the CPUs of a job were busy for what was used in the time that was seen', () => {
  const two = materialOf(36, 1, { c1: { seconds: 36, cpu: 1 }, c3: { seconds: 7, cpu: 0.99 } });
  const { summary } = report(two);
  near(summary.cpu_utilization, 1.99 / 43);
  near(summary.cpus_busy, (1.99 / 43) * 2);
  assert.equal(summary.cpus_measured, 2);
  const { evidence } = about(two, 'cpu-underused').finding!;
  // 41.01 CPU seconds, not those after the node fell silent
  assert.equal(evidence[1]!.text, '0.011 core-hours idle in the time that was recorded');
});

test('a node that was recorded for longer than the command ran is held against the time of the command', () => {
  const long = materialOf(36, 1, { c1: { seconds: 30, cpu: 3 }, c2: { seconds: 36, cpu: 0 } });
  const short = { ...long, job: { ...long.job, end: long.job.start + 20e6 } };
  const windows = ({ nodes }: Report) => nodes.map((n) => n.cpu_window_seconds);
  assert.deepEqual(
    [windows(report(long)), windows(report(short))],
    [
      [30, 36],
      [20, 20],
    ],
  );
  near(report(short).summary.cpu_utilization, 3 / 40);
});

test('GPUs without samples are not taken for as busy as the others: the line says how many were measured', () => {
  const line = (asked?: number): string | undefined => {
    const made = materialOf(60, 1, { c1: { seconds: 60, cpu: 6, gpu: 45 }, c2: { seconds: 60, cpu: 6 } });
    if (asked !== undefined) made.job.asked.gpus = asked;
    for (const { agent: record } of made.nodes) record!.facts.gpus = [{ gpu: '0', vendor: 'amd' }];
    const unread = [{ node: 'c2', table: 'gpu', file: 'gpu.csv', why: 'it is missing', whole: true, lines: 0 }];
    return meters(report({ ...made, unread })).find(({ name }) => name === 'GPU')?.text;
  };
  assert.deepEqual(
    [line(), line(4), line(1)],
    ['0.5 of 1 GPU, 1 of 2 measured', '0.5 of 1 GPU, 1 of 4 measured', '0.5 of 1 GPU on average'],
  );
});

test('a node is not idle because it was seen longer than another that did the same', () => {
  const same = { c1: { seconds: 36, cpu: 1 }, c3: { seconds: 7, cpu: 0.99 } };
  const { finding, check } = about(materialOf(36, 4, same), 'node-idle');
  assert.equal(finding, undefined);
  assert.equal(check.outcome, 'unmeasurable');
  assert.match(check.why!, /recorded for different times/);
  // so little would be nothing in any part of its time
  const nothing = { c1: { seconds: 36, cpu: 0.01 }, c3: { seconds: 7, cpu: 0.99 } };
  assert.equal(about(materialOf(36, 4, nothing), 'node-idle').finding?.text, '1 of 2 nodes did nothing: c1');
  // one that stopped early keeps no others from being compared
  const three = { c1: { seconds: 3600, cpu: 20 }, c2: { seconds: 3600, cpu: 9000 }, c3: { seconds: 7, cpu: 20 } };
  const { finding: idle } = about(materialOf(3600, 4, three), 'node-idle');
  assert.equal(idle?.text, '1 of 3 nodes did nothing: c1');
  assert.equal(idle!.evidence.at(-1)!.text, '1 node-hours idle');
});

test('nodes are compared with those that were seen as long', () => {
  const pair = { c1: { seconds: 360, cpu: 60 }, c3: { seconds: 60, cpu: 55 } };
  const { finding, check } = about(materialOf(360, 1, pair), 'node-imbalance');
  assert.equal(finding, undefined);
  assert.equal(check.outcome, 'unmeasurable');
  const many: Record<string, Seen> = { c9: { seconds: 60, cpu: 55 } };
  for (let i = 1; i <= 5; i++) many[`c${i}`] = { seconds: 360, cpu: 60 + i };
  assert.deepEqual(about(materialOf(360, 1, many), 'node-imbalance'), {
    finding: undefined,
    check: { id: 'node-imbalance', title: 'nodes unlike the others', outcome: 'fine' },
  });
  many.c5!.cpu = 300;
  assert.match(
    about(materialOf(360, 1, many), 'node-imbalance').finding!.text,
    /^1 node unlike the other 4: c5 has CPU 83 %/,
  );
});

test('GPUs, their power and the energy count for as long as they were seen', () => {
  const pair = { c1: { seconds: 300, cpu: 300, gpu: 10 }, c2: { seconds: 100, cpu: 100, gpu: 90 } };
  const { summary, nodes } = report(materialOf(300, 1, pair));
  near(summary.gpu_utilization, 0.3);
  near(summary.gpu_power_mean_watts, 200);
  near(summary.energy_coverage, (1 + 1 / 3) / 2);
  assert.deepEqual(
    nodes.map((n) => n.cpu_window_seconds),
    [300, 100],
  );
  const imbalance = about(materialOf(300, 1, pair), 'gpu-imbalance');
  assert.equal(imbalance.check.outcome, 'unmeasurable');
  const unused = { c1: { seconds: 3600, cpu: 3600, gpu: 50 }, c2: { seconds: 1800, cpu: 1800, gpu: 0 } };
  assert.equal(about(materialOf(3600, 1, unused), 'gpu-unused').finding!.evidence.at(-1)!.text, '0.5 GPU-hours unused');
});

/** A job of 100 s on two nodes; the agent of c2 came after 40 s, and the oldest that it found there began then, in seconds. */
function latecomer(oldest: number, record: Partial<AgentRecord> = {}, source: 'cgroup' | 'records' = 'cgroup') {
  const [whole, rest] = [span(100), span(60, 1, START + 40e6)];
  const service = { service: true as const, service_start: START - 60e6 };
  const late = { service_start: START + 39e6, ...record };
  const members = source === 'cgroup' ? {} : { scope: { members: 'environment' } };
  const made = [
    node('c1', agent('c1', whole, service), [cgroup(whole, 0.5, GIB)]),
    node('c2', agent('c2', rest, { ...service, ...late, ...members }), [
      ...(source === 'cgroup' ? [cgroup(rest, 0.5, GIB)] : []),
      table('loadavg', [series(rest, {}, { load1: level(rest, 1) })]),
      table('process', [
        series(rest, { pid: '7', start: String(START / 1000 + oldest * 1000) }, { user_ms: count(rest, 3e4) }),
      ]),
    ]),
  ];
  const reported = [{ pid: 7, node: 'c2', from: oldest, to: 100, cpu: 30 }];
  const processes = source === 'records' ? { processes: testSet(reported) } : {};
  return report(material(job(100, { nodes: ['c1', 'c2'], asked: { cpus: 2 } }), made, processes));
}

test('a node whose agent came late is named, and held against the time in which it was measured', () => {
  const windows = ({ nodes }: Report) => nodes.map((n) => [n.late_seconds, n.cpu_window_seconds]);
  const unseen = ({ unmeasured }: Report) => unmeasured.find(({ why }) => why.includes('came only then'));
  for (const source of ['cgroup', 'records'] as const) {
    const jobReport = latecomer(60, {}, source);
    assert.deepEqual(windows(jobReport).at(-1), [40, 60], source);
    near(jobReport.summary.cpu_utilization, 80 / 160);
    assert.deepEqual(unseen(jobReport)?.nodes, ['c2']);
    assert.equal(unseen(jobReport)?.what, 'the first 40.0 s of the job');
    assert.deepEqual(jobReport.quality.reasons, ['the agent of c2 came 40.0 s after the job’s start']);
    assert.ok(jobReport.quality.grade > 'A');
  }
  // a process that began before the agent came has used all that it did since
  assert.deepEqual(windows(latecomer(25)).at(-1), [40, 75]);
  // what runs there since the job's start has kept its cgroup, which has counted everything
  const kept = latecomer(1);
  assert.deepEqual(windows(kept).at(-1), [40, 100]);
  assert.equal(unseen(kept)?.what, 'the first 40.0 s of the job, but for its CPU time');
  // the agent was there: the job did nothing on that node until then
  const there = latecomer(40, { service_start: START - 60e6 });
  assert.deepEqual(windows(there), [
    [undefined, 100],
    [undefined, 100],
  ]);
  assert.deepEqual([unseen(there), there.quality.reasons], [undefined, ['gaps']]);
  const gaps = latecomer(60).findings.find(({ id }) => id === 'recording-gaps')!;
  assert.equal(gaps.evidence.at(-1)!.text, 'c2: its agent came 40.0 s after the job’s start');
  assert.match(gaps.advice, /start with them/);
});

test('agents that all came late are told once, by name', () => {
  const came = (...late: number[]) => {
    const nodes = late.map((seconds, i) => {
      const rest = span(21 - seconds, 1, START + seconds * 1e6);
      const service = { service: true as const, service_start: START + 1e6 };
      return node(`c${i + 1}`, agent(`c${i + 1}`, rest, service), [cgroup(rest, 0.5, GIB)]);
    });
    return report(material(job(21, { nodes: nodes.map((n) => n.node) }), nodes)).quality.reasons;
  };
  const share = '62 % of the job’s time recorded';
  assert.deepEqual(came(8.3, 8), ['the agents of c[1-2] came up to 8.3 s after the job’s start', share]);
  assert.deepEqual(came(8), [`${share}, the agent came 8.0 s after its start`]);
});
