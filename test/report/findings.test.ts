import assert from 'node:assert/strict';
import { test } from 'node:test';
import { report } from '../../src/judge/report.ts';
import type { Finding } from '../../src/judge/report-schema.ts';
import { reportSchema } from '../../src/judge/report-schema.ts';
import { rules } from '../../src/judge/rules/index.ts';
import type { Material } from '../../src/query/material.ts';
import { reportJson } from '../../src/show/report/json.ts';
import { verdict } from '../../src/show/report/verdict.ts';
import { finding, ids, outcome, single } from '../made/findings.ts';
import { type Told, testJob, testSet } from '../made/processes.ts';
import {
  agent,
  blink,
  cgroup,
  days,
  job,
  killedNode,
  material,
  node,
  START,
  sleep,
  span,
  training,
  usage,
} from '../made/report-jobs.ts';
import { count, level, series, table } from '../made/report-statistics.ts';

process.env.TZ = 'UTC';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

test('a job that uses what it asked for has no findings', () => {
  const jobReport = report(single());
  assert.deepEqual(jobReport.findings, []);
  assert.deepEqual(
    jobReport.checks.filter((c) => c.outcome === 'unmeasurable'),
    [],
  );
});

test('every check has an outcome, and its reason where there is no verdict', () => {
  for (const jobMaterial of [sleep(), blink(), training(), killedNode(), days()]) {
    const { checks: made } = report(jobMaterial);
    assert.deepEqual(
      made.map((c) => c.id),
      rules.map((c) => c.id),
    );
    for (const c of made) if (c.outcome === 'skipped' || c.outcome === 'unmeasurable') assert.ok(c.why, c.id);
  }
});

test('short jobs get no verdict on waste', () => {
  assert.deepEqual(ids(single({ wall: 29, busy: 0.1, memory: 1 })), []);
  assert.equal(outcome(single({ wall: 29, busy: 0.1 }), 'cpu-underused')?.outcome, 'skipped');
  assert.deepEqual(ids(single({ wall: 31, busy: 0.1, memory: 1 })), ['cpu-underused', 'memory-unused']);
});

test('CPUs: idle ones, a serial program, and GPU jobs that need few', () => {
  const idle = finding(single({ busy: 6 }), 'cpu-underused');
  assert.equal(idle.severity, 'advice');
  assert.equal(idle.text, '6 of 16 CPUs were busy on average (38 %)');
  assert.match(idle.advice, /^Ask for 7 CPUs \(#SBATCH --cpus-per-task=7 for one task\)/);
  assert.deepEqual(ids(single({ busy: 1 })), ['cpu-serial']);
  assert.deepEqual(ids(single({ busy: 11 })), []);
  assert.equal(finding(single({ busy: 2, gpus: [{ busy: 90 }] }), 'cpu-underused').severity, 'info');
});

test('a node that the scheduler took out of a job that went on', () => {
  const jobMaterial = killedNode();
  jobMaterial.job = { ...jobMaterial.job, state: 'completed', exit_code: 0, nodes: ['c1', 'c2', 'c3'] };
  assert.equal(finding(jobMaterial, 'node-lost').confidence, 'medium');
  jobMaterial.job.taken_nodes = { c2: START + 1215e6 };
  const { severity, confidence, evidence, advice } = finding(jobMaterial, 'node-lost');
  assert.deepEqual([severity, confidence], ['warning', 'high']);
  assert.match(
    evidence[0]!.text,
    /^c2: last sample .*; the scheduler took it out of the job at 2026-11-15 21:09:27 UTC$/,
  );
  assert.match(advice, /^The job went on without it/);
});

test('CPUs of a node that was not measured are neither busy nor idle', () => {
  const sampledSpan = span(3600);
  const materialOf = (busy: number): Material =>
    material(job(3600, { nodes: ['c1', 'c2'], asked: { nodes: 2, cpus: 16 } }), [
      node('c1', agent('c1', sampledSpan), [cgroup(sampledSpan, busy, GIB)]),
      node('c2', agent('c2', sampledSpan), [
        table('loadavg', [series(sampledSpan, {}, { load1: level(sampledSpan, 8) })]),
      ]),
    ]);
  const { text, advice, evidence } = finding(materialOf(2), 'cpu-underused');
  assert.equal(text, '2 of 8 CPUs that were measured were busy on average (25 %)');
  assert.deepEqual(
    evidence.map((e) => e.text),
    ['CPU utilisation 25 % of the CPUs that were measured', '6 core-hours idle', 'not measured: c2'],
  );
  assert.match(advice, /^Ask for 3 CPUs for these nodes, or use them/);
  // with 7 of 8 busy where it was measured there is nothing to give back
  assert.equal(outcome(materialOf(7), 'cpu-underused')?.outcome, 'fine');
});

test('nobody is told off for CPUs or memory of the own machine', () => {
  const own = single({ busy: 0.5, memory: 1 }, { asked: {} });
  assert.deepEqual(ids(own), []);
  assert.match(outcome(own, 'cpu-underused')?.why ?? '', /no CPUs were asked for/);
});

test('memory: the line for the job script has a margin of a fifth', () => {
  assert.match(finding(single({ memory: 21 }), 'memory-unused').advice, /#SBATCH --mem=26G/);
  assert.match(finding(single({ memory: 21 }, { scheduler: 'pbs' }), 'memory-unused').advice, /mem=26gb/);
  assert.match(finding(single({ memory: 0.3 }), 'memory-unused').advice, /--mem=512M/);
  const sure = ({ confidence, confidence_reason }: Finding) => `${confidence}: ${confidence_reason}`;
  const whole = single({ memory: 21 });
  const unread = [{ node: 'c1', table: 'disk', file: 'disk.csv', why: 'it is missing', whole: true, lines: 0 }];
  const reasons = [whole, { ...whole, unread }].map((each) => sure(finding(each, 'memory-unused')));
  assert.deepEqual(reasons, ['high: peak counted by the kernel', 'medium: the recording has gaps']);
  assert.deepEqual(ids(single({ memory: 33 })), []);
  assert.match(finding(whole, 'memory-unused').text, /^21\.0 GiB of 64\.0 GiB memory were used at most/);
  // one process that was sampled may have had more in between
  const one = single({ memory: 21 }, { asked: { nodes: 1, cpus: 16, memory_bytes: 64 * GIB } });
  (one.nodes[0]!.tables as Map<string, unknown>).delete('cgroup');
  assert.match(finding(one, 'memory-unused').text, /^1\.0 GiB of 64\.0 GiB memory were in use in the samples \(/);
});

test('memory near its limit is a danger, file cache is none', () => {
  const full = { memory_anon_bytes: level(span(3600), 60 * GIB) };
  assert.equal(finding(single({ memory: 62, more: full }), 'memory-near-limit').severity, 'warning');
  assert.equal(finding(single({ memory: 62 }), 'memory-near-limit').severity, 'info');
  // little of it can be given back
  const nearly = { memory_anon_bytes: level(span(3600), 57 * GIB) };
  assert.equal(finding(single({ memory: 58, more: nearly }), 'memory-near-limit').severity, 'warning');
});

test('memory near its limit by what Tacho itself took is no warning, and said', () => {
  const sampledSpan = span(3600);
  const tiny = (anon: number, own?: number): Finding => {
    const spent =
      own === undefined ? {} : { own_use: { c1: { commands: 1, cpu_seconds: 1, max_rss_bytes: own * GIB } } };
    const counted = cgroup(sampledSpan, 1, 1.1 * GIB, { memory_anon_bytes: level(sampledSpan, anon * GIB) });
    const facts = job(3600, { asked: { nodes: 1, cpus: 8, memory_bytes: GIB }, ...spent });
    return finding(material(facts, [node('c1', agent('c1', sampledSpan), [counted])]), 'memory-near-limit');
  };
  assert.match(tiny(1).text, /^Memory reached 110 % of its limit on c1$/);
  assert.equal(tiny(1, 0.01).severity, 'warning');
  const { severity, text, evidence, advice } = tiny(1, 0.25);
  assert.equal(severity, 'info');
  assert.match(text, /110 % of its limit on c1, with what Tacho itself took$/);
  assert.equal(evidence.at(-1)!.text, 'Tacho’s own is in it: its agent and its commands in the job');
  assert.match(advice, /^Tacho needs up to 50.0 MiB in the job’s cgroup/);
});

test('kills because memory ran out are critical', () => {
  const killed = single({ more: { oom_kills: count(span(3600), 2) } });
  assert.equal(finding(killed, 'out-of-memory').text, 'Memory ran out: 2 processes killed on c1');
  assert.equal(finding(killed, 'out-of-memory').severity, 'critical');
  assert.equal(
    finding(single({}, { state: 'out_of_memory', exit_code: 137 }), 'out-of-memory').evidence[0]?.from,
    'scheduler',
  );
});

test('a kill far below the job’s limit was by a lower one: nobody is told to ask for more', () => {
  const killed = (memory: number, about: Parameters<typeof job>[1] = {}) =>
    finding(single({ memory, more: { oom_kills: count(span(3600), 1) } }, about), 'out-of-memory');
  assert.match(killed(60).advice, /^Ask for more than 64\.0 GiB, e\.g\. .*96G/);
  for (const about of [{}, { state: 'out_of_memory' }] as const) {
    const { advice, evidence } = killed(1, about);
    assert.match(advice, /^The job took at most 1\.0 GiB of 64\.0 GiB: a lower limit did it\. Look for that of a step/);
    assert.doesNotMatch(advice, /ask for more/i);
    assert.equal(evidence[0]!.text, 'c1: 1 kill, peak 1.0 GiB, 1.6 % of the job’s limit');
  }
  // by samples alone nobody knows what came between them
  const unseen = finding(single({ memory: 1 }, { state: 'out_of_memory' }), 'out-of-memory').advice;
  assert.match(
    unseen,
    /^At most 1\.0 GiB of 64\.0 GiB were measured\. If a step .*; if memory filled up between two samples, ask/,
  );
  // where the machine is the limit others may have filled it
  const shell = { pid: 5, from: 0, to: 49.4, cpu: 1, exitcode: 0, exitsignal: 9, ended: 'signal' };
  const { advice } = finding(onBusyNode([shell]), 'out-of-memory');
  assert.match(
    advice,
    /^At most 1\.0 GiB of 512 GiB were measured\. .*; if others had filled the node, run where they do not; if/,
  );
});

test('a kill that nobody knows to be the job’s is not told as its own', () => {
  const sleeps = { pid: 5, from: 0, to: 100, cpu: 1, exitcode: 0, exitsignal: 0, ended: 'exit' };
  const lost = { pid: 6, ppid: 5, from: 1, to: 50, source: 'start' };
  const { text, advice } = finding(onBusyNode([sleeps, lost]), 'out-of-memory');
  assert.equal(text, 'Memory ran out: 1 process killed on c1, perhaps not of the job');
  assert.match(advice, /^If it was the job’s: at most 1\.0 GiB of 512 GiB were measured\./);
  assert.doesNotMatch(advice, /would not help/);
});

test('a kill that what Tacho took explains is told so', () => {
  const sampledSpan = span(3600);
  const killed = (rss: number, own: number) => {
    const facts = job(3600, {
      asked: { nodes: 1, cpus: 8, memory_bytes: 100 * MIB },
      own_use: { c1: { commands: 1, cpu_seconds: 1, max_rss_bytes: own * MIB } },
    });
    const tables = [
      cgroup(sampledSpan, 1, 100 * MIB, { oom_kills: count(sampledSpan, 1) }),
      table('process', [series(sampledSpan, { pid: '5', start: '0' }, { rss_bytes: level(sampledSpan, rss * MIB) })]),
    ];
    return finding(material(facts, [node('c1', agent('c1', sampledSpan), tables)]), 'out-of-memory');
  };
  const { severity, advice, evidence } = killed(75, 28);
  assert.equal(severity, 'critical');
  assert.match(advice, /^Tacho itself took up to 28\.0 MiB of 100 MiB there: without it the job may have had enough\./);
  assert.deepEqual([evidence.at(-1)!.from, evidence.at(-1)!.value], ['agent.rss_bytes', 28 * MIB]);
  // resident memory of its processes, which share pages, is more than they are charged
  assert.match(killed(75, 65).advice, /^Tacho itself took up to 50\.0 MiB/);
  // it would have been too much by itself, or nobody saw what filled the rest
  for (const rss of [95, 81, 20]) assert.match(killed(rss, 28).advice, /^Ask for more than 100 MiB/);
});

test('a kill of Tacho itself is no reason to blame the job, nor one of the job’s to hide', () => {
  type About = Parameters<typeof job>[1];
  const killed = (about: About, more: Parameters<typeof cgroup>[3] = {}): Finding[] =>
    report(single({ more }, about)).findings.filter(({ id }) => id === 'out-of-memory');
  const texts = (about: About, more?: Parameters<typeof cgroup>[3]) => killed(about, more).map(({ text }) => text);
  const one = { memory_kills: { kills: 1, own: 1 } };
  const [tacho, ...others] = killed(one);
  assert.deepEqual(others, []);
  assert.equal(tacho!.text, 'Memory ran out, and the kernel killed Tacho itself; the job went on');
  assert.equal(tacho!.severity, 'warning');
  // its samples end with its agent
  assert.doesNotMatch(JSON.stringify(tacho), /at most/);
  const unknown = 'Memory ran out, and the kernel killed Tacho itself; whether also a process of the job is not known';
  const step = (id: string): About => ({ state: 'out_of_memory', steps: [{ id, state: 'out_of_memory' }] });
  assert.deepEqual(texts({ ...one, state: 'out_of_memory' }), [unknown]);
  assert.deepEqual(texts({ ...one, ...step('batch') }), [unknown]);
  const too = 'Memory ran out, and the kernel killed Tacho, too';
  assert.deepEqual(texts({ ...one, ...step('1') }), ['Memory ran out: step 1 was killed', too]);
  const two = { memory_kills: { kills: 2, own: 1 } };
  assert.deepEqual(texts(two), ['Memory ran out: 1 process killed', too]);
  assert.equal(killed(two)[1]!.evidence[0]!.text, '1 kill of Tacho’s own processes, of 2 in the job’s cgroup');
  assert.equal(tacho!.evidence[0]!.text, '1 kill of Tacho’s own processes');
  // the recorder had given way before the kernel had to choose
  const unseen = killed({ memory_kills: { kills: 1, own: 0 } });
  assert.deepEqual(
    unseen.map(({ severity, text, evidence }) => [severity, text, evidence[0]!.text]),
    [['critical', 'Memory ran out: 1 process killed', '1 kill in the job’s cgroup']],
  );
  const killCounts = { oom_kills: count(span(3600), 1) };
  assert.deepEqual(texts(two, killCounts), ['Memory ran out: 1 process killed on c1', too]);
  // a process of the job got signal 9 when the node counted a kill
  const shell = { pid: 5, from: 0, to: 49.4, cpu: 1, exitcode: 0, exitsignal: 9, ended: 'signal' };
  const recorded = report(onBusyNode([shell], one)).findings.filter(({ id }) => id === 'out-of-memory');
  assert.deepEqual(
    recorded.map(({ text }) => text),
    ['Memory ran out: 1 process killed on c1', too],
  );
  assert.equal(report(single({}, one)).nodes[0]!.oom_kills, undefined, 'its samples ended before the kill');
});

test('what a node did in a small part of the job’s time is not the job’s CPU time, nor is nothing', () => {
  const reported = (seconds: number, busy: number, members: 'node' | 'cgroup') => {
    const sampledSpan = span(seconds);
    const tables = [
      table('cpu', [series(sampledSpan, { cpu: 'all' }, { busy_ms: count(sampledSpan, busy * 1e3) })]),
      cgroup(sampledSpan, busy / seconds, GIB),
    ];
    const { end: _, ...killed } = agent('c1', sampledSpan, { scope: { members } });
    return report(material(job(100), [node('c1', killed, tables)]));
  };
  const cpu = ({ summary, unmeasured }: ReturnType<typeof reported>) => [
    summary.cpu_seconds,
    unmeasured.find(({ what }) => what === 'CPU time of the job')?.why.split(':')[0],
  ];
  const why = 'only 40.0 s of 1 min 40 s were sampled';
  assert.deepEqual(cpu(reported(40, 10, 'node')), [undefined, why]);
  assert.deepEqual(cpu(reported(60, 10, 'node')), [10, undefined]);
  assert.deepEqual(cpu(reported(40, 0, 'cgroup')), [undefined, why]);
  assert.deepEqual(cpu(reported(40, 10, 'cgroup')), [10, undefined]);
});

/** A job without a cgroup of its own, on a node that counted kills at its second 50; the node swapped a GiB. */
function onBusyNode(
  recordedProcesses: readonly Told[] | undefined,
  about: Parameters<typeof job>[1] = {},
  kills = 1,
): Material {
  const sampledSpan = span(100);
  const counted = usage(100, 1, 1e6);
  const facts = job(100, { scheduler: 'none', usage: counted, ...about });
  const tables = [
    table('vmstat', [
      series(
        sampledSpan,
        {},
        {
          oom_kill: { ...count(sampledSpan, kills), max_time: START + 50e6 },
          pswpin: count(sampledSpan, 2 ** 18),
        },
      ),
    ]),
    table('process', [
      series(
        sampledSpan,
        { pid: '5', start: '0' },
        { rss_bytes: level(sampledSpan, GIB), swap_bytes: level(sampledSpan, 0) },
      ),
    ]),
  ];
  const record = agent('c1', sampledSpan, { scope: { members: 'tree' } });
  return material(
    facts,
    [node('c1', record, tables)],
    recordedProcesses === undefined ? {} : { processes: testSet(recordedProcesses, [testJob({ start: START })]) },
  );
}

test('kills and swapping of others on the node are not the job’s where its processes tell otherwise', () => {
  const sleeps = { pid: 5, from: 0, to: 100, cpu: 1, exitcode: 0, exitsignal: 0, ended: 'exit' };
  for (const reported of [[sleeps], undefined]) {
    const jobMaterial = onBusyNode(reported);
    assert.deepEqual(ids(jobMaterial), []);
    const { oom_kills, oom_scope, oom_source } = report(jobMaterial).nodes[0]!;
    assert.deepEqual([oom_kills, oom_scope, oom_source], [0, 'job', 'records']);
    assert.equal(outcome(jobMaterial, 'swap')?.outcome, 'fine');
  }
  // of one that nobody waited for it is not known
  const lost = { pid: 6, ppid: 5, from: 1, to: 50, source: 'start' };
  const { severity, confidence } = finding(onBusyNode([sleeps, lost]), 'out-of-memory');
  assert.deepEqual([severity, confidence], ['warning', 'medium']);
  // nor of one process of several that were only sampled
  const many = onBusyNode(undefined);
  const { series: all } = many.nodes[0]!.tables.get('process')!;
  all.push({ ...all[0]!, keys: { pid: '6', start: '0' }, columns: {} });
  many.nodes[0]!.tables.get('process')!.series_total = 2;
  assert.deepEqual(ids(many), ['out-of-memory', 'swap']);
  const others = finding(many, 'swap');
  assert.equal(others.text, 'The node swapped on c1: memory was too small for all that ran there');
  assert.match(others.advice, /^If it was the job’s memory: ask for more memory/);
  all[1]!.columns.swap_bytes = level(span(100), 0, GIB);
  const { text, confidence: sure, evidence } = finding(many, 'swap');
  assert.deepEqual([text, sure], ['The job swapped on c1: memory was too small', 'high']);
  assert.deepEqual([evidence[0]!.from, evidence[0]!.value], ['process.swap_bytes', GIB]);
});

test('what was read back from swap is counted in pages of the node', () => {
  const jobMaterial = onBusyNode(undefined);
  const { facts } = jobMaterial.nodes[0]!.agent!;
  const swapped = () => report(jobMaterial).nodes[0]!.swapped_in_bytes;
  assert.equal(swapped(), GIB);
  facts.page_bytes = 65_536;
  assert.equal(swapped(), 16 * GIB);
  delete facts.page_bytes;
  facts.architecture = 'aarch64';
  assert.equal(swapped(), undefined);
});

test('a process that got signal 9 in the second of the node’s kill was killed for memory', () => {
  const shell = { pid: 5, from: 0, to: 100, cpu: 1, exitcode: 137, exitsignal: 0, ended: 'exit' };
  const child = (to: number) => ({ pid: 6, ppid: 5, from: 1, to, exitsignal: 9, ended: 'signal', source: 'parent' });
  const died = onBusyNode([shell, child(49.4)], { state: 'failed', exit_code: 137 });
  const { text, severity, confidence } = finding(died, 'out-of-memory');
  assert.equal(text, 'Memory ran out: 1 process killed on c1');
  assert.deepEqual([severity, confidence], ['critical', 'high']);
  assert.equal(report(died).findings[0]!.id, 'out-of-memory');
  // somebody’s kill -9 at another time is not the kernel’s
  assert.deepEqual(ids(onBusyNode([shell, child(20)], { state: 'failed', exit_code: 137 })), ['job-failed']);
  // of several kills the times are not all known
  assert.equal(finding(onBusyNode([shell, child(20)], {}, 2), 'out-of-memory').confidence, 'medium');
});

test('a step that memory ended is the headline, and no zero is stated that nobody counted', () => {
  const steps = [
    { id: 'batch', state: 'failed', exit_code: 1 },
    { id: '0', name: 'solve', state: 'out_of_memory', exit_code: 0, nodes: ['c1'] },
  ];
  const jobMaterial = single({}, { state: 'failed', exit_code: 1, steps });
  const { findings, nodes } = report(jobMaterial);
  assert.deepEqual(
    findings.map(({ id, severity }) => [id, severity]),
    [
      ['out-of-memory', 'critical'],
      ['job-failed', 'critical'],
    ],
  );
  assert.match(verdict(report(jobMaterial)), /^Memory ran out: step 0 \(solve\) was killed/);
  assert.equal(findings[0]!.evidence.at(-1)!.text, 'step 0 (solve): state OUT_OF_MEMORY');
  assert.deepEqual([nodes[0]!.oom_kills, nodes[0]!.oom_scope], [undefined, undefined]);
  assert.equal(report(single({}, { state: 'failed', exit_code: 1 })).nodes[0]!.oom_kills, 0);
});

test('a kill that the cgroup did not live to count is told by the process that died and the node', () => {
  const sampledSpan = span(100);
  const tables = [
    cgroup({ ...sampledSpan, end: START + 49e6 }, 1, GIB),
    table('vmstat', [series(sampledSpan, {}, { oom_kill: { ...count(sampledSpan, 1), max_time: START + 50e6 } })]),
  ];
  const died = { pid: 5, from: 0, to: 49.5, exitsignal: 9, ended: 'signal', source: 'parent' };
  const jobMaterial = material(job(100), [node('c1', agent('c1', sampledSpan), tables)], {
    processes: testSet([died], [testJob({ start: START })]),
  });
  const { oom_kills, oom_scope, oom_source } = report(jobMaterial).nodes[0]!;
  assert.deepEqual([oom_kills, oom_scope, oom_source], [1, 'job', 'records']);
});

test('no zero is stated where a step’s cgroup was gone before it was read, and the node counted a kill', () => {
  const sampledSpan = span(100);
  const materialOf = (gone: number, pressure = {}, kills = 1) => {
    const step = { cgroup: 'step_0' };
    const whole = { usage_us: count(sampledSpan, 1e8), oom_kills: count(sampledSpan, 0), ...pressure };
    const tables = [
      table('cgroup', [
        series(sampledSpan, { cgroup: '.' }, whole),
        series({ ...sampledSpan, end: START + gone * 1e6 }, step, { oom_kills: count(sampledSpan, 0) }),
      ]),
      table('vmstat', [
        series(
          sampledSpan,
          {},
          { oom_kill: { ...count(sampledSpan, kills), max_time: START + 50e6 }, pswpin: count(sampledSpan, 0) },
        ),
      ]),
    ];
    return material(job(100), [node('c1', agent('c1', sampledSpan), tables)]);
  };
  const killsOf = (jobMaterial: Material) => report(jobMaterial).nodes[0]!.oom_kills;
  assert.equal(killsOf(materialOf(49)), undefined);
  assert.match(outcome(materialOf(49), 'out-of-memory')?.why ?? '', /gone before its counter was read/);
  // it lived on and had counted none; of several kills only the last one’s time is known
  assert.deepEqual(
    [killsOf(materialOf(100)), killsOf(materialOf(20)), killsOf(materialOf(20, {}, 2))],
    [0, 0, undefined],
  );
  // version 2 counts what happened below
  assert.equal(killsOf(materialOf(49, { cpu_stalled_us: count(sampledSpan, 0) })), 0);
});

test('memory that grows to the end is told, memory that is filled once is not', () => {
  assert.match(finding(days(), 'memory-growing').evidence[0]!.text, /^c1 pid 311: 255 MiB an hour, up to 20.0 GiB/);
  assert.equal(outcome(training(), 'memory-growing')?.outcome, 'fine');
});

test('swap, quota, crowding and waiting for files', () => {
  const hour = span(3600);
  assert.deepEqual(ids(single({ more: { swap_current_bytes: level(hour, 0, GIB) } })), ['swap']);
  assert.deepEqual(ids(single({ more: { periods: count(hour, 1000), throttled_periods: count(hour, 300) } })), [
    'cpu-throttled',
  ]);
  assert.deepEqual(ids(single({ busy: 15.8, more: { cpu_stalled_us: count(hour, 1800e6) } })), ['cpu-oversubscribed']);
  const waits = finding(single({ busy: 12, more: { io_stalled_us: count(hour, 1440e6) } }), 'io-wait');
  assert.equal(waits.text, 'I/O wait took 40 % of the time on c1');
  assert.equal(waits.confidence, 'high');
});

/** Threads of processes without a cgroup of their own that ran and waited for so many CPUs, on a node of 16 for an hour. */
function waiting(
  facts: { ran: number; waited: number; node: number; allowed?: string; cpus?: number; threads?: number; io?: number },
  more: Parameters<typeof cgroup>[3] = {},
): Material {
  const sampledSpan = span(3600);
  const { ran, waited, node: busy, allowed = '0-15', cpus = 4, io = 1e4 } = facts;
  const tables = [
    table('cpu', [
      series(
        sampledSpan,
        { cpu: 'all' },
        {
          busy_ms: count(sampledSpan, busy * 16 * 3600e3),
          idle_ms: count(sampledSpan, (1 - busy) * 16 * 3600e3),
          iowait_ms: count(sampledSpan, 0),
        },
      ),
    ]),
    table('pressure', [
      series(sampledSpan, { resource: 'cpu' }, { some_total_us: count(sampledSpan, 3500e6) }),
      series(sampledSpan, { resource: 'io' }, { some_total_us: count(sampledSpan, 1800e6) }),
    ]),
    table('cgroup', [series(sampledSpan, { cgroup: '.' }, more)]),
    table('process', [
      series(
        sampledSpan,
        { pid: '5', start: String(START / 1000) },
        {
          user_ms: count(sampledSpan, ran * 3600e3),
          system_ms: count(sampledSpan, 0),
          wait_ms: count(sampledSpan, waited * 3600e3),
          read_chars: count(sampledSpan, io),
          written_chars: count(sampledSpan, 0),
          major_faults: count(sampledSpan, 0),
          threads: level(sampledSpan, facts.threads ?? 1),
        },
        { name: 'solve', allowed_cpus: allowed },
      ),
    ]),
  ];
  const record = agent('c1', sampledSpan, { scope: { members: 'tree', cgroup: '/user', cgroup_shared: true } });
  record.facts.cpus = 16;
  return material(job(3600, { asked: { nodes: 1, cpus } }), [node('c1', record, tables)]);
}

test('CPUs that others used are not called idle', () => {
  const starved = waiting({ ran: 0.24, waited: 3.76, node: 1 });
  assert.deepEqual(ids(starved), ['cpu-starved']);
  const { text, evidence, advice, confidence } = finding(starved, 'cpu-starved');
  assert.equal(text, 'The job waited for CPUs on c1: others used them; it had 0.24 of 4');
  assert.deepEqual(
    evidence.map((e) => e.text),
    [
      'c1: threads ran for 14 min 24 s and waited for a CPU for 3 h 46 min',
      'c1: 100 % of its CPUs busy, 15.8 of 16 with others’ work',
    ],
  );
  assert.equal(confidence, 'high');
  assert.match(advice, /^Asking for fewer CPUs would not help/);
  // a program may have the name of anything, a node among them
  starved.nodes[0]!.agent!.neighbours = [{ user: 'root', program: 'node', cpu_seconds: 9000 }];
  const named = finding(starved, 'cpu-starved');
  assert.equal(
    named.text,
    'The job waited for CPUs on c1: others used them, most of all node (root); it had 0.24 of 4',
  );
  assert.match(named.evidence.at(-1)!.text, /node \(root\) 2 h 30 min/);
  assert.match(outcome(starved, 'cpu-underused')?.why ?? '', /not idle: it waited for them/);
  // the node had free ones: who used the job’s is not known
  assert.equal(finding(waiting({ ran: 0.24, waited: 3.76, node: 0.4 }), 'cpu-starved').confidence, 'medium');
  // a job that sleeps on a full node had nothing to wait for
  assert.deepEqual(ids(waiting({ ran: 0.24, waited: 0.01, node: 1 })), ['cpu-underused']);
  // it wanted less than half of what it has all the same
  const few = waiting({ ran: 0.5, waited: 1, node: 1 });
  assert.deepEqual(ids(few), ['cpu-underused']);
  assert.match(finding(few, 'cpu-underused').advice, /^Ask for 2 CPUs/);
});

test('threads that waited for one another were not kept from their CPUs by others', () => {
  const wanted = { ran: 2.4, waited: 1.2 };
  assert.deepEqual(ids(waiting({ ...wanted, node: 2.5 / 16 })), []);
  // others used more than a tenth of its four
  assert.deepEqual(ids(waiting({ ...wanted, node: 3 / 16 })), ['cpu-starved']);
});

test('a job that mostly slept is not called starved for what it waited', () => {
  const slept = waiting({ ran: 0.04, waited: 0.2, node: 1, cpus: 1 });
  assert.deepEqual(ids(slept), ['cpu-underused']);
  const { advice, evidence } = finding(slept, 'cpu-underused');
  assert.match(advice, /^The program waited most of the time for something else than a CPU/);
  assert.equal(evidence.at(-1)!.text, 'c1: threads ran for 2 min 24 s and waited for a CPU for 12 min 00 s');
  // one finding says it, not two that contradict each other
  assert.deepEqual(ids(waiting({ ran: 0.1, waited: 0.45, node: 1, cpus: 1 })), ['cpu-starved']);
  // who asked for no CPUs may want one of the machine’s
  const serial = waiting({ ran: 0.2, waited: 0.7, node: 1 });
  serial.job.asked = {};
  assert.deepEqual(ids(serial), ['cpu-starved']);
  // by pressure in its own cgroup alone
  const sampledSpan = span(3600);
  const pressed = (busy: number, stalled: number) =>
    ids(
      single(
        { busy, more: { cpu_stalled_us: count(sampledSpan, stalled * 3600e6) } },
        { asked: { nodes: 1, cpus: 1 } },
      ),
    );
  assert.deepEqual(pressed(0.1, 0.3), ['cpu-underused']);
  assert.deepEqual(pressed(0.1, 0.8), ['cpu-starved']);
});

test('where nobody knows whether a job waited on a full node, little is sure', () => {
  const jobMaterial = waiting({ ran: 0.24, waited: 0, node: 1 });
  delete jobMaterial.nodes[0]!.tables.get('process')!.series[0]!.columns.wait_ms;
  const { severity, advice, confidence, confidence_reason } = finding(jobMaterial, 'cpu-underused');
  assert.deepEqual([severity, confidence], ['info', 'low']);
  assert.match(advice, /^See what else ran on the node before you ask for fewer CPUs/);
  assert.match(confidence_reason, /^others kept all CPUs of the node busy/);
  assert.equal(outcome(jobMaterial, 'cpu-starved')?.outcome, 'unmeasurable');
  // two threads that share what is left look like a serial program
  const shared = waiting({ ran: 1, waited: 0, node: 1 });
  delete shared.nodes[0]!.tables.get('process')!.series[0]!.columns.wait_ms;
  assert.deepEqual(ids(shared), ['cpu-underused']);
});

test('a node whose CPUs others used is neither idle nor badly supplied with work', () => {
  const pair = (ran: number, waited: number): Material => {
    const [busy, other] = [waiting({ ran: 3.9, waited: 0, node: 1 }), waiting({ ran, waited, node: 1 })];
    const facts = job(3600, { asked: { nodes: 2, cpus: 8 }, nodes: ['c1', 'c2'] });
    return material(facts, [busy.nodes[0]!, { ...other.nodes[0]!, node: 'c2' }]);
  };
  assert.deepEqual(ids(pair(1.5, 0)), ['node-imbalance']);
  assert.deepEqual(ids(pair(1.5, 2.5)), ['cpu-starved']);
  assert.ok(ids(pair(0.02, 0)).includes('node-idle'));
  assert.deepEqual(ids(pair(0.02, 3.9)), ['cpu-starved']);
  const peers = (waited: number): Material => {
    const each = ['c1', 'c2', 'c3', 'c4', 'c5'].map((name, i) => {
      const [nodeMaterial] = waiting(i < 4 ? { ran: 3.9, waited: 0, node: 1 } : { ran: 2, waited, node: 1 }).nodes;
      return { ...nodeMaterial!, node: name };
    });
    return material(job(3600, { asked: { nodes: 5, cpus: 20 }, nodes: each.map((n) => n.node) }), each);
  };
  assert.deepEqual(ids(peers(0)), ['node-imbalance']);
  assert.deepEqual(ids(peers(2)), ['cpu-starved']);
});

test('a job whose own threads are too many is not called starved for the little that others took', () => {
  // 9.4 CPUs wanted of 2, of which it had 1.8
  assert.deepEqual(ids(waiting({ ran: 1.78, waited: 7.6, node: 1, cpus: 2 })), ['cpu-oversubscribed']);
  assert.deepEqual(ids(waiting({ ran: 0.9, waited: 1.2, node: 1, cpus: 2 })), ['cpu-starved']);
});

test('threads that are bound to one CPU are no serial program', () => {
  const bound = waiting({ ran: 0.99, waited: 0.99, node: 0.1, allowed: '3', cpus: 2 });
  assert.deepEqual(ids(bound), ['cpu-binding']);
  const { text, evidence } = finding(bound, 'cpu-binding');
  assert.equal(text, 'The job’s threads are bound to 1 of its 2 CPUs');
  assert.equal(evidence[0]!.text, 'c1: its processes may run on 1 CPU and wanted 1.98');
  assert.deepEqual(ids(waiting({ ran: 0.99, waited: 0.01, node: 0.1, allowed: '3', cpus: 2 })), ['cpu-serial']);
  // the main thread alone tells of its waiting, where a signal ended the program
  assert.deepEqual(ids(waiting({ ran: 0.99, waited: 0.48, node: 0.1, allowed: '3', cpus: 2 })), ['cpu-binding']);
  // ranks on a CPU each are bound to as many as there are ranks
  const ranks = waiting({ ran: 0.7, waited: 0.7, node: 1, allowed: '0', cpus: 2 });
  const { series: all } = ranks.nodes[0]!.tables.get('process')!;
  all.push({ ...all[0]!, keys: { pid: '6', start: all[0]!.keys.start! }, texts: { allowed_cpus: '1' } });
  assert.deepEqual(ids(ranks), ['cpu-starved']);
});

test('a serial program that has threads is told that they run one at a time', () => {
  // others took a little of its CPU
  assert.deepEqual(ids(waiting({ ran: 0.8, waited: 0.1, node: 0.1 })), ['cpu-serial']);
  assert.deepEqual(ids(waiting({ ran: 0.8, waited: 0, node: 0.1 })), ['cpu-underused']);
  const locked = finding(waiting({ ran: 1, waited: 0, node: 0.1, threads: 4 }), 'cpu-serial');
  assert.match(locked.advice, /see why its 4 threads run one at a time/);
});

test('one CPU is underused, too, and so are two of which one is not enough', () => {
  const one = finding(waiting({ ran: 0.2, waited: 0, node: 0.1, cpus: 1 }), 'cpu-underused');
  assert.equal(one.text, '0.2 of 1 CPU was busy on average (20 %)');
  assert.equal(one.severity, 'advice');
  assert.match(one.advice, /^The program waited for something else than a CPU/);
  assert.deepEqual(ids(waiting({ ran: 0.7, waited: 0, node: 0.1, cpus: 1 })), []);
  const two = finding(waiting({ ran: 1.08, waited: 0, node: 0.1, cpus: 2 }), 'cpu-underused');
  assert.equal(two.text, '1.08 of 2 CPUs were busy on average (54 %)');
  assert.match(two.advice, /^Fewer than 2 would not do: at times it used more than 1\./);
});

test('a quota of the unit or container around the job holds it up', () => {
  const hour = span(3600);
  const quota = { periods: count(hour, 36_000), throttled_periods: count(hour, 9000), cpu_limit: level(hour, 0.4) };
  const held = waiting({ ran: 0.4, waited: 1.6, node: 0.1, cpus: 2 }, quota);
  assert.deepEqual(ids(held), ['cpu-throttled']);
  assert.equal(report(held).nodes[0]!.cpu_throttled, 0.25);
  // somebody else’s work in it does not
  assert.deepEqual(ids(waiting({ ran: 1.9, waited: 0, node: 0.1, cpus: 2 }, quota)), []);
  const own = { ...held, job: { ...held.job, asked: {} } };
  const { cpus, cpus_source } = report(own).nodes[0]!;
  assert.deepEqual([cpus, cpus_source], [0.4, 'limit']);
  // fewer threads would wait, too
  assert.deepEqual(ids(own), ['cpu-throttled']);
});

test('a node that waits for files and crowds its CPUs is not the job’s doing where its processes did neither', () => {
  const sleeps = waiting({ ran: 2.8, waited: 0, node: 1 });
  assert.match(outcome(sleeps, 'io-wait')?.why ?? '', /own processes did next to no I\/O/);
  assert.deepEqual(ids(waiting({ ran: 2.8, waited: 0, node: 0.5, io: 1e9 })), ['io-wait']);
  // bytes through pipes and sockets are no work with files, unless nobody knows what came from storage
  const pipes = waiting({ ran: 2.8, waited: 0, node: 0.5, io: 1e9 });
  const { columns } = pipes.nodes[0]!.tables.get('process')!.series[0]!;
  Object.assign(columns, { read_bytes: count(span(3600), 4096), written_bytes: count(span(3600), 0) });
  assert.deepEqual(ids(pipes), []);
  assert.equal(report(pipes).nodes[0]!.io_bytes, 4096);
  // nor is it known of page faults that were not counted
  delete columns.major_faults;
  assert.deepEqual(ids(pipes), ['io-wait']);
  assert.equal(report(pipes).nodes[0]!.major_faults, undefined);
  assert.deepEqual(ids(waiting({ ran: 3.9, waited: 0.1, node: 1 })), []);
  assert.deepEqual(ids(waiting({ ran: 3.9, waited: 8, node: 1 })), ['cpu-oversubscribed']);
});

test('GPUs: unused, hardly used, starved, hot', () => {
  const busy = { busy: 90 };
  const unused = finding(single({ gpus: [busy, busy, { busy: 0 }, busy] }), 'gpu-unused');
  assert.equal(unused.text, '1 of 4 GPUs was never used: c1 GPU 2');
  assert.equal(unused.evidence[0]?.gpu, '2');
  assert.equal(finding(single({ gpus: [{ busy: 0 }] }), 'gpu-unused').text, 'The GPU was never used');
  assert.equal(finding(single({ gpus: [{ busy: 20 }] }), 'gpu-low').severity, 'advice');
  assert.equal(finding(single({ gpus: [{ busy: 10 }] }), 'gpu-low').severity, 'warning');
  assert.deepEqual(ids(single({ busy: 15, gpus: [{ busy: 40 }] })), ['gpu-starved']);
  assert.deepEqual(ids(single({ busy: 8, gpus: [{ busy: 40 }] })), []);
  assert.equal(
    finding(single({ gpus: [busy, busy, busy, { busy: 90, thermal: 0.5 }] }), 'gpu-throttled').text,
    'Heat slowed down 1 GPU: c1 GPU 3',
  );
  // a part that lies between two samples
  const between = single({ gpus: [busy, { busy: 90, thermal: 0.5 }] });
  for (const series of between.nodes[0]!.tables.get('gpu')!.series) series.samples = 0;
  assert.ok(!ids(between).includes('gpu-throttled'));
});

test('GPUs of others on the node are nobody’s fault', () => {
  const shared = single(
    { gpus: [{ busy: 90 }, { busy: 0, mine: 'no' }] },
    { asked: { cpus: 16, memory_bytes: 64 * GIB, gpus: 1 } },
  );
  assert.deepEqual(ids(shared), []);
  assert.equal(report(shared).summary.gpu_utilization, 0.9);
  const untold = single(
    {
      gpus: [
        { busy: 90, mine: '' },
        { busy: 0, mine: '' },
      ],
    },
    { asked: { cpus: 16, memory_bytes: 64 * GIB, gpus: 1 } },
  );
  assert.deepEqual(ids(untold), []);
});

test('GPUs that were asked for and cannot be read are not measurable', () => {
  const blind = single({}, { asked: { cpus: 16, memory_bytes: 64 * GIB, gpus: 4 } });
  assert.equal(outcome(blind, 'gpu-unused')?.outcome, 'unmeasurable');
  assert.ok(report(blind).unmeasured.some((u) => u.why === 'GPUs were asked for, but none could be read'));
});

test('the straggler of a training job is named', () => {
  const slow = finding(training(), 'gpu-imbalance');
  assert.equal(slow.text, '8 of 63 GPUs differ from the rest: all of c3, power 410 W, others 628 W');
  assert.equal(report(training()).nodes.find((n) => n.node === 'c3')?.unlike_gpus, 8);
});

test('nodes: idle ones, and two that differ', () => {
  const pair = (first: number, second: number, wall = 3600): Material => {
    const sampledSpan = span(wall);
    const nodes = [first, second].map((busy, i) =>
      node(`c${i + 1}`, agent(`c${i + 1}`, sampledSpan), [
        table('loadavg', [series(sampledSpan, {}, { load1: level(sampledSpan, 1) })]),
        cgroup(sampledSpan, busy, 50 * GIB),
      ]),
    );
    return material(job(wall, { nodes: ['c1', 'c2'], asked: { nodes: 2, cpus: 32, memory_bytes: 128 * GIB } }), nodes);
  };
  assert.equal(finding(pair(16, 0.01), 'node-idle').text, '1 of 2 nodes did nothing: c2');
  assert.equal(finding(pair(15, 9), 'node-imbalance').confidence, 'medium');
  // a column that a chart shows
  assert.equal(finding(pair(15, 9), 'node-imbalance').evidence[0]!.from, 'cgroup.usage_us');
  assert.deepEqual(ids(pair(15, 14)), []);
  // of seconds, most are those of starting it
  assert.deepEqual(ids(pair(15, 9, 29)), []);
});

test('the time limit: reached, nearly reached, far away', () => {
  const limit = (seconds: number) => ({ asked: { cpus: 16, memory_bytes: 64 * GIB, time_limit_seconds: seconds } });
  assert.equal(finding(single({}, { ...limit(3600), state: 'timeout' }), 'time-limit').severity, 'critical');
  const ended = single({}, { ...limit(3600), state: 'timeout' });
  assert.doesNotMatch(finding(ended, 'time-limit').advice, /phases/);
  const marked = { ...ended, markers: [{ node: 'c1', time: START + 1e6, action: 'begin' as const, name: 'epoch 1' }] };
  assert.match(finding(marked, 'time-limit').advice, /the phases below show how far it came/);
  assert.match(finding(single({}, limit(3660)), 'time-limit').text, /only 1 min 00 s before/);
  assert.match(finding(single({}, limit(2727)), 'time-limit').text, /had used up its time limit/);
  assert.match(finding(single({}, limit(86_400)), 'time-limit').advice, /#SBATCH --time=01:15:00/);
  assert.deepEqual(ids(single({}, limit(7000))), []);
});

test('a node that fell silent and one that never spoke', () => {
  const lost = finding(killedNode(), 'node-lost');
  assert.equal(lost.severity, 'critical');
  assert.match(lost.evidence[1]!.text, /c2: last sample 2026-11-15 21:09:22 UTC/);
  assert.deepEqual(report(killedNode()).quality.nodes_missing, ['c4']);
  assert.equal(report(killedNode()).quality.grade, 'D');
});

test('gaps lower the confidence of what rests on samples', () => {
  const full = single({ gpus: [{ busy: 90 }, { busy: 0 }] });
  assert.equal(finding(full, 'gpu-unused').confidence, 'high');
  const thin = single({ gpus: [{ busy: 90 }, { busy: 0 }] });
  thin.nodes[0]!.tables.get('loadavg')!.rows = 3000;
  assert.equal(report(thin).quality.grade, 'C');
  assert.equal(finding(thin, 'gpu-unused').confidence, 'medium');
  assert.equal(finding(thin, 'recording-gaps').text, '83 % of the ticks were sampled');
  // nothing says why
  assert.match(finding(thin, 'recording-gaps').advice, /too busy to keep up, and see that nothing ends its agent/);
  thin.nodes[0]!.agent!.missed_ticks = 600;
  assert.match(finding(thin, 'recording-gaps').advice, /too busy to keep up\.$/);
});

test('ticks for which no agent was there are not laid at the node’s being busy', () => {
  const thin = single({ gpus: [{ busy: 90 }] });
  thin.nodes[0]!.tables.get('loadavg')!.rows = 3000;
  thin.nodes[0]!.agent!.away = [{ from: START + 60e6, to: START + 660e6 }];
  const reported = finding(thin, 'recording-gaps');
  assert.equal(reported.evidence[1]!.text, 'c1: no agent was there from 2026-11-15 20:50:12 UTC on for 10 min 00 s');
  assert.match(reported.advice, /off; see what ended the agent there/);
  assert.deepEqual(report(thin).quality.reasons, ['no agent on c1 for 10 min 00 s']);
  reportSchema.parse(JSON.parse(reportJson([report(thin)])));
});

test('a recording that was stopped before the job ended is complete, but speaks for a part', () => {
  const halfRecorded = single({ gpus: [{ busy: 90 }, { busy: 0 }] }, { end: START + 7200e6 });
  halfRecorded.nodes[0]!.agent!.end_reason = 'SIGTERM';
  const jobReport = report(halfRecorded);
  assert.equal(jobReport.quality.grade, 'A');
  assert.equal(jobReport.quality.job_share, 0.5);
  assert.equal(jobReport.nodes[0]?.status, 'recorded');
  assert.equal(finding(halfRecorded, 'gpu-unused').confidence_reason, '50 % of the job’s time was recorded');
  delete halfRecorded.nodes[0]!.agent!.end;
  assert.equal(report(halfRecorded).nodes[0]?.status, 'stopped early');
});

test('an agent that died shortly before the end is named, and costs the best grade', () => {
  const jobMaterial = single({ wall: 3600 });
  assert.equal(report(jobMaterial).quality.grade, 'A');
  // kill -9: no farewell; two seconds of an hour are missing, fewer than a grade's worth of ticks
  delete jobMaterial.nodes[0]!.agent!.end;
  jobMaterial.job.end = jobMaterial.job.start + 3602e6;
  assert.equal(finding(jobMaterial, 'node-lost').text, 'c1 stopped after 1 h 00 min, 2.0 s before the end');
  assert.match(finding(jobMaterial, 'node-lost').evidence[0]!.text, /its agent was killed or the node was lost/);
  assert.equal(report(jobMaterial).quality.grade, 'B');
  assert.deepEqual(report(jobMaterial).quality.nodes_stopped_early, ['c1']);
  // with most of the job's time the grade falls further
  jobMaterial.job.end = jobMaterial.job.start + 9 * 3600e6;
  assert.equal(report(jobMaterial).quality.grade, 'D');
});

test('a node that never recorded costs the best grade, also among many that did', () => {
  const one = single();
  const many = Array.from({ length: 300 }, (_, i) => ({
    ...one.nodes[0]!,
    node: `c${i}`,
    agent: { ...one.nodes[0]!.agent!, node: `c${i}` },
  }));
  const whole = { ...one, job: { ...one.job, nodes: many.map((n) => n.node) }, nodes: many };
  assert.equal(report(whole).quality.grade, 'A');
  const missing = { ...whole, nodes: many.slice(1) };
  assert.equal(report(missing).quality.grade, 'B');
  assert.deepEqual(report(missing).quality.reasons, ['c0 never recorded']);
  const half = { ...one, job: { ...one.job, nodes: ['c1', 'c2'] } };
  assert.equal(report(half).quality.grade, 'D');
});

test('a node that was stopped while the others went on is named', () => {
  const jobMaterial = killedNode();
  const second = jobMaterial.nodes[1]!.agent!;
  second.end = second.last_sample!;
  second.end_reason = 'disk full: no space left on the device';
  assert.match(finding(jobMaterial, 'node-lost').evidence[1]!.text, /c2: last sample .*; disk full/);
});

test('how the job ended', () => {
  assert.equal(finding(blink(), 'job-failed').text, 'The job ended with exit code 3');
  assert.match(
    finding(single({}, { state: 'failed', exit_code: 139 }), 'job-failed').text,
    /^The job was ended by SIGSEGV: it accessed memory that it may not use \(segmentation fault\)/,
  );
});

test('a signal of which the scheduler knows more than the signal', () => {
  const stepped = single({}, { state: 'failed', exit_code: 143, reason: 'step 1 reached its time limit' });
  assert.equal(finding(stepped, 'job-failed').text, 'The job was ended by SIGTERM: step 1 reached its time limit');
  const local = single({}, { state: 'failed', signal: 'SIGTERM', reason: 'ended by SIGTERM' });
  assert.match(finding(local, 'job-failed').text, /SIGTERM: asked to end, by the scheduler or a user$/);
});

test('who can have sent SIGKILL, as far as the kernel’s count tells', () => {
  const sampledSpan = span(100);
  const killed = (...kills: (number | undefined)[]) => {
    const names = kills.map((_, i) => `c${i + 1}`);
    const nodes = kills.map((lastSample, i) =>
      node(names[i]!, agent(names[i]!, sampledSpan), [
        ...(lastSample === undefined
          ? []
          : [table('vmstat', [series(sampledSpan, {}, { oom_kill: count(sampledSpan, lastSample) })])]),
      ]),
    );
    return finding(material(job(100, { nodes: names, state: 'failed', signal: 'SIGKILL' }), nodes), 'job-failed');
  };
  const none = killed(0, 0);
  assert.match(none.text, /SIGKILL: killed by the scheduler or a user, not by the kernel’s out-of-memory killer$/);
  assert.equal(none.evidence[1]!.text, 'no out-of-memory kill was counted');
  assert.match(killed(0, undefined).text, /SIGKILL: killed by the kernel because memory ran out, by the scheduler or/);
  assert.match(killed(0, 2).text, /SIGKILL: the kernel’s out-of-memory killer was at work in the job$/);
});

test('that a job was cancelled, and by whom, stands in its verdict', () => {
  const by = { state: 'cancelled', reason: 'cancelled by alice' } as const;
  for (const more of [{}, { signal: 'SIGTERM' }, { exit_code: 143 }]) {
    const jobReport = report(single({}, { ...by, ...more }));
    assert.match(verdict(jobReport), /^The job was cancelled by alice\. Nothing else wrong found by \d+ checks/);
    assert.equal(jobReport.findings[0]?.severity, 'info');
  }
  const idle = report(single({ gpus: [{ busy: 90 }, { busy: 0 }] }, by));
  assert.match(verdict(idle), /^The job was cancelled by alice\. 1 of 2 GPUs was never used/);
  assert.match(verdict(report(single({}, { state: 'cancelled' }))), /^The job was cancelled\. /);
  const requeued = single({}, { state: 'cancelled', reason: 'put back into the queue' });
  assert.match(verdict(report(requeued)), /^The job was put back into the queue\. /);
});

test('a step that failed is told, also when the job did not', () => {
  const step = (id: string, state: string, exit_code: number) => ({ id, name: 'solve', state, exit_code });
  const steps = [step('batch', 'failed', 1), step('0', 'completed', 0), step('1', 'failed', 4)];
  const jobMaterial = single({}, { state: 'completed', steps });
  assert.equal(finding(jobMaterial, 'step-failed').text, 'Step 1 (solve) ended with exit code 4');
  assert.equal(verdict(report(jobMaterial)), 'Step 1 (solve) ended with exit code 4.');
  assert.match(finding(jobMaterial, 'step-failed').advice, /tacho report --step 1 shows/);
  assert.equal(
    finding({ ...jobMaterial, range: { what: 'step 1' } }, 'step-failed').advice,
    'The job’s own output says more.',
  );
  const late = single({}, { steps: [...steps, { id: '2', state: 'timeout' }, { id: '3', state: 'cancelled' }] });
  assert.equal(finding(late, 'step-failed').text, '2 of 5 steps failed: 1 (solve) and 2');
  assert.equal(finding(late, 'step-failed').evidence[1]?.text, 'step 2 reached its time limit');
  assert.deepEqual(ids(single({}, { steps: [step('batch', 'failed', 1)] })), []);
  assert.equal(outcome(single(), 'step-failed')?.outcome, 'skipped');
});

test('nothing recorded is nothing invented', () => {
  const empty = material(job(60, { nodes: ['c1'] }), [node('c1', undefined, [])]);
  const jobReport = report(empty);
  assert.deepEqual(jobReport.nodes, [
    { node: 'c1', status: 'never recorded', reason: 'no agent wrote anything on this node' },
  ]);
  for (const name of ['cpu_seconds', 'memory_peak_bytes', 'energy_joules', 'gpu_utilization'] as const) {
    assert.equal(jobReport.summary[name], undefined);
  }
});
