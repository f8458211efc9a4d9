import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finding, outcome, single } from '../../../test/made/findings.ts';
import { testJob, testSet } from '../../../test/made/processes.ts';
import { agent, cgroup, job, material, node, START, span } from '../../../test/made/report-jobs.ts';
import { count, series, table } from '../../../test/made/report-statistics.ts';
import type { Material } from '../../query/material.ts';
import type { Marker } from '../../recording/read/markers.ts';

process.env.TZ = 'UTC';

/** An hour in which a phase took place again and again, each time for so many seconds. */
function phases(seconds: readonly number[], name = (i: number) => `epoch ${i + 1}`): Material {
  let at = START;
  const markers = seconds.flatMap((each, i): Marker[] => {
    const begin = at;
    at += (each + 1) * 1e6;
    return [
      { time: begin, node: 'c1', action: 'begin', name: name(i) },
      { time: begin + each * 1e6, node: 'c1', action: 'end', name: name(i) },
    ];
  });
  return { ...single(), markers };
}

test('phases that take longer and longer, by their numbers or by one name', () => {
  const grown = Array.from({ length: 12 }, (_, i) => 100 + 10 * i);
  const { severity, text, evidence, confidence } = finding(phases(grown), 'phases-slower');
  assert.deepEqual([severity, confidence], ['advice', 'high']);
  assert.equal(text, 'The phase “epoch …” became slower: 1 min 55 s at first, 3 min 15 s at last (12 times)');
  assert.match(evidence[0]!.text, /^the last third took 1\.7\d? times as long as the first/);
  assert.equal(
    finding(
      phases(
        grown.slice(0, 7).map((s) => (s * s) / 100),
        () => 'solve',
      ),
      'phases-slower',
    ).confidence,
    'medium',
  );
  const fine = (seconds: number[]) =>
    assert.equal(outcome(phases(seconds), 'phases-slower')?.outcome, 'fine', String(seconds));
  fine(grown.map((_, i) => 200 + (i % 3)));
  fine(grown.toReversed());
  // a little, and to and fro
  fine(grown.map((_, i) => 200 + 3 * i));
  fine([100, 300, 90, 310, 120, 290, 80, 300, 100, 320]);
  assert.equal(outcome(phases(grown.slice(0, 5)), 'phases-slower')?.outcome, 'skipped');
  assert.equal(
    outcome(
      phases(grown, (i) => 'abcdefghijkl'[i]!),
      'phases-slower',
    )?.outcome,
    'skipped',
  );
});

test('nodes: work that fits on fewer of them', () => {
  const spread = (n: number, busy: number, memory: number, gpus = 0): Material => {
    const sampledSpan = span(3600);
    const names = Array.from({ length: n }, (_, i) => `c${i + 1}`);
    return material(
      job(3600, { nodes: names, asked: { nodes: n, cpus: 4 * n, ...(gpus > 0 ? { gpus } : {}) } }),
      names.map((name) => node(name, agent(name, sampledSpan), [cgroup(sampledSpan, busy, memory * 2 ** 30)])),
    );
  };
  // nodes of 64 CPUs and 512 GiB
  const { severity, text, advice, evidence } = finding(spread(4, 4, 10), 'scattered-nodes');
  assert.equal(severity, 'advice');
  assert.equal(text, 'The work would fit on 1 node: it ran on 4 (c[1-4]) and used 19.2 CPUs at most');
  assert.match(advice, /ask for 1 node \(#SBATCH --nodes=1\)/);
  assert.match(evidence[1]!.text, /^48\.0 GiB with a margin of 20 %, on nodes of 512 GiB$/);
  assert.equal(outcome(spread(4, 40, 10), 'scattered-nodes')?.outcome, 'fine');
  assert.equal(outcome(spread(4, 4, 300), 'scattered-nodes')?.outcome, 'fine');
  assert.equal(outcome(spread(1, 4, 10), 'scattered-nodes')?.outcome, 'skipped');
});

test('CPUs that a hypervisor gave to others, and CPUs that heat slowed down', () => {
  const reported = (stolen: number, heat: number, busy?: number): Material => {
    const sampledSpan = span(3600);
    const own = busy === undefined ? [] : [cgroup(sampledSpan, busy, 2 ** 30)];
    const all = {
      busy_ms: count(sampledSpan, 3000e3),
      idle_ms: count(sampledSpan, 600e3),
      iowait_ms: count(sampledSpan, 0),
    };
    const cpu = series(sampledSpan, { cpu: 'all' }, { ...all, steal_ms: count(sampledSpan, stolen * 1000) });
    const interrupts = series(sampledSpan, { interrupt: 'TRM' }, { count: count(sampledSpan, heat) });
    return material(job(3600), [
      node('c1', agent('c1', sampledSpan), [...own, table('cpu', [cpu]), table('interrupts', [interrupts])]),
    ]);
  };
  const stolen = finding(reported(600, 0), 'cpu-steal');
  assert.equal(stolen.severity, 'warning');
  assert.equal(stolen.text, 'The hypervisor gave 20 % of the CPU time of c1 to other machines');
  assert.equal(stolen.evidence[0]!.text, 'c1: 10 min 00 s stolen, 20 % of the time in which its CPUs had work');
  assert.equal(outcome(reported(60, 0), 'cpu-steal')?.outcome, 'fine');
  // a job that only waits has lost nothing
  assert.equal(outcome(reported(600, 0, 0.01), 'cpu-steal')?.outcome, 'fine');
  assert.equal(outcome(reported(600, 0, 60), 'cpu-steal')?.outcome, 'found');
  assert.equal(finding(reported(0, 11), 'cpu-thermal').text, 'Heat slowed down the CPUs of c1');
  assert.equal(outcome(reported(0, 10), 'cpu-thermal')?.outcome, 'fine');
  assert.equal(outcome(single(), 'cpu-steal')?.outcome, 'skipped');
});

test('single CPUs of the job on which nothing ran', () => {
  const materialOf = (shares: readonly number[], allowed = '0-3'): Material => {
    const sampledSpan = span(3600);
    const cpus = shares.map((share, cpu) =>
      series(sampledSpan, { cpu: String(cpu) }, { busy_ms: count(sampledSpan, share * 3600e3) }),
    );
    const start = String(START / 1000);
    const process = series(sampledSpan, { pid: '5', start }, {}, { name: 'solve', allowed_cpus: allowed });
    return material(job(3600, { asked: { nodes: 1, cpus: 4 } }), [
      node('c1', agent('c1', sampledSpan), [
        cgroup(sampledSpan, 1.9, 2 ** 30),
        table('cpu', cpus),
        table('process', [process]),
      ]),
    ]);
  };
  const { severity, text, evidence } = finding(materialOf([0.95, 0.01, 0.95, 0]), 'core-idle');
  assert.equal(severity, 'info');
  assert.equal(text, 'Nothing ran on 2 CPUs of the job: 1 and 3 on c1');
  assert.equal(evidence[0]!.text, 'c1: 2 of 4 CPUs idle (less than 2 % of the time), the busiest 95 % busy');
  assert.equal(outcome(materialOf([0.5, 0.5, 0.5, 0.4]), 'core-idle')?.outcome, 'fine');
  assert.equal(outcome(materialOf([0.95, 0.01, 0.95, 0], '0-7'), 'core-idle')?.outcome, 'skipped');
});

test('CPUs of the job that are barred to all processes that worked, whoever else uses them', () => {
  const materialOf = (allowed: string, threads: number, cpu = 3500): Material => {
    const sampledSpan = span(3600);
    const cpus = [0, 1, 2, 3].map((i) =>
      series(sampledSpan, { cpu: String(i) }, { busy_ms: count(sampledSpan, 3400e3) }),
    );
    const start = String(START / 1000);
    const sampled = [
      series(sampledSpan, { pid: '5', start }, {}, { name: 'bash', allowed_cpus: '0-3' }),
      series(sampledSpan, { pid: '6', start }, {}, { name: 'solve', allowed_cpus: allowed }),
    ];
    const processes = testSet(
      [
        { pid: 5, from: 0, to: 3600, cpu: 1, exename: 'bash', threads: 1, source: 'record' },
        { pid: 6, ppid: 5, from: 0, to: 3600, cpu, exename: 'solve', threads, source: 'record' },
      ],
      [testJob()],
    );
    return material(
      job(3600, { asked: { nodes: 1, cpus: 4 } }),
      [
        node('c1', agent('c1', sampledSpan), [
          cgroup(sampledSpan, 1.9, 2 ** 30),
          table('cpu', cpus),
          table('process', sampled),
        ]),
      ],
      { processes },
    );
  };
  const { text, evidence, confidence } = finding(materialOf('0,2', 1), 'core-idle');
  assert.equal(text, 'The job did not use 2 CPUs of its own: 1 and 3 on c1');
  assert.equal(evidence[0]!.text, 'c1: 2 of 4 CPUs barred to all processes that worked, the busiest 94 % busy');
  assert.equal(confidence, 'high');
  assert.equal(outcome(materialOf('0-3', 1), 'core-idle')?.outcome, 'fine');
  // of several threads only the first one's CPUs are known: OMP_PROC_BIND gives each its own
  assert.equal(outcome(materialOf('0', 4, 14000), 'core-idle')?.outcome, 'fine');
});
