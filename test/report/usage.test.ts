import assert from 'node:assert/strict';
import { test } from 'node:test';
import { report } from '../../src/judge/report.ts';
import type { Report } from '../../src/judge/report-schema.ts';
import type { Material } from '../../src/query/material.ts';
import { peakTogether } from '../../src/query/use/memory.ts';
import type { AgentRecord } from '../../src/recording/folder/agent-record.ts';
import type { Job } from '../../src/recording/folder/job.ts';
import { meters } from '../../src/show/report/meters.ts';
import { processTable } from '../../src/sources/process/table.ts';
import { BEGAN, type Told, testSet } from '../made/processes.ts';
import { agent, blink, cgroup, job, material, node, START, sleep, span, training } from '../made/report-jobs.ts';
import { count, level, series, table } from '../made/report-statistics.ts';

const GIB = 2 ** 30;

test('a command of 52 ms has its true figures', () => {
  const { summary } = report(blink());
  assert.equal(summary.wall_seconds, 0.052);
  assert.equal(summary.cpu_seconds, 0.047);
  assert.equal(summary.cpu_source, 'wait4');
  assert.equal(summary.memory_peak_bytes, 18 * 2 ** 20);
  assert.equal(summary.memory_source, 'process');
});

test('work that the command did not wait for is taken from the samples', () => {
  const sampledSpan = span(100);
  const launched = material(
    job(100, {
      asked: { cpus: 4 },
      usage: { ...sleep().job.usage!, wall_seconds: 100, user_seconds: 0.4, max_rss_bytes: 2 ** 23 },
    }),
    [node('c1', agent('c1', sampledSpan), [cgroup(sampledSpan, 3, 8 * GIB)])],
  );
  const { summary } = report(launched);
  assert.equal(summary.cpu_source, 'cgroup');
  assert.equal(summary.cpu_seconds, 300);
  assert.equal(summary.cpu_utilization, 0.75);
  assert.equal(summary.memory_peak_bytes, 8 * GIB);
});

/** `tacho run -- srun ./a.out` on one node: the command itself used 13 ms. */
function launched(processes: readonly Told[], user_seconds = 0.013, more: Partial<Material> = {}) {
  const sampledSpan = span(100);
  const usage = { ...sleep().job.usage!, wall_seconds: 100, user_seconds, system_seconds: 0 };
  const node1 = node('c1', agent('c1', sampledSpan, { scope: { members: 'tree' } }), []);
  const facts = job(100, { asked: { cpus: 2 }, usage });
  return report(material(facts, [node1], { processes: testSet(processes), ...more }));
}

test('work of less than a second that the command did not wait for is taken from the records', () => {
  const srun = { pid: 10, from: 0, to: 100, cpu: 0.013 };
  const { summary, records } = launched([srun, { pid: 20, ppid: 5, from: 1, to: 99, cpu: 1 }]);
  assert.deepEqual([summary.cpu_seconds, summary.cpu_source, records!.unexplained], [1.013, 'records', undefined]);
  // however many others recorded themselves, which is exact
  const many = Array.from({ length: 150 }, (_, i) => ({ pid: 100 + i, ppid: 10, from: 50, to: 51, cpu: 0.001 }));
  const beside = launched([srun, ...many, { pid: 20, ppid: 5, from: 1, to: 99, cpu: 0.9 }], 0.2).summary;
  assert.deepEqual([beside.cpu_seconds?.toFixed(3), beside.cpu_source], ['1.063', 'records']);
  // clocks of samples are coarse: a tick more for each of them, and one for all, is nothing
  const near = launched([srun, { pid: 20, ppid: 10, from: 1, to: 99, cpu: 1, source: 'sample' }], 0.999).summary;
  assert.deepEqual([near.cpu_source, near.cpu_seconds], ['wait4', 0.999]);
  const tick = launched([srun, { pid: 20, ppid: 10, from: 1, to: 99, cpu: 1 }], 1.004).summary;
  assert.deepEqual([tick.cpu_source, tick.cpu_seconds], ['wait4', 1.004]);
  const cgrouped = node('c1', agent('c1', span(100)), [cgroup(span(100), 0.0105, GIB)]);
  const own = launched([srun, { pid: 20, ppid: 5, from: 1, to: 99, cpu: 1 }], 0.013, { nodes: [cgrouped] }).summary;
  assert.deepEqual([own.cpu_source, own.cpu_seconds], ['cgroup', 1.05]);
  // it was gone before the end
  const gone = node('c1', agent('c1', span(100)), [cgroup(span(100), 0.005, GIB)]);
  const rest = launched([srun, { pid: 20, ppid: 5, from: 1, to: 99, cpu: 1 }], 0.013, { nodes: [gone] }).summary;
  assert.deepEqual([rest.cpu_source, rest.cpu_seconds], ['records', 1.013]);
});

test('of a cgroup that was not read to its end the records know more', () => {
  const sampledSpan = span(100);
  const reported = (each: number, cpu: number) => {
    const c1 = node('c1', agent('c1', sampledSpan), [cgroup(sampledSpan, each, GIB)]);
    const processes = testSet([{ pid: 10, from: 0, to: 100, cpu }]);
    const { summary, records, unmeasured } = report(material(job(100), [c1], { processes }));
    const why = unmeasured.filter(({ what }) => what.startsWith('CPU time that no process record'));
    return [summary.cpu_seconds, summary.cpu_source, records!.unexplained, why.length];
  };
  assert.deepEqual(reported(0.00686, 1), [1, 'records', undefined, 1]);
  assert.deepEqual(reported(0, 0.007), [0.007, 'records', undefined, 1]);
  assert.deepEqual(reported(0.01, 1), [1, 'cgroup', 0, 0]);
  assert.deepEqual(reported(0.01, 1.001).slice(0, 2), [1, 'cgroup'], 'two clocks are not one');
});

test('records are of processes that recorded themselves to the end, and no other', () => {
  const sampledSpan = span(100);
  const ended = { pid: 10, from: 0, to: 100, cpu: 1 };
  const sampled = { pid: 11, from: 0, to: 90, cpu: 2, source: 'sample' };
  const killed = { pid: 12, from: 0, source: 'start' };
  // it became another program, which recorded itself
  const before = { pid: 10, from: 0, to: 1, source: 'start', ended: 'exec' };
  const recordedProcesses = (processes: readonly Told[], end: number | undefined = sampledSpan.end) => {
    const { end: _, ...record } = agent('c1', sampledSpan, { scope: { members: 'tree' } });
    const load = table('loadavg', [series(span(10), {}, { load1: level(span(10), 1) })]);
    const c1 = node('c1', end === undefined ? record : { ...record, end }, [load]);
    return report(material(job(100, { asked: { cpus: 2 } }), [c1], { processes: testSet(processes) }));
  };
  const source = (...processes: Told[]) => recordedProcesses(processes).summary.cpu_source;
  assert.equal(source(ended, before), 'records');
  assert.equal(source(ended, { ...sampled, cpu: 0 }), 'records', 'a shell that only waited');
  assert.equal(source({ ...sampled, cpu: 0 }), 'processes');
  assert.equal(source(ended, sampled), 'records and samples');
  assert.equal(source(ended, killed), 'records and samples');
  assert.equal(source(sampled), 'processes');
  const sure = (...processes: Told[]) => {
    const { confidence, evidence } = recordedProcesses(processes).findings.find(({ id }) => id === 'cpu-underused')!;
    return [confidence, evidence[0]!.from];
  };
  assert.deepEqual(sure(sampled), ['medium', 'process']);
  assert.deepEqual(sure(ended, sampled), ['medium', 'process_end, process']);
});

test('what processes used on a node that fell silent is held against the time that it was seen', () => {
  const sampledSpan = span(10);
  const { end: _, ...silent } = agent('c1', sampledSpan, { scope: { members: 'tree' } });
  const load = table('loadavg', [series(sampledSpan, {}, { load1: level(sampledSpan, 1) })]);
  for (const source of ['record', 'sample']) {
    const processes = testSet([{ pid: 11, from: 0, to: 10, cpu: 1, source }]);
    const { summary } = report(material(job(40, { asked: { cpus: 1 } }), [node('c1', silent, [load])], { processes }));
    assert.equal(summary.cpu_utilization, 0.1);
  }
});

test('the CPU time of several nodes is as exact as its least exact part', () => {
  const sampledSpan = span(100);
  const records = testSet([
    { pid: 1, node: 'c1', from: 0, to: 100, cpu: 50 },
    { pid: 2, node: 'c2', from: 0, to: 90, cpu: 5, source: 'sample' },
  ]);
  const nodes = ['c1', 'c2', 'c3'].map((name) =>
    node(name, agent(name, sampledSpan, { scope: { members: 'tree' } }), []),
  );
  const of = (names: string[]) =>
    report(
      material(
        job(100, { nodes: names }),
        nodes.filter((n) => names.includes(n.node)),
        { processes: records },
      ),
    ).summary.cpu_source;
  assert.deepEqual([of(['c1']), of(['c2']), of(['c1', 'c2'])], ['records', 'processes', 'records and samples']);
});

test('of a part of the job the head and the line speak of the same CPUs, also where the job did nothing', () => {
  const sampledSpan = span(600);
  const busy = table('process', [
    series(sampledSpan, { pid: '5', start: '0' }, { user_ms: count(sampledSpan, 300_000) }),
  ]);
  const names = ['c1', 'c2', 'c3'];
  const nodes = names.map((name, i) =>
    node(name, agent(name, sampledSpan, { scope: { members: 'tree' }, tables: [processTable] }), [
      table('loadavg', [series(sampledSpan, {}, { load1: level(sampledSpan, 1) })]),
      ...(i === 0 ? [busy] : []),
    ]),
  );
  const range = { what: 'step 1', from: START, to: sampledSpan.end, nodes: names };
  const facts = job(600, { nodes: names, asked: { nodes: 3, cpus: 3 } });
  const reported = (more: Partial<Material>) => {
    const { cpus, cpus_measured, cpus_busy } = report(material(facts, nodes, { range, ...more })).summary;
    return [cpus, cpus_measured, cpus_busy];
  };
  assert.deepEqual(reported({}), [3, 3, 0.5]);
  // a store leaves out small processes: that none is there is not known
  assert.deepEqual(reported({ leftOut: [{ what: 'process', why: 'small' }] }), [3, 1, 0.5]);
  const whole = (more: Partial<Material>) => report(material(facts, nodes.slice(1), more)).summary.cpu_seconds;
  assert.deepEqual([whole({}), whole({ leftOut: [{ what: 'process', why: 'small' }] })], [0, undefined]);
});

test('what a command used on a machine that is not recorded is not the recorded one’s', () => {
  const sampledSpan = span(100);
  const used = { ...sleep().job.usage!, wall_seconds: 100, user_seconds: 40, max_rss_bytes: 9 * GIB };
  const far = (usage: Job['usage']) =>
    report(
      material(job(100, { asked: { cpus: 4 }, usage: usage! }), [
        node('c1', agent('c1', sampledSpan), [cgroup(sampledSpan, 0.1, GIB)]),
      ]),
    ).summary;
  assert.deepEqual([far(used).cpu_source, far(used).cpu_seconds! >= 40], ['wait4', true]);
  const { cpu_source, cpu_seconds, memory } = far({ ...used, elsewhere: true });
  assert.deepEqual([cpu_source, cpu_seconds, memory?.process_peak_max], ['cgroup', 10, undefined]);
});

test('a cgroup that others share says nothing about the job', () => {
  const sampledSpan = span(100);
  const shared = agent('c1', sampledSpan, { scope: { members: 'tree', cgroup: '/user.slice', cgroup_shared: true } });
  const one = (pid: string, cpu: number, rss: number) =>
    series(
      sampledSpan,
      { pid, start: String(START / 1000) },
      {
        user_ms: count(sampledSpan, cpu * 900),
        system_ms: count(sampledSpan, cpu * 100),
        rss_bytes: level(sampledSpan, rss),
      },
    );
  const jobReport = report(
    material(job(100, { asked: { cpus: 4 } }), [
      node('c1', shared, [
        cgroup(sampledSpan, 60, 300 * GIB),
        table('process', [one('1', 150, GIB), one('2', 50, 2 * GIB)]),
      ]),
    ]),
  );
  assert.equal(jobReport.summary.cpu_seconds, 200);
  assert.equal(jobReport.summary.cpu_source, 'processes');
  assert.equal(jobReport.summary.memory_peak_bytes, 3 * GIB);
  assert.deepEqual(jobReport.flows, []);
});

test('what Tacho’s own commands and its agent used is not the job’s, where all was counted together', () => {
  const sampledSpan = span(100);
  const own_use = { c1: { commands: 3, cpu_seconds: 6, max_rss_bytes: 60 * 2 ** 20 } };
  const usage = { ...sleep().job.usage!, wall_seconds: 100, user_seconds: 9, system_seconds: 1 };
  const ran = report(
    material(job(100, { asked: { cpus: 4 }, own_use, usage: { ...usage, max_rss_bytes: 62 * 2 ** 20 } }), [
      node('c1', agent('c1', sampledSpan), [
        table('process', [
          series(
            sampledSpan,
            { pid: '1', start: String(START / 1000) },
            { user_ms: count(sampledSpan, 900), rss_bytes: level(sampledSpan, 2 ** 22) },
          ),
        ]),
      ]),
    ]),
  );
  // 10 ms for the end of each of them
  assert.deepEqual([ran.summary.cpu_seconds?.toFixed(6), ran.summary.cpu_source], ['3.970000', 'wait4']);
  // the largest process was one of Tacho's
  assert.deepEqual([ran.summary.memory_peak_bytes, ran.summary.memory_source], [2 ** 22, 'process']);
  assert.deepEqual([ran.cost.commands, ran.cost.commands_cpu_seconds], [3, 6]);
  const scope = { members: 'cgroup', cgroup: '/job', cgroup_shared: false, cgroup_with_agent: true };
  const cost = table('agent', [series(sampledSpan, {}, { cpu_us: count(sampledSpan, 2e6) })]);
  const reported = (changes: Partial<Parameters<typeof job>[1]>) =>
    report(
      material(job(100, changes), [
        node('c1', agent('c1', sampledSpan, { scope }), [cgroup(sampledSpan, 3, 8 * GIB), cost]),
      ]),
    );
  assert.deepEqual(
    [reported({}), reported({ own_use })].map(({ summary }) => summary.cpu_seconds?.toFixed(6)),
    ['298.000000', '291.970000'],
  );
  assert.equal(reported({}).cost.in_memory_peak, true);
});

test('what Tacho’s commands used to end is neither in the job’s CPU time nor in what no record explains', () => {
  const sampledSpan = span(100);
  const reported = (user_seconds: number, commands: number, max_rss_bytes = 60 * 2 ** 20) => {
    const usage = { ...sleep().job.usage!, wall_seconds: 100, user_seconds, system_seconds: 0 };
    const own_use = { c1: { commands, cpu_seconds: 0.1 * commands, max_rss_bytes } };
    const processes = testSet([{ pid: 10, from: 0, to: 100, cpu: 0.032 }]);
    const { summary, records } = report(
      material(job(100, { own_use, usage }), [node('c1', agent('c1', sampledSpan), [])], { processes }),
    );
    assert.equal(summary.cpu_source, 'wait4');
    return [summary.cpu_seconds, records!.unexplained].map((value) => Number(value!.toFixed(6)));
  };
  assert.deepEqual(reported(0.145, 1), [0.032, 0]);
  // more than they can have used is somebody else's: the share is one of the figure that is shown
  assert.deepEqual(reported(0.17, 1), [0.064, 0.5]);
  assert.deepEqual(reported(0.27, 2), [0.058, 0.448276]);
  // a large one takes longer to go
  assert.deepEqual(reported(0.164, 1, 160 * 2 ** 20), [0.032, 0]);
  // many commands, and what left no record beside them
  assert.deepEqual(reported(2.032 + 20 * 0.0075, 20), [0.032, 0]);
  assert.deepEqual(reported(2.032 + 20 * 0.0075 + 0.18, 20), [0.242, 0.867769]);
});

test('processes that never met are not added up', () => {
  const one = (start: number, end: number, peak: number) => ({ start, end, peak });
  assert.equal(peakTogether([one(0, 10, 5), one(20, 30, 7), one(25, 40, 2)]), 9);
  assert.equal(peakTogether([one(10, 20, 7), one(0, 10, 5)]), 12, 'both were seen');
  assert.equal(peakTogether([]), undefined);
});

test('of a process that was several programs, each has its own time and peak', () => {
  const sampledSpan = span(100);
  const processOf = (pid: number, from: number, to: number, mib: number, more: Partial<Told> = {}): Told => {
    const later = (START - BEGAN) / 1e6;
    return { pid, from: from + later, to: to + later, birth: from + later, metrics: { rssmax: mib * 1024 }, ...more };
  };
  const processes = testSet([
    processOf(10, 0, 50, 2, { ended: 'exec' }),
    processOf(11, 10, 40, 300),
    processOf(10, 50, 100, 300, { birth: (START - BEGAN) / 1e6 }),
  ]);
  const sampled = [10, 11].map((pid) =>
    series(
      pid === 10 ? sampledSpan : { ...sampledSpan, start: START + 10e6, end: START + 40e6 },
      {
        pid: String(pid),
        start: String(START / 1000 + (pid === 10 ? 0 : 10_000)),
      },
      { rss_peak_bytes: level(sampledSpan, 300 * 2 ** 20) },
    ),
  );
  const c1 = node('c1', agent('c1', sampledSpan, { scope: { members: 'tree' } }), [table('process', sampled)]);
  assert.deepEqual(report(material(job(100), [c1], { processes })).summary.memory, {
    process_peaks_sum: 302 * 2 ** 20,
    process_peak_max: 300 * 2 ** 20,
  });
});

test('peaks are added up of processes that were recorded, not only of those that sampling saw', () => {
  const peak = (mib: number) => ({ metrics: { rssmax: mib * 1024 } });
  const { memory, memory_peak_bytes, memory_source } = launched([
    { pid: 10, from: 0, to: 100, ...peak(2) },
    { pid: 11, from: 10, to: 10.1, ...peak(200) },
    { pid: 12, from: 10.2, to: 10.3, ...peak(100) },
    { pid: 13, from: 20, to: 30, ...peak(150) },
    { pid: 14, from: 25, source: 'start' },
    { pid: 15, from: 0, to: 100, node: 'c2', ...peak(999) },
  ]).summary;
  assert.deepEqual(memory, { process_peaks_sum: 202 * 2 ** 20, process_peak_max: 200 * 2 ** 20 });
  assert.deepEqual([memory_peak_bytes, memory_source], [202 * 2 ** 20, 'processes']);
});

test('memory that processes may share is held against the limit as what it is: an upper bound', () => {
  // forked processes of 24 GiB each, which may be the same 24 GiB
  const finding = (each: number, count = 3) => {
    const sampledSpan = span(3600);
    const process = (pid: number) =>
      series(
        sampledSpan,
        { pid: String(pid), start: String(START / 1000) },
        { rss_bytes: level(sampledSpan, each * GIB) },
      );
    const all = table(
      'process',
      Array.from({ length: count }, (_, i) => process(5 + i)),
    );
    const c1 = node('c1', agent('c1', sampledSpan, { scope: { members: 'tree' } }), [all]);
    const { findings } = report(material(job(3600, { asked: { memory_bytes: 64 * GIB } }), [c1]));
    return findings.find(({ id }) => id === 'memory-near-limit')!;
  };
  const maybe = finding(24);
  assert.equal(maybe.severity, 'advice');
  assert.equal(maybe.confidence, 'low');
  assert.equal(maybe.text, 'Memory may have come near its limit on c1: the peaks of all processes add up to 113 %');
  assert.match(maybe.evidence[0]!.text, /^c1: at most 72\.0 GiB of 64\.0 GiB/);
  assert.match(maybe.evidence[1]!.text, /^c1: at least 24\.0 GiB/);
  assert.doesNotMatch(maybe.advice, /--mem/);
  // one process alone is no bound from above
  const sure = finding(60);
  assert.equal(sure.severity, 'warning');
  assert.equal(sure.text, 'Memory reached at least 94 % of its limit on c1');
  assert.equal(finding(60, 1).severity, 'warning');
});

/** A job of four processes of 6 GiB each, and what else is known of its node. */
function forked(tables: readonly ReturnType<typeof table>[], asked = 64) {
  const sampledSpan = span(3600);
  const process = (pid: number) =>
    series(sampledSpan, { pid: String(pid), start: String(START / 1000) }, { rss_bytes: level(sampledSpan, 6 * GIB) });
  const processes = table('process', [1, 2, 3, 4].map(process));
  const c1 = node('c1', agent('c1', sampledSpan, { scope: { members: 'tree' } }), [processes, ...tables]);
  return report(material(job(3600, { asked: { memory_bytes: asked * GIB } }), [c1]));
}

const memoryLine = (jobReport: Report): string => meters(jobReport).find(({ name }) => name === 'memory')!.text;

test('memory that processes share counts once', () => {
  const sampledSpan = span(3600);
  const pss = (all: number, shared: number) =>
    table('process_memory', [
      series(
        sampledSpan,
        {},
        { pss_bytes: level(sampledSpan, all * GIB), shared_bytes: level(sampledSpan, shared * GIB) },
      ),
    ]);
  const jobReport = forked([pss(7, 17)]);
  assert.deepEqual([jobReport.summary.memory_peak_bytes, jobReport.summary.memory_source], [7 * GIB, 'pss']);
  assert.deepEqual(jobReport.summary.memory, {
    process_peaks_sum: 24 * GIB,
    process_pss_max: 7 * GIB,
    process_shared_max: 17 * GIB,
    process_peak_max: 6 * GIB,
  });
  assert.equal(memoryLine(jobReport), '7.0 GiB of 64.0 GiB (processes, shared memory once)');
  const figure = (all: number, shared: number) => forked([pss(all, shared)]).summary.memory_peak_bytes! / GIB;
  assert.equal(figure(6, 17), 7, 'what was not seen to be shared counts for each');
  // read when most of it was not there yet
  assert.equal(memoryLine(forked([pss(2, 2)])), 'at most 24.0 GiB of 64.0 GiB (processes)');
  assert.equal(figure(20, 17), 20, 'shared at one time, and each its own at another');
  assert.equal(figure(3, 21), 6, 'not less than one process had');
  assert.equal(memoryLine(forked([pss(23.5, 0.5)])), 'at most 24.0 GiB of 64.0 GiB (processes)');
});

test('near the limit by the upper bound only, processes that share are no finding', () => {
  const sampledSpan = span(3600);
  const once = table('process_memory', [
    series(sampledSpan, {}, { pss_bytes: level(sampledSpan, 7 * GIB), shared_bytes: level(sampledSpan, 17 * GIB) }),
  ]);
  const near = (tables: readonly ReturnType<typeof table>[], asked: number) =>
    forked(tables, asked).findings.find(({ id }) => id === 'memory-near-limit');
  assert.equal(near([], 25)!.severity, 'advice');
  assert.equal(near([once], 25), undefined);
  const sure = near([once], 7.5)!;
  assert.deepEqual([sure.severity, sure.text], ['warning', 'Memory reached at least 93 % of its limit on c1']);
  assert.match(sure.evidence[0]!.text, /^c1: 7\.0 GiB of 7\.5 GiB \(all processes, shared memory once\)$/);
});

test('what may lie in files in memory is no upper bound, and nobody is told to ask for less than that', () => {
  const sampledSpan = span(3600);
  const shmem = (grown: number) =>
    table('meminfo', [
      series(sampledSpan, {}, { Shmem_bytes: { ...level(sampledSpan, GIB), first: GIB, max: (1 + grown) * GIB } }),
    ]);
  assert.equal(memoryLine(forked([shmem(1)])), 'at most 24.0 GiB of 64.0 GiB (processes)', 'less than 5 %');
  const jobReport = forked([shmem(10)]);
  assert.equal(
    memoryLine(jobReport),
    '24.0 GiB of 64.0 GiB (processes, shared memory counted for each; perhaps 10.0 GiB more in /dev/shm)',
  );
  // a little of it may be anybody's: the card says nothing of it
  const little: Report = { ...jobReport, summary: { ...jobReport.summary, memory_shm_bytes: 30 * 2 ** 20 } };
  const onCard = (each: Report): string => meters(each, false).find(({ name }) => name === 'memory')!.text;
  assert.equal(onCard(little), '24.0 GiB of 64.0 GiB');
  assert.match(onCard(jobReport), /perhaps 10\.0 GiB more in \/dev\/shm/);
  assert.equal(jobReport.nodes[0]!.memory_shm_bytes, 10 * GIB);
  const unused = (grown: number) => forked([shmem(grown)], 100).findings.find(({ id }) => id === 'memory-unused');
  assert.match(unused(10)!.text, /^34\.0 GiB of 100 GiB/);
  assert.match(unused(10)!.advice, /--mem=44G/);
  assert.equal(unused(30), undefined);
});

test('the ways to count memory stay apart', () => {
  assert.deepEqual(report(training()).summary.memory, {
    cgroup_peak: 180 * GIB,
    cgroup_anon_max: 180 * GIB * 0.7,
    cgroup_file_max: 180 * GIB * 0.3,
    process_peaks_sum: 124 * GIB,
    process_peak_max: 15.5 * GIB,
  });
});

test('traffic is counted once, at the hardware', () => {
  const network = report(training()).flows.find((f) => f.what === 'network');
  assert.equal(network?.in_bytes, 48e12);
  assert.equal(network?.in_peak_at, 'c1 mlx5_0:1');
});

test('a divided card is not counted beside its parts', () => {
  const sampledSpan = span(100);
  const card = (gpu: string, busy?: number) =>
    series(
      sampledSpan,
      { gpu },
      {
        ...(busy === undefined ? {} : { utilization_percent: level(sampledSpan, busy) }),
        power_watts: level(sampledSpan, 50),
      },
    );
  const { summary } = report(
    material(job(100), [
      node('c1', agent('c1', sampledSpan), [
        table('gpu', [card('0'), card('0:mig-1', 80), card('0:mig-2', 40), card('1', 90)]),
      ]),
    ]),
  );
  assert.equal(summary.gpus, 3);
  assert.equal(summary.gpu_utilization?.toFixed(6), '0.700000');
});

test('a node that failed with its agent has stopped, however near its last sample lies to the end that is known', () => {
  const sampledSpan = span(100);
  const reported = (state: Job['state']) => {
    const killed = agent('c1', sampledSpan, { service: true, end: START + 100e6, end_reason: 'the agent was killed' });
    const { nodes, findings } = report(
      material(job(100, { state }), [node('c1', killed, [cgroup(sampledSpan, 1, GIB)])]),
    );
    return [nodes[0]!.status, findings.find(({ id }) => id === 'node-lost')?.text];
  };
  assert.deepEqual(reported('node_fail'), ['stopped early', 'c1 stopped after 1 min 40 s']);
  assert.deepEqual(reported('completed'), ['recorded', undefined]);
});

test('a killed agent has stopped early also in a job of seconds, and one without a farewell is given some seconds', () => {
  const [sampledSpan, whole] = [span(3), 8];
  const reported = (reason: string) => {
    const one = agent('c1', sampledSpan, { service: true, end: sampledSpan.end, end_reason: reason });
    const { nodes, quality } = report(material(job(whole), [node('c1', one, [cgroup(sampledSpan, 1, GIB)])]));
    return [nodes[0]!.status, quality.grade === 'A'];
  };
  assert.deepEqual(reported('the agent was killed'), ['stopped early', false]);
  assert.deepEqual(reported('the job has ended')[0], 'recorded');
});

test('the agent of a node may say its farewell some seconds after the scheduler knows of the end, but not much later', () => {
  const sampledSpan = span(100);
  const reported = (service: { service?: true }, later: number) => {
    const { end: _, ...record } = agent('c1', sampledSpan, service);
    const facts = job(100);
    const one = node('c1', record, [cgroup(sampledSpan, 1, GIB)]);
    const { nodes, quality, findings } = report(material(facts, [one], { now: facts.end! + later * 1e6 }));
    const lost = findings.find(({ id }) => id === 'node-lost');
    return [nodes[0]!.status, quality.grade, /killed.*/.exec(lost?.evidence[0]?.text ?? '')?.[0]];
  };
  assert.deepEqual(reported({ service: true }, 2), ['recording', 'A', undefined]);
  const elsewhere = 'killed, the node was lost, or another hub has the rest';
  assert.deepEqual(reported({ service: true }, 60), ['stopped early', 'B', elsewhere]);
  assert.deepEqual(reported({}, 2), ['stopped early', 'B', 'killed or the node was lost: it recorded no end']);
});

test('an agent that the scheduler ended with the job has recorded it to its end, and not one that fell silent before', () => {
  const lastSample = (state: Job['state'], lastSample: number) => {
    const sampledSpan = span(lastSample);
    const { end: _, ...record } = agent('c1', sampledSpan);
    const { nodes, quality, findings } = report(
      material(job(100, { state }), [node('c1', record, [cgroup(sampledSpan, 1, GIB)])]),
    );
    return [nodes[0]!.status, quality.grade, findings.some(({ id }) => id === 'node-lost')];
  };
  assert.deepEqual(lastSample('timeout', 98), ['recorded', 'A', false]);
  assert.deepEqual(lastSample('cancelled', 100), ['recorded', 'A', false]);
  assert.deepEqual(lastSample('timeout', 96), ['stopped early', 'B', true]);
  // nobody ended it: it was killed
  assert.deepEqual(lastSample('completed', 99), ['stopped early', 'B', true]);
});

test('the highest use of CPUs is not below the mean of a job that is shorter than the interval', () => {
  const c1 = node('c1', agent('c1', span(1)), [cgroup(span(1), 0.05, GIB)]);
  const { nodes } = report(material(job(0.1, { asked: { cpus: 1 } }), [c1]));
  assert.deepEqual([nodes[0]!.cpu_utilization, nodes[0]!.cpu_utilization_max], [0.5, 0.5]);
});

test('in a part of a job a node has stopped early only where it fell silent in that part', () => {
  const reported = (to: number) => {
    const sampledSpan = span(to);
    const { end: _, ...record } = agent('c1', sampledSpan, { last_sample: START + 20e6 });
    const range = { what: 'the time asked for', from: START, to: START + 60e6 };
    const one = node('c1', record, [cgroup(sampledSpan, 1, GIB)]);
    return report(material(job(100), [one], { range })).nodes[0]!.status;
  };
  assert.deepEqual([reported(60), reported(58), reported(40)], ['recorded', 'recorded', 'stopped early']);
});

test('processes that were gone at the sample after their first used nobody knows what, not nothing', () => {
  const used = (seconds: number) => {
    const sampledSpan = span(seconds, 10);
    const sampledProcess = series(
      sampledSpan,
      { pid: '7', start: '1' },
      { user_ms: count(sampledSpan, 0), system_ms: count(sampledSpan, 0) },
    );
    const every = { interval_seconds: 10 };
    const one = node('c1', agent('c1', sampledSpan, { scope: { members: 'tree' }, ...every }), [
      table('process', [sampledProcess]),
    ]);
    return report(material(job(seconds, every), [one])).summary.cpu_seconds;
  };
  assert.deepEqual([used(10), used(30)], [undefined, 0]);
});

test('an agent that came when the job was over says nothing of its processes', () => {
  const [late, sampledSpan] = [span(5, 1, START + 105e6), span(100)];
  const load = (when: typeof sampledSpan) => table('loadavg', [series(when, {}, { load1: level(when, 1) })]);
  const used = (when: typeof sampledSpan) => {
    const sought = agent('c1', when, { service: true, scope: { members: 'environment' }, ticks: 5 });
    const c1 = node('c1', { ...sought, tables: [processTable] }, [load(when)]);
    return report(material(job(100, { scheduler: 'slurm' }), [c1])).summary.cpu_seconds;
  };
  assert.deepEqual([used(sampledSpan), used(late)], [0, undefined]);
});

test('a job without processes used no CPU time, but not one whose processes nobody can find', () => {
  const sampledSpan = span(100);
  const load = table('loadavg', [series(sampledSpan, {}, { load1: level(sampledSpan, 1) })]);
  const reported = (scheduler: Job['scheduler']) => {
    const sought = agent('c1', sampledSpan, { service: true, scope: { members: 'environment' }, ticks: 100 });
    const c1 = node('c1', { ...sought, tables: [processTable] }, [load]);
    const nothing = table('process_total', [series(sampledSpan, {}, { cpu_us: { ...count(sampledSpan, 0), max: 0 } })]);
    const stored = node('c1', { ...sought, tables: [processTable] }, [load, nothing]);
    const facts = job(100, { scheduler });
    const leftOut = [{ what: 'short processes', why: 'of a store' }];
    return [material(facts, [c1]), material(facts, [stored], { leftOut })].map((m) => report(m).summary.cpu_seconds);
  };
  assert.deepEqual(reported('slurm'), [0, 0]);
  assert.deepEqual(
    [reported('none'), reported('pbs')],
    [
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
  // what ran on another node shows that they are found
  const nodeWith = (name: string, tables: Parameters<typeof node>[2]) =>
    node(
      name,
      {
        ...agent(name, sampledSpan, { service: true, scope: { members: 'environment' }, ticks: 100 }),
        tables: [processTable],
      },
      tables,
    );
  const ran = table('process', [
    series(sampledSpan, { pid: '7', start: String(START / 1000) }, { user_ms: count(sampledSpan, 2000) }),
  ]);
  const both = report(
    material(job(100, { scheduler: 'pbs', nodes: ['c1', 'c2'] }), [
      nodeWith('c1', [load, ran]),
      nodeWith('c2', [load]),
    ]),
  );
  assert.deepEqual(
    both.nodes.map(({ cpu_seconds }) => cpu_seconds),
    [2, 0],
  );
});

test('of a job that began before the agent of its node, CPU time and time count from its start; not so after `tacho start`', () => {
  const sampledSpan = span(5, 1, START + 5e6);
  const reported = (facts: Partial<AgentRecord>, inCgroup: boolean): unknown[] => {
    const used = { ...count(sampledSpan, 0.08e6), first: 1.92e6, last: 2e6 };
    const ran = { ...count(sampledSpan, 80), first: 1920, last: 2000 };
    const tables = [
      table('process', [series(sampledSpan, { pid: '7', start: String(START / 1000 + 100) }, { user_ms: ran })]),
      ...(inCgroup ? [table('cgroup', [series(sampledSpan, { cgroup: '.' }, { usage_us: used })])] : []),
    ];
    const record = agent('c1', sampledSpan, {
      ...facts,
      facts: { ...agent('c1', sampledSpan).facts, allowed_cpus: 1 },
    });
    const { summary, nodes, processes } = report(material(job(10), [node('c1', record, tables)]));
    const [one] = nodes;
    return [summary.cpu_seconds, one!.cpu_window_seconds, one!.cpu_utilization, processes.map((p) => p.cpu_seconds)];
  };
  const scope = { members: 'cgroup', cgroup: '/slurm/job_4711', cgroup_shared: false };
  for (const inCgroup of [true, false]) {
    assert.deepEqual(reported({ service: true }, inCgroup), [2, 10, 0.2, [2]]);
    assert.deepEqual(reported({}, inCgroup), [0.08, 5, 0.016, [0.08]]);
  }
  // in what it had counted before there is what another job used
  const older = { ...scope, cgroup_older: true };
  assert.deepEqual(reported({ service: true, scope: older }, true), [0.08, 5, 0.016, [2]]);
  // the job came into it only after 6 s: it had used nothing until then
  const [whole, part] = [span(10), span(4, 1, START + 6e6)];
  const record = agent('c1', whole, { service: true, scope: older });
  const tables = [
    table('cgroup', [series(part, { cgroup: '.' }, { usage_us: { ...count(part, 1e6), first: 3e6, last: 4e6 } })]),
    table('loadavg', [series(whole, {}, { load1: level(whole, 1) })]),
  ];
  const [nodeReport] = report(material(job(10), [node('c1', record, tables)])).nodes;
  assert.deepEqual([nodeReport!.cpu_seconds, nodeReport!.cpu_window_seconds], [1, 10]);
});
