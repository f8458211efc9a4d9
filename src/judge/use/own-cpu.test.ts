import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testSet } from '../../../test/made/processes.ts';
import { agent, cgroup, job, material, node, START, sleep, span } from '../../../test/made/report-jobs.ts';
import { count, series, table } from '../../../test/made/report-statistics.ts';
import { report } from '../report.ts';

/** `tacho run` in a job of two nodes: the command by wait4 and in records, the cgroups of both, `tacho run` itself on c1. */
function reported(used: { wait4: number; records?: number; c1: number; c2: number; run?: number }) {
  const lifetime = span(1);
  const scope = { members: 'cgroup', cgroup: '/job', cgroup_shared: false, cgroup_with_agent: true } as const;
  const cost = table('agent', [series(lifetime, {}, { cpu_us: count(lifetime, 50_000) })]);
  const on = (name: 'c1' | 'c2') =>
    node(name, agent(name, lifetime, { scope }), [cgroup(lifetime, used[name], 2 ** 30), cost]);
  const usage = { ...sleep().job.usage!, wall_seconds: 1, user_seconds: used.wait4, system_seconds: 0 };
  const run_use = used.run === undefined ? {} : { run_use: { node: 'c1', cpu_seconds: used.run } };
  const { records } = used;
  const processes =
    records === undefined ? {} : { processes: testSet([{ pid: 10, node: 'c1', from: 0, to: 1, cpu: records }]) };
  const facts = job(1, { nodes: ['c1', 'c2'], usage, ...run_use });
  const { nodes } = report(material(facts, [on('c1'), on('c2')], processes));
  return nodes.flatMap(({ cpu_seconds, cpu_source }) => [Number(cpu_seconds!.toFixed(6)), cpu_source]);
}

test('in a job of several nodes, what `tacho run` used itself is not the job’s', () => {
  // a command of 1.4 ms, beside an agent of 50 ms
  const blink = { wait4: 0.0014, c1: 0.084, c2: 0.03 };
  assert.deepEqual(reported({ ...blink, run: 0.04 }), [0.0014, 'wait4', 0, 'cgroup']);
  assert.deepEqual(reported({ ...blink, records: 0.0012, run: 0.04 }), [0.0014, 'wait4', 0, 'cgroup']);
  // what nobody noted: srun and the scheduler's daemon
  assert.deepEqual(reported({ ...blink, run: 0.015 }), [0.0014, 'wait4', 0, 'cgroup']);
  // a recording of before
  assert.deepEqual(reported(blink), [0.034, 'cgroup', 0, 'cgroup']);
});

test('what srun started on the command’s own node is the job’s, whether or not it left records', () => {
  const srun = { wait4: 0.02, c1: 0.61, c2: 0.55, run: 0.04 };
  assert.deepEqual(reported(srun), [0.52, 'cgroup', 0.5, 'cgroup']);
  assert.deepEqual(reported({ ...srun, records: 0.515 }), [0.515, 'cgroup', 0.5, 'cgroup']);
});

test('of a part of a job, what commands of Tacho’s used in it is not the job’s either', () => {
  const second = (s: number): number => START + s * 1e6;
  // the first ended in the part, after three quarters of its life; the second is in it; the third came later
  const spans: [number, number, number][] = [
    [second(9.7), second(10.1), 1],
    [second(30), second(30.2), 1],
    [second(60), second(60.2), 1],
  ];
  // each uses a hundredth of a second more to end
  const own = (time: number): number =>
    spans.reduce((sum, [from, to]) => sum + 1.01 * Math.min(1, Math.max(0, (time - from) / (to - from))), 0);
  const times = Array.from({ length: 1001 }, (_, i) => second(i / 10));
  // a tenth of a CPU is the job's
  const values = times.map((time) => (time - START) * 0.1 + own(time) * 1e6);
  const sampled = { keys: { cgroup: '.' }, points: new Map([['usage_us', { times, values, interval: 0.1 }]]) };
  const samples = new Map([['c1', { series: new Map([['cgroup', [sampled]]]), processes: [], damage: [] }]]);
  const used = (noted?: typeof spans) => {
    const own_use = { c1: { commands: 3, cpu_seconds: 3, max_rss_bytes: 0, ...(noted && { spans: noted }) } };
    const range = { what: 'phase "a"', from: second(10), to: second(50) };
    const on = (lifetime: ReturnType<typeof span>, cpus: number) =>
      node('c1', agent('c1', span(100)), [cgroup(lifetime, cpus, 2 ** 30)]);
    const whole = material(job(100, { own_use }), [on(span(100), 0.1303)], { samples });
    const nodeMaterial = on(span(40, 1, second(10)), 0.1);
    return Number(
      report(material(job(100, { own_use }), [nodeMaterial], { range, whole })).summary.cpu_seconds!.toFixed(6),
    );
  };
  assert.equal(used(spans), 4);
  // of those that noted no times it is known that they ran, and not when
  assert.equal(used(), Number(((4 + 1.01 * 1.25) * (10 / 13.03)).toFixed(6)));
});
