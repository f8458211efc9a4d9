import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finding, outcome } from '../../../test/made/findings.ts';
import { type Told, testJob, testSet } from '../../../test/made/processes.ts';
import { agent, cgroup, job, material, node, START, span } from '../../../test/made/report-jobs.ts';
import { count, level, series, table } from '../../../test/made/report-statistics.ts';
import type { Material } from '../../query/material.ts';
import type { Job } from '../../recording/folder/job.ts';

process.env.TZ = 'UTC';

/** A hundred seconds on one node with four CPUs, with these processes below a script. */
function processes(recordedProcesses: readonly Told[], busy = 3, ended: Partial<Job> = {}): Material {
  const sampledSpan = span(100);
  const script: Told = { pid: 1, ppid: 0, from: 0, to: 100, cpu: 0.1, exename: 'bash', args: 'job.sh', exitcode: 0 };
  const all = recordedProcesses.map((one): Told => ({ ppid: 1, exitcode: 0, ...one }));
  return material(
    job(100, { asked: { nodes: 1, cpus: 4 }, ...ended }),
    [node('c1', agent('c1', sampledSpan), [cgroup(sampledSpan, busy, 2 ** 30)])],
    {
      processes: testSet([script, ...all], [testJob()]),
    },
  );
}

const many = (n: number, of: (i: number) => Omit<Told, 'pid'>): Told[] =>
  Array.from({ length: n }, (_, i) => ({ pid: 10 + i, ...of(i) }));

test('thousands of short processes are counted, with what they cost and who started them', () => {
  const sed = (n: number, cpu: number) =>
    processes(
      many(n, (i) => ({ exename: 'sed', args: 's/a/b/', from: i / 100, to: i / 100 + 0.01, cpu })),
      1,
    );
  const { severity, text, evidence, confidence } = finding(sed(4000, 0.005), 'short-processes');
  assert.deepEqual([severity, confidence], ['advice', 'high']);
  assert.match(text, /^4.000 short processes used 20\.0 s of CPU time \(20 %\): sed 4.000 times$/);
  assert.match(evidence[0]!.text, /^4.000 processes of less than 1\.0 s, 10 ms on average, 40 a second$/);
  assert.match(evidence[1]!.text, /^20 % of the job’s CPU time; one after the other they take 40 % of its duration$/);
  assert.match(evidence[2]!.text, /^sed: 4.000 times, 20\.0 s of CPU time, started by bash job\.sh$/);
  assert.equal(outcome(sed(999, 0.005), 'short-processes')?.outcome, 'fine');
  // a build has thousands of them, and does something else
  assert.equal(outcome(sed(1400, 0.005), 'short-processes')?.outcome, 'fine');
  // what works is not short
  assert.equal(outcome(sed(4000, 0.06), 'short-processes')?.outcome, 'fine');
  const { processes: _, ...sampled } = sed(4000, 0.005);
  assert.equal(outcome(sampled, 'short-processes')?.outcome, 'skipped');
});

test('children that crash, fail after work or cannot be started are named; answers and signals on purpose are not', () => {
  const crashed = finding(
    processes([
      { pid: 7, exename: 'solve', args: '3', from: 1, to: 2, cpu: 0.1, exitsignal: 11, ended: 'signal' },
      { pid: 8, exename: 'solve', args: '4', from: 1, to: 9, cpu: 7 },
    ]),
    'failing-children',
  );
  assert.equal(crashed.severity, 'warning');
  assert.equal(crashed.text, '1 child process failed: solve ended by SIGSEGV');
  assert.equal(crashed.evidence[0]!.text, 'solve: 1 of 2 runs failed (50 %)');
  assert.match(
    crashed.evidence[1]!.text,
    /^solve 3 \(pid 7 on c1\): ended by SIGSEGV at 2026-11-15 20:49:14 UTC, started by bash \(pid 1\)$/,
  );
  const failed = processes([
    { pid: 7, exename: 'python3', args: 'part.py', from: 1, to: 30, cpu: 20, exitcode: 3 },
    { pid: 8, exename: 'bash', args: 'job.sh', from: 40, to: 40.01, cpu: 0, exitcode: 127 },
  ]);
  assert.equal(finding(failed, 'failing-children').severity, 'advice');
  assert.equal(
    finding(failed, 'failing-children').text,
    '2 child processes failed: python3 ended with exit code 3 and bash could not start a program (exit code 127)',
  );
  const healthy: Told[] = [
    { pid: 7, exename: 'grep', args: 'x log', from: 1, to: 9, cpu: 5, exitcode: 1 },
    { pid: 8, exename: 'server', from: 1, to: 50, cpu: 5, exitsignal: 15, ended: 'signal' },
    { pid: 9, exename: 'cc', args: 'conftest.c', from: 1, to: 1.1, cpu: 0.05, exitcode: 1 },
    { pid: 20, exename: 'timeout', args: '5 sleep 9', from: 1, to: 6, cpu: 0, exitcode: 124 },
    { pid: 21, exename: 'sh', args: '-c false', from: 1, to: 6, cpu: 0, exitcode: 1 },
    { pid: 22, exename: 'solve', from: 1, to: 60, cpu: 50 },
  ];
  assert.equal(outcome(processes(healthy), 'failing-children')?.outcome, 'fine');
  // the shell between only passes on what failed below it
  const below: Told[] = [
    { pid: 7, exename: 'sh', args: 'step.sh', from: 1, to: 9, exitcode: 3 },
    { pid: 8, ppid: 7, exename: 'solve', from: 2, to: 9, cpu: 6, exitcode: 3 },
  ];
  assert.equal(
    finding(processes(below), 'failing-children').text,
    '1 child process failed: solve ended with exit code 3',
  );
  // short ones by their number alone
  const convert = (n: number): Material =>
    processes(many(20, (i) => ({ exename: 'convert', from: i, to: i + 0.1, cpu: 0.05, exitcode: i < n ? 2 : 0 })));
  assert.match(finding(convert(15), 'failing-children').text, /convert ended with exit code 2 \(15 times\)$/);
  assert.equal(outcome(convert(9), 'failing-children')?.outcome, 'fine');
});

test('a job that ends as one of its processes did names that one, and does not report it twice', () => {
  const solve = (to: number, more: Partial<Told>): Told => ({
    pid: 8,
    ppid: 7,
    exename: 'solve',
    from: 2,
    to,
    cpu: 6,
    ...more,
  });
  const step: Told = { pid: 7, exename: 'sh', args: 'step.sh', from: 1, to: 99.8, exitcode: 3 };
  const failed = processes([step, solve(99.7, { args: '-n 4', exitcode: 3 })], 3, { state: 'failed', exit_code: 3 });
  const { text, evidence } = finding(failed, 'job-failed');
  assert.equal(text, 'The job ended with exit code 3, as solve (pid 8 on c1) did');
  assert.match(evidence[1]!.text, /^solve -n 4 \(pid 8 on c1\) ended so at 2026-11-15 20:50:5\d UTC$/);
  assert.equal(outcome(failed, 'failing-children')?.outcome, 'fine');
  // what a shell makes of a signal
  const crash = solve(99.7, { exitcode: Number.NaN, exitsignal: 11, ended: 'signal' });
  const crashed = processes([{ ...step, exitcode: 139 }, crash], 3, { state: 'failed', exit_code: 139 });
  assert.match(finding(crashed, 'job-failed').text, /^The job was ended by SIGSEGV, as solve \(pid 8 on c1\) was: /);
  assert.equal(outcome(crashed, 'failing-children')?.outcome, 'fine');
  // one that ended long before, or in another way, is no reason
  for (const other of [solve(50, { exitcode: 3 }), solve(99.7, { exitcode: 4 })]) {
    const apart = processes([{ ...other, ppid: 1 }], 3, { state: 'failed', exit_code: 3 });
    assert.equal(finding(apart, 'job-failed').text, 'The job ended with exit code 3');
    assert.match(finding(apart, 'failing-children').text, /^1 child process failed: solve ended with exit code [34]$/);
  }
});

test('a failure that a process above did not pass on is no reason for the end of the job', () => {
  const readlink: Told = { pid: 9, ppid: 8, exename: 'readlink', from: 99.3, to: 99.31, exitcode: 1 };
  const end = { state: 'failed', exit_code: 1 } as const;
  // a login shell's wrapper looks for the program, ends well, and the program then fails
  const wrapper: Told = { pid: 8, ppid: 7, exename: 'which', from: 99.2, to: 99.4, exitcode: 0 };
  const program: Told = { pid: 7, exename: 'python3', args: 'x.py', from: 1, to: 99.8, cpu: 3, exitcode: 1 };
  assert.equal(
    finding(processes([program, wrapper, readlink], 3, end), 'job-failed').text,
    'The job ended with exit code 1, as python3 (pid 7 on c1) did',
  );
  // what the process called before it became another program
  const before: Told = { pid: 7, exename: 'sh', args: 'shim', from: 1, to: 99.5, ended: 'exec', exitcode: Number.NaN };
  const after: Told = { ...program, from: 99.5 };
  assert.equal(
    finding(processes([before, after, { ...readlink, ppid: 7 }], 3, end), 'job-failed').text,
    'The job ended with exit code 1, as python3 (pid 7 on c1) did',
  );
});

const worker = (i: number, life: number, cpu: number, more: Partial<Told> = {}): Omit<Told, 'pid'> => ({
  ...{ exename: 'worker', args: `--id ${i}`, from: 1, to: 1 + life, cpu },
  ...more,
});

test('similar processes with unequal work: the busiest and the others are named', () => {
  const uneven = processes(many(4, (i) => worker(i, i === 2 ? 80 : 30, i === 2 ? 78 : 26)));
  const { severity, text, evidence } = finding(uneven, 'process-imbalance');
  assert.equal(severity, 'advice');
  assert.equal(
    text,
    '4 similar processes (worker) had unequal work: 1 min 18 s of CPU time in the busiest, 26.0 s in the median',
  );
  assert.match(
    evidence[0]!.text,
    /^on average they had 50 % of the busiest one’s CPU time; together they ran for 1 min 20 s/,
  );
  assert.equal(evidence[1]!.text, 'worker --id 2 (pid 12 on c1): 1 min 18 s of CPU time in 1 min 20 s');
  const fine = (recordedProcesses: Told[]) =>
    assert.equal(outcome(processes(recordedProcesses), 'process-imbalance')?.outcome, 'fine');
  // a pool whose workers live equally long tells by CPU time
  assert.equal(
    outcome(processes(many(4, (i) => worker(i, 80, i === 2 ? 78 : 20))), 'process-imbalance')?.outcome,
    'found',
  );
  fine(many(4, (i) => worker(i, 80 - i, 70 - 4 * i)));
  // one after the other, of different programs, of different parents, or with ranks
  fine(
    many(4, (i) => worker(i, i === 2 ? 40 : 10, i === 2 ? 39 : 9, { from: i * 20, to: i * 20 + (i === 2 ? 40 : 10) })),
  );
  fine(many(4, (i) => worker(i, i === 2 ? 80 : 30, i === 2 ? 78 : 26, { exename: `part-${'abcd'[i]}` })));
  fine(many(4, (i) => worker(i, i === 2 ? 80 : 30, i === 2 ? 78 : 26, { rank: String(i) })));
  // nobody worked
  fine(many(4, (i) => worker(i, 80, i === 2 ? 8 : 2)));
});

test('one slow process of many like ones, with as much work, and what held it up', () => {
  const lame = (more: Partial<Told>, cpu = 20) =>
    processes(
      many(5, (i) =>
        worker(i, i === 3 ? 60 : 22 + i / 10, i === 3 ? cpu : 20, i === 3 ? more : { metrics: { time_waiting: 1e9 } }),
      ),
    );
  const slept = finding(lame({ metrics: { time_waiting: 1e9 } }), 'slow-worker');
  assert.equal(slept.severity, 'advice');
  assert.equal(
    slept.text,
    'worker --id 3 (pid 13 on c1) took 1 min 00 s; 4 similar processes took 22.1 s for as much work',
  );
  assert.match(slept.advice, /^It slept/);
  const waited = finding(lame({ metrics: { time_waiting: 38e9 } }), 'slow-worker');
  assert.match(waited.evidence.at(-1)!.text, /^it waited for a CPU 37\.0 s longer than the others, of 37\.9 s/);
  assert.match(waited.advice, /^It shares its CPU/);
  // more work is no slow worker
  const more = lame({ metrics: { time_waiting: 1e9 } }, 58);
  assert.equal(outcome(more, 'slow-worker')?.outcome, 'fine');
  assert.equal(outcome(more, 'process-imbalance')?.outcome, 'found');
  assert.equal(outcome(processes(many(5, (i) => worker(i, 22 + i, 20))), 'slow-worker')?.outcome, 'fine');
});

/** The threads of process 7, by seconds of CPU time; `more` has what each else tells. */
function threaded(
  cpu: readonly number[],
  more: (k: number) => Record<string, number> = () => ({}),
  life = 80,
): Material {
  const jobMaterial = processes(
    [{ pid: 7, exename: 'solve', from: 1, to: 1 + life, cpu: cpu.reduce((a, b) => a + b), threads: cpu.length }],
    1,
  );
  const row = [...jobMaterial.processes!.pid].indexOf(7);
  const metrics = new Map<string, Float64Array>();
  for (const name of Object.keys(more(0)))
    metrics.set(
      name,
      Float64Array.from(cpu, (_, k) => more(k)[name]!),
    );
  const threads = {
    length: cpu.length,
    tid: Float64Array.from(cpu, (_, k) => 7 + k),
    start: Float64Array.from(cpu, () => START + 1e6),
    end: Float64Array.from(cpu, () => START + (1 + life) * 1e6),
    cpu_time: Float64Array.from(cpu, (seconds) => seconds * 1e6),
    process: Uint32Array.from(cpu, () => row),
    metrics,
  };
  return { ...jobMaterial, threads: () => threads };
}

test('threads of a process with unlike work: the busiest is named; threads that only serve do not count', () => {
  const { severity, text, evidence } = finding(threaded([78, 20, 20, 20]), 'thread-imbalance');
  assert.equal(severity, 'advice');
  assert.equal(
    text,
    'The 4 working threads of solve (pid 7 on c1) had unequal work: 1 min 18 s of CPU time in the busiest, 20.0 s in the median',
  );
  assert.equal(evidence[1]!.text, 'thread 7: 1 min 18 s of CPU time in 1 min 20 s');
  // triangular loops: the lightest thread has 1/5 and 1/7 of the work of the heaviest
  for (const cpu of [
    [78, 46, 15],
    [78, 56, 33, 11],
  ])
    assert.equal(outcome(threaded(cpu), 'thread-imbalance')?.outcome, 'found', String(cpu));
  for (const cpu of [
    [78, 75, 70, 72],
    [78, 8, 8, 8],
    [40, 10, 10, 10],
    [78, 30],
  ])
    assert.equal(outcome(threaded(cpu), 'thread-imbalance')?.outcome, 'fine', String(cpu));
  const { threads: _, ...unknown } = threaded([78, 20, 20, 20]);
  assert.equal(outcome(unknown, 'thread-imbalance')?.outcome, 'skipped');
});

test('threads that wait for each other: blocked, often, and without reading or writing', () => {
  const quiet = { time_waiting: 1e9, vol_ctxsw: 4000, syscr: 5, syscw: 0 };
  const locked = finding(
    threaded([21, 20, 20, 19], () => quiet),
    'lock-contention',
  );
  assert.equal(locked.severity, 'advice');
  assert.equal(
    locked.text,
    '4 threads of solve (pid 7 on c1) waited for each other 74 % of the time: together they wanted 1.05 CPUs',
  );
  assert.match(locked.evidence[1]!.text, /^they gave up their CPUs 200 times in a second of CPU time/);
  const fine = (cpu: number[], more: Partial<typeof quiet>) =>
    assert.equal(
      outcome(
        threaded(cpu, () => ({ ...quiet, ...more })),
        'lock-contention',
      )?.outcome,
      'fine',
    );
  // reads and writes, seldom, for a CPU, for work, or for one that is always busy
  fine([20, 20, 20, 20], { syscr: 3000 });
  fine([20, 20, 20, 20], { vol_ctxsw: 400 });
  fine([20, 20, 20, 20], { time_waiting: 50e9 });
  fine([10, 10, 10, 10], {});
  fine([78, 20, 20, 20], {});
});

test('processes that ended and stayed, because their parent does not wait', () => {
  const dead = (n: number, state: 'Z' | 'X', seconds: number): Material => {
    const sampledSpan = span(100);
    const jobMaterial = processes(many(n, (i) => ({ exename: 'part', args: String(i), from: 10, to: 20, cpu: 0 })));
    const until = { start: sampledSpan.start + 10e6, end: START + (20 + seconds) * 1e6, samples: 10 };
    const rows = Array.from({ length: n }, (_, i) =>
      series(
        until,
        { pid: String(10 + i), start: String(START / 1000 + 10_000) },
        { ppid: level(until, 1) },
        { name: 'part', state },
      ),
    );
    (jobMaterial.nodes[0]!.tables as Map<string, unknown>).set(...table('process', rows));
    return jobMaterial;
  };
  const { severity, text, evidence } = finding(dead(12, 'X', 30), 'zombies');
  assert.equal(severity, 'advice');
  assert.equal(text, '12 ended processes stayed as zombies: bash job.sh (pid 1 on c1) does not wait for its children');
  assert.equal(evidence[0]!.text, '12 processes (part), up to 30.0 s each');
  // until the last sample
  assert.match(finding(dead(12, 'Z', 1), 'zombies').evidence[0]!.text, /up to 1 min 20 s each$/);
  assert.equal(outcome(dead(12, 'X', 1), 'zombies')?.outcome, 'fine');
  assert.equal(outcome(dead(9, 'Z', 1), 'zombies')?.outcome, 'fine');
});

test('processes that go on after their parent has failed; those of a parent that ended well are wanted', () => {
  const below = (how: Partial<Told>, cpu = 30): Material =>
    processes([
      { pid: 7, exename: 'driver', from: 1, to: 20, cpu: 1, ...how },
      { pid: 8, ppid: 7, exename: 'worker', from: 2, to: 60, cpu },
    ]);
  const { severity, text, evidence } = finding(below({ exitsignal: 9, ended: 'signal' }), 'orphaned-processes');
  assert.equal(severity, 'warning');
  assert.equal(text, '1 process (worker) went on after driver (pid 7 on c1) had been ended by SIGKILL');
  assert.match(evidence[0]!.text, /^worker \(pid 8 on c1\): 40\.0 s after its parent’s end, 30\.0 s of CPU time/);
  assert.match(finding(below({ exitcode: 3 }), 'orphaned-processes').text, /had failed with exit code 3$/);
  assert.equal(outcome(below({}), 'orphaned-processes')?.outcome, 'fine');
  assert.equal(outcome(below({ exitcode: 3 }, 0.1), 'orphaned-processes')?.outcome, 'fine');
});

test('threads bound to too few CPUs: the processes, their CPUs and how long each waited; and who shared the node', () => {
  const sampledSpan = span(100);
  const jobMaterial = processes(
    many(2, (i) => ({ exename: 'rank', args: String(i), from: 1, to: 99, cpu: 48, metrics: { time_waiting: 48e9 } })),
    1,
  );
  const rows = [10, 11].map((pid) =>
    series(
      sampledSpan,
      { pid: String(pid), start: String(START / 1000 + 1000) },
      { user_ms: count(sampledSpan, 48e3), system_ms: count(sampledSpan, 0), wait_ms: count(sampledSpan, 48e3) },
      { name: 'rank', allowed_cpus: '2' },
    ),
  );
  (jobMaterial.nodes[0]!.tables as Map<string, unknown>).set(...table('process', rows));
  const long = { ...jobMaterial, job: { ...jobMaterial.job, end: START + 100e6 } };
  assert.equal(
    finding(long, 'cpu-binding').evidence[2]!.text,
    'c1: rank 0 (pid 10) may run on CPU 2, ran for 48.0 s, waited 48.0 s for a CPU',
  );
});
