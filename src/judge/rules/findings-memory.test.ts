import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finding, ids, outcome, single } from '../../../test/made/findings.ts';
import { type Told, testJob, testSet } from '../../../test/made/processes.ts';
import { agent, cgroup, job, material, node, START, span, usage } from '../../../test/made/report-jobs.ts';
import { count, level, line, series, table } from '../../../test/made/report-statistics.ts';
import type { Material } from '../../query/material.ts';
import { report } from '../report.ts';

process.env.TZ = 'UTC';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** A hundred seconds of processes with records, and with limits where samples have them. */
function withLimits(processRows: readonly Told[], limits: Record<string, ReturnType<typeof level>>): Material {
  const lifetime = span(100);
  const sampled = table('process', [
    series(
      lifetime,
      { pid: '6', start: String(START / 1000) },
      { rss_bytes: level(lifetime, GIB), ...limits },
      { name: 'solve' },
    ),
  ]);
  const facts = job(100, { scheduler: 'none', state: 'failed', exit_code: 1 });
  return material(facts, [node('c1', agent('c1', lifetime), [cgroup(lifetime, 1, GIB), sampled])], {
    processes: testSet(processRows, [testJob()]),
  });
}

const solve = { pid: 6, from: 0, to: 50, exename: 'solve', args: '-n 4', ended: 'signal', source: 'parent' } as const;
const lifetime = span(100);

test('process-limit: SIGXCPU, SIGXFSZ and a kill at the limit of CPU time', () => {
  const cpu = { cpu_limit_seconds: level(lifetime, 40) };
  const spent = withLimits([{ ...solve, cpu: 39.8, exitsignal: 9 }], cpu);
  // samples name it by its birth
  spent.processes!.sampled_birth[0] = START;
  const { text, severity, evidence, advice } = finding(spent, 'process-limit');
  assert.equal(text, 'solve -n 4 (pid 6) on c1 was ended by a limit of CPU time');
  assert.equal(severity, 'warning');
  assert.equal(evidence[0]!.text, 'c1: solve -n 4 (pid 6): 39.8 s of CPU time used, limit 40.0 s');
  assert.match(advice, /\(ulimit -t\)/);
  // the same signal long before the limit was somebody's
  const early = withLimits([{ ...solve, cpu: 12, exitsignal: 9 }], cpu);
  early.processes!.sampled_birth[0] = START;
  assert.ok(!ids(early).includes('process-limit'));
  const soft = finding(withLimits([{ ...solve, cpu: 12, exitsignal: 24 }], {}), 'process-limit');
  assert.equal(soft.evidence[0]!.text, 'c1: solve -n 4 (pid 6): 12.0 s of CPU time used, limit not recorded');
  assert.match(finding(withLimits([{ ...solve, exitsignal: 25 }], {}), 'process-limit').text, /limit of file size$/);
  assert.equal(outcome(withLimits([{ ...solve, exitsignal: 11 }], {}), 'process-limit')?.outcome, 'fine');
});

test('process-limit: a process that failed with its address space used up', () => {
  const failed = { ...solve, ended: 'exit', exitcode: 1, exitsignal: 0 };
  const near = (bytes: number, processRow: Told = failed): Material => {
    const all = withLimits([processRow], {
      virtual_limit_bytes: level(lifetime, GIB),
      virtual_bytes: level(lifetime, bytes),
    });
    all.processes!.sampled_birth[0] = START;
    return all;
  };
  const { text, confidence, evidence } = finding(near(0.97 * GIB), 'process-limit');
  assert.equal(text, 'solve -n 4 (pid 6) on c1 was ended by a limit of address space');
  assert.equal(confidence, 'medium');
  assert.match(evidence[0]!.text, /993 MiB of address space used, limit 1.0 GiB$/);
  assert.ok(!ids(near(0.5 * GIB)).includes('process-limit'), 'it failed for another reason');
  assert.ok(!ids(near(0.97 * GIB, { ...failed, exitcode: 0 })).includes('process-limit'), 'it did not fail');
});

test('process-limit: a process that failed far below a limit that its parent does not have', () => {
  const below = (limitOfParent: Record<string, ReturnType<typeof level>>): Material => {
    const jobMaterial = withLimits(
      [
        { pid: 5, from: 0, to: 60, exename: 'bash', exitcode: 0, source: 'record' },
        { ...solve, ppid: 5, from: 1, to: 50, ended: 'exit', exitcode: 1, exitsignal: 0 },
      ],
      { virtual_limit_bytes: level(lifetime, GIB), virtual_bytes: level(lifetime, 20 * MIB) },
    );
    const start = String(START / 1000);
    jobMaterial.nodes[0]!.tables.get('process')!.series.push(
      series(lifetime, { pid: '5', start }, { virtual_bytes: level(lifetime, MIB), ...limitOfParent }),
    );
    jobMaterial.processes!.sampled_birth.fill(START);
    return jobMaterial;
  };
  const { text, severity, confidence } = finding(below({}), 'process-limit');
  assert.deepEqual([severity, confidence], ['info', 'low']);
  assert.equal(
    text,
    'solve -n 4 (pid 6) on c1 failed under a limit of 1.0 GiB of address space: an allocation may have been refused',
  );
  // what the whole job inherited tells nothing
  assert.ok(!ids(below({ virtual_limit_bytes: level(lifetime, GIB) })).includes('process-limit'));
});

test('memory-figures: resident sets that count shared memory several times', () => {
  const jobMaterial = single({ memory: 4 });
  const { columns } = jobMaterial.nodes[0]!.tables.get('cgroup')!.series[0]!;
  columns.memory_anon_bytes = level(lifetime, GIB);
  columns.memory_file_bytes = level(lifetime, 3 * GIB);
  const { text, severity, evidence, advice } = finding(jobMaterial, 'memory-figures');
  assert.equal(text, 'Figures of the job’s memory on c1 differ (1.0 GiB to 4.0 GiB): 4.0 GiB count against the limit');
  assert.equal(severity, 'info');
  assert.deepEqual(
    evidence.slice(0, 2).map((e) => e.text),
    ['cgroup peak, file cache included: 4.0 GiB', 'programs’ own memory in the cgroup, at most: 1.0 GiB'],
  );
  assert.match(advice, /Programs need 1.0 GiB of it/);
  // as Slurm has it
  jobMaterial.job.steps = [{ id: '0', max_rss_bytes: 300 * MIB }];
  const slurm = finding(jobMaterial, 'memory-figures');
  assert.match(slurm.text, /\(300 MiB to 4.0 GiB\)/);
  assert.ok(slurm.evidence.some((e) => e.text === 'MaxRSS of Slurm, the largest of all steps: 300 MiB'));
  assert.ok(!ids(single({ memory: 50 })).includes('memory-figures'));
  assert.ok(!ids(single({ memory: 2 })).includes('memory-figures'), 'not far apart');
});

test('memory-growing: a short job is told when it would soon reach its limit', () => {
  const minutes = (wall: number, to: number, limit = 2 * GIB): Material => {
    const sampledSpan = span(wall);
    const rows = table('process', [
      series(
        sampledSpan,
        { pid: '9', start: String(START / 1000) },
        { rss_bytes: line(sampledSpan, 50 * MIB, to), rss_peak_bytes: line(sampledSpan, 50 * MIB, to) },
        { name: 'leak', command: './leak' },
      ),
    ]);
    const facts = job(wall, { asked: { nodes: 1, memory_bytes: limit }, scheduler: 'none' });
    return material(facts, [node('c1', agent('c1', sampledSpan), [cgroup(sampledSpan, 1, to), rows])]);
  };
  const { text, severity, evidence } = finding(minutes(120, 1.4 * GIB), 'memory-growing');
  assert.match(
    text,
    /^Memory of 1 process on c1 grew until the end, and would have filled the node after 5\d\.\d s more$/,
  );
  assert.equal(severity, 'advice');
  assert.match(evidence[0]!.text, /up to 1.4 GiB, \.\/leak$/);
  assert.ok(!ids(minutes(120, 0.6 * GIB)).includes('memory-growing'), 'far from its limit');
  assert.ok(!ids(minutes(40, 1.4 * GIB)).includes('memory-growing'), 'too short to tell');
});

test('out-of-memory: the process that was killed, and how large it was', () => {
  const jobMaterial = withLimits([{ ...solve, exitsignal: 9, metrics: { rssmax: 900 * 1024 } }], {});
  jobMaterial.nodes[0]!.tables.get('cgroup')!.series[0]!.columns.oom_kills = count(lifetime, 1);
  const { text, evidence } = finding(jobMaterial, 'out-of-memory');
  assert.equal(text, 'Memory ran out: 1 process killed on c1, solve -n 4 with 900 MiB');
  assert.ok(evidence.some((e) => e.text === 'c1: solve -n 4 with 900 MiB (pid 6) was ended by signal 9'));
});

test('out-of-memory: signal 9 with the limit reached, after the agent gave way', () => {
  const sampledSpan = span(5);
  const facts = job(5, {
    scheduler: 'none',
    state: 'failed',
    exit_code: 137,
    usage: usage(5, 2, 699 * MIB),
    not_recorded: { c1: 'less than 48 MiB of the job’s memory limit were left' },
  });
  const record = agent('c1', sampledSpan, { scope: { members: 'tree' } });
  delete record.end;
  delete record.end_reason;
  record.facts.memory_limit_bytes = 700 * MIB;
  const jobMaterial = material(facts, [
    node('c1', record, [table('vmstat', [series(sampledSpan, {}, { oom_kill: count(sampledSpan, 0) })])]),
  ]);
  const { text, confidence } = finding(jobMaterial, 'out-of-memory');
  assert.equal(text, 'Memory ran out: the job was killed with 699 MiB of 700 MiB in use on c1');
  assert.equal(confidence, 'medium');
  const less = { ...jobMaterial, job: { ...jobMaterial.job, usage: usage(5, 2, 300 * MIB) } };
  assert.ok(!report(less).findings.some(({ id }) => id === 'out-of-memory'));
});
