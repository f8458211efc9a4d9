import assert from 'node:assert/strict';
import { test } from 'node:test';
import { madeJob } from '../../../test/made/outlier-jobs.ts';
import { findOutliers } from './outliers.ts';

const job = (id: string, slow = 1) =>
  madeJob(
    id,
    [
      { tags: 'op:build', cpu_time: 4e6 + Number(id) * 1000, duration: 5e6 + Number(id) * 900 },
      {
        tags: 'op:test',
        start: 6e6,
        cpu_time: (2e6 + Number(id) * 700) * slow,
        duration: (3e6 + Number(id) * 800) * slow,
      },
    ],
    { duration: 1e7 + Number(id) * 1e4 + (slow - 1) * 3e6 },
  );

test('a job that is slow is found, and in which operation', async () => {
  const jobs = [job('1'), job('2'), job('3'), job('4', 5), job('5'), job('6')];
  const result = await findOutliers('jobs', jobs);
  assert.deepEqual(
    result.groups[0]!.outliers.map((one) => [
      one.job,
      one.features
        .filter((f) => f.apart)
        .map((f) => f.feature)
        .sort(),
    ]),
    [['4', ['cpu_time', 'duration']]],
  );
  const operations = await findOutliers('operations', jobs);
  assert.deepEqual(
    operations.groups.map(({ name, outliers }) => [name, outliers.map((one) => one.job)]),
    [
      ['op:build', []],
      ['op:test', ['4']],
    ],
  );
});

test('processes are compared with those of the same program, and only what matters counts', async () => {
  const processes = Array.from({ length: 60 }, (_, i) => ({
    exename: 'cc',
    cpu_time: 1e6 + (i % 7) * 1e4,
    duration: 2e6,
  }));
  processes[17]!.cpu_time = 9e6;
  const tiny = Array.from({ length: 60 }, (_, i) => ({ exename: 'true', cpu_time: 10 + (i % 3), duration: 20 }));
  tiny[3]!.cpu_time = 400;
  const long = { exename: 'link', cpu_time: 5e7, duration: 6e7 };
  const result = await findOutliers('processes', [madeJob('1', [...processes, ...tiny, long])]);
  assert.deepEqual(
    result.groups.map(({ name, rows, outliers }) => [name, rows, outliers.map(({ pid }) => pid)]),
    [
      ['cc', 60, [1017]],
      ['true', 60, []],
      ['link', 1, []],
    ],
  );
  assert.equal(result.groups[0]!.outliers[0]!.excess, 9e6 - 1.03e6);
  const everything = await findOutliers('processes', [madeJob('1', [...processes, ...tiny, long])], { floor: 0 });
  assert.deepEqual(
    everything.groups[1]!.outliers.map(({ pid }) => pid),
    [1063],
  );
});

test('threads of one process', async () => {
  const processes = Array.from({ length: 20 }, (_, i) => ({ cpu_time: 1e6 + (i % 5) * 1e4 }));
  processes[2]!.cpu_time = 2e7;
  const outliers = await findOutliers('threads', [madeJob('1', processes)]);
  assert.deepEqual(
    outliers.groups[0]!.outliers.map(({ tid }) => tid),
    [1002],
  );
  const one = await findOutliers('threads', [madeJob('1', processes)], { pid: 1003 });
  assert.equal(one.groups[0]!.rows, 1);
});

test('what weakens the answer is said', async () => {
  const jobs = Array.from({ length: 30 }, (_, i) =>
    madeJob(`${i}`, [{ cpu_time: 4e6 + ((i * 7) % 31) * 1e4 }], { duration: 1e7 + ((i * 11) % 29) * 1e4 }),
  );
  assert.deepEqual((await findOutliers('jobs', jobs)).notes, []);
  const bare = madeJob('bare', [], { duration: 1e7 });
  const among = await findOutliers('jobs', [...jobs, bare]);
  assert.deepEqual(
    among.groups[0]!.incomplete.map(({ job: id }) => id),
    ['bare'],
  );
  assert.match(among.notes.join(), /^1 of 31 jobs was not judged by features together, lacking .*cpu_time.*: bare$/);
  const reference = (rows: number) => ({
    model: 'm',
    tables: new Map([
      ['', { rows, features: new Map([['duration', Float64Array.from({ length: rows }, () => 1e7)]]) }],
    ]),
  });
  assert.deepEqual((await findOutliers('jobs', jobs, { reference: reference(3) })).notes, [
    'the model has 3 jobs, 10 or more are better: with fewer, many good jobs differ from the baseline by chance',
  ]);
  assert.deepEqual((await findOutliers('jobs', jobs, { reference: reference(10) })).notes, []);
});

test('a score above which a method votes can be chosen', async () => {
  const jobs = Array.from({ length: 12 }, (_, i) =>
    madeJob(`${i}`, [{ cpu_time: 1e6 }], { duration: 1e7 + ((i * 7) % 11) * 3e5 + (i === 5 ? 1.2e7 : 0) }),
  );
  const ids = async (thresholds?: ReadonlyMap<string, number>): Promise<string[]> => {
    const outliers = await findOutliers('jobs', jobs, { features: ['duration'], ...(thresholds && { thresholds }) });
    return outliers.groups[0]!.outliers.map((one) => one.job);
  };
  assert.deepEqual(await ids(), ['5']);
  const high = new Map(['modified z-score', 'z-score', 'interquartile range'].map((method) => [method, 1000]));
  assert.deepEqual(await ids(high), []);
});

test('one in a hundred is no difference, however alike the others are', async () => {
  const jobs = Array.from({ length: 12 }, (_, i) =>
    madeJob(`${i}`, [{ cpu_time: i === 3 ? 1.01e6 : 1e6 + (i % 2) }], { duration: 1e7 }),
  );
  assert.deepEqual((await findOutliers('jobs', jobs)).groups[0]!.outliers, []);
  const exact = await findOutliers('jobs', jobs, { floor: 0 });
  assert.deepEqual(
    exact.groups[0]!.outliers.map(({ job: id }) => id),
    ['3'],
  );
});

test('one quantity is one feature, whatever names it has', async () => {
  const jobs = Array.from({ length: 6 }, (_, i) => {
    const cpu = 1e6 * (i + 1);
    const metrics = { time_oncpu: cpu * 1000, PERF_COUNT_SW_CPU_CLOCK: cpu * 1000, rdtsc_duration: 3 * cpu, rchar: 9 };
    return madeJob(`${i}`, [{ cpu_time: cpu, metrics }]);
  });
  const all = await findOutliers('jobs', jobs);
  assert.deepEqual(all.groups[0]!.features, ['cpu_time', 'processes', 'threads', 'rchar', 'duration']);
  const asked = await findOutliers('jobs', jobs, { features: ['time_oncpu'] });
  assert.deepEqual(asked.groups[0]!.features, ['time_oncpu']);
});

const kinds = Array.from({ length: 40 }, (_, i) => {
  const kind = i % 2 === 0 ? 'ocean' : 'atmos';
  const seconds = (kind === 'ocean' ? 100 : 4000) * (1 + ((i * 7) % 13) / 100) * (i === 8 ? 3 : 1);
  return madeJob(`${i}`, [{ cpu_time: 1e6 }], { duration: seconds * 1e6, tags: { component: kind, run: `r${i}` } });
});

test('jobs of different kinds are judged together only with a warning, and each kind alone with --by', async () => {
  const mixed = await findOutliers('jobs', kinds, { features: ['duration'] });
  assert.match(mixed.notes.join(), /^jobs of 2 kinds are judged together: .* --by component judges each kind alone$/);
  const apart = await findOutliers('jobs', kinds, { features: ['duration'], by: 'component' });
  assert.deepEqual(apart.notes, []);
  assert.deepEqual(
    apart.groups.map(({ name, rows, outliers }) => [name, rows, outliers.map(({ job: id }) => id)]),
    [
      ['component:atmos', 20, []],
      ['component:ocean', 20, ['8']],
    ],
  );
  const alone = await findOutliers('jobs', [...kinds, madeJob('x', [])], { features: ['duration'], by: 'component' });
  assert.deepEqual(alone.notes, ['too few jobs to judge: without component (1)']);
});

test('a few jobs of other kinds among jobs of one kind are named, too', async () => {
  const named = (name: string, seconds: number): ReturnType<typeof madeJob> =>
    madeJob(`${name}-${seconds}`, [{ cpu_time: 1e6 }], { duration: seconds * 1e6, tags: { case: name } });
  const builds = [528, 543, 1174, 565].map((seconds) => named('build', seconds));
  const others = [named('ocean', 6480), named('ocean', 6600), named('copy', 1.2)];
  const { notes } = await findOutliers('jobs', [...builds, ...others], { features: ['duration'] });
  assert.match(notes.join(), /^jobs of 3 kinds are judged together: .* --by (name|case) judges each kind alone$/);
  assert.deepEqual((await findOutliers('jobs', builds, { features: ['duration'] })).notes, []);
});

test('kinds of too few jobs to be judged alone are no reason for a warning', async () => {
  const named = (name: string, seconds: number): ReturnType<typeof madeJob> =>
    madeJob(`${name}-${seconds}`, [{ cpu_time: 1e6 }], { duration: seconds * 1e6, tags: { case: name } });
  const jobs = [...[528, 543, 565].map((seconds) => named('build', seconds)), named('odd', 1174)];
  assert.deepEqual((await findOutliers('jobs', jobs, { features: ['duration'] })).notes, []);
});
