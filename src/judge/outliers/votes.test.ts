import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { random } from '../../base/random.ts';
import type { FeatureTable } from './feature-table.ts';
import { castVotes, METHODS } from './votes.ts';

const tableOf = (columns: Record<string, readonly number[]>): FeatureTable => ({
  rows: Object.values(columns)[0]!.length,
  features: new Map(Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)])),
});

/** Jobs that are alike, as measured jobs are: a few per cent apart, CPU time and duration moving together. */
function alike(number: number, seed = 1): Record<string, number[]> {
  const next = random(seed);
  const around = (middle: number): number => Math.round(middle * (0.97 + 0.06 * next()));
  const load = Array.from({ length: number }, () => 0.98 + 0.04 * next());
  return {
    duration: load.map((x) => around(6e8 * x)),
    cpu_time: load.map((x) => around(4.5e8 * x)),
    rchar: load.map(() => around(2e9)),
    processes: load.map(() => 10600),
  };
}

const outliersOf = async (table: FeatureTable): Promise<number[]> =>
  (await castVotes(table)).verdicts.filter(({ outlier }) => outlier).map(({ row }) => row);

test('four jobs, one of them slow: found, and the methods that need more are named', async () => {
  const ballot = await castVotes(tableOf({ duration: [542, 527, 560, 1173], processes: [9, 9, 9, 9] }));
  assert.deepEqual(
    ballot.verdicts.map(({ row }) => row),
    [3],
  );
  const [feature] = ballot.verdicts[0]!.features;
  assert.equal(feature!.feature, 'duration');
  assert.equal(feature!.median, 551);
  assert.deepEqual(
    feature!.votes.map(({ method, vote }) => [method, vote]),
    [
      ['modified z-score', true],
      ['interquartile range', true],
    ],
  );
  assert.deepEqual(
    ballot.methods.map(({ method, left_out }) => [method, left_out]),
    [
      ['modified z-score', undefined],
      ['z-score', 'needs 11, there are 4'],
      ['interquartile range', undefined],
      ['robust covariance', 'needs 20, there are 4'],
      ['isolation forest', 'needs 10, there are 4'],
      ['principal components', 'needs 10, there are 4'],
    ],
  );
});

test('with enough jobs every method votes, and says on which features', async () => {
  const jobs = alike(40);
  for (const name of ['duration', 'cpu_time', 'rchar']) jobs[name]![7]! *= 3;
  const { methods, verdicts } = await castVotes(tableOf(jobs));
  assert.deepEqual(
    methods.map(({ method, left_out }) => [method, left_out]),
    METHODS.map((method) => [method, undefined]),
  );
  assert.deepEqual(methods.find(({ method }) => method === 'robust covariance')!.features, [
    'duration',
    'cpu_time',
    'rchar',
  ]);
  assert.deepEqual(
    verdicts.map(({ row }) => row),
    [7],
  );
  const { features, together } = verdicts[0]!;
  assert.ok(features.filter(({ apart }) => apart).every(({ votes }) => votes.every(({ vote }) => vote)));
  assert.deepEqual(
    together.map(({ vote }) => vote),
    [true, true, true],
  );
});

test('against a reference one job is enough, and it does not matter what the others are', async () => {
  const reference = tableOf({ cpu_time: [449, 450, 451], duration: [540, 545, 560] });
  const jobs = tableOf({ cpu_time: [627, 450], duration: [550, 546] });
  const ballot = await castVotes(jobs, { reference });
  assert.equal(ballot.reference, 3);
  assert.deepEqual(
    ballot.verdicts.map(({ row, features }) => [row, features.filter((f) => f.apart).map((f) => f.feature)]),
    [[0, ['cpu_time']]],
  );
  const two = await castVotes(jobs, { reference: tableOf({ cpu_time: [449, 450] }) });
  assert.deepEqual(two.verdicts, []);
  assert.equal(two.methods[0]!.left_out, 'needs 3, there are 2');
});

test('a value that is missing is not judged', async () => {
  const table = tableOf({ duration: [5, 5.1, 4.9, Number.NaN, 5, 90] });
  assert.deepEqual(await outliersOf(table), [5]);
  const all = await castVotes(table, { all: true });
  assert.deepEqual(all.verdicts[3]!.features, []);
});

test('a job that lacks features is not judged together; the others are', async () => {
  const jobs = alike(38);
  for (const name of ['cpu_time', 'rchar', 'processes']) jobs[name]![5] = Number.NaN;
  for (const name of ['duration', 'cpu_time', 'rchar']) jobs[name]![7]! *= 3;
  const { methods, incomplete, verdicts } = await castVotes(tableOf(jobs), { all: true });
  for (const { method, left_out, features } of methods.slice(3))
    assert.deepEqual([left_out, features], [undefined, ['duration', 'cpu_time', 'rchar']], method);
  assert.deepEqual(incomplete, [{ row: 5, lacks: ['cpu_time', 'rchar'] }]);
  assert.deepEqual([verdicts[5]!.together, verdicts[5]!.together_apart], [[], false]);
  assert.deepEqual(
    verdicts[7]!.together.map(({ vote }) => vote),
    [true, true, true],
  );
  // it is the same as if that job were not there
  const others = Object.fromEntries(Object.entries(jobs).map(([name, values]) => [name, values.toSpliced(5, 1)]));
  const without = await castVotes(tableOf(others), { all: true });
  assert.deepEqual(without.incomplete, []);
  assert.deepEqual(
    without.methods.slice(3).map(({ features }) => features),
    methods.slice(3).map(({ features }) => features),
  );
  // however far off it is in what is known of it
  const far = await castVotes(tableOf({ ...jobs, duration: jobs.duration!.with(5, 9e12) }), { all: true });
  for (const ballot of [{ verdicts }, far])
    assert.deepEqual(
      ballot.verdicts.toSpliced(5, 1).map(({ together }) => together),
      without.verdicts.map(({ together }) => together),
    );
});

test('a feature that only some have takes nobody out of the vote', async () => {
  const jobs = { ...alike(40), energy: alike(40, 9).duration!.map((value, i) => (i % 2 === 0 ? value : Number.NaN)) };
  const { methods, incomplete } = await castVotes(tableOf(jobs), { all: true });
  assert.deepEqual(methods.at(-1)!.features, ['duration', 'cpu_time', 'rchar']);
  assert.deepEqual(incomplete, []);
});

test('against a reference a job is judged together by the features that it has', async () => {
  const reference = tableOf(alike(40));
  const one = tableOf({ duration: [9e9], cpu_time: [9e9], rchar: [Number.NaN] });
  const { methods, incomplete, verdicts } = await castVotes(one, { reference });
  assert.deepEqual(methods.at(-1)!.features, ['duration', 'cpu_time']);
  assert.deepEqual([incomplete, verdicts[0]!.together.length], [[], 3]);
});

test('a method that cannot vote on a feature shows its score, and why it is not counted', async () => {
  const { verdicts } = await castVotes(tableOf({ bytes: [5, 5, 5, 0], duration: [7, 8, 9, 10] }));
  const bytes = verdicts[0]!.features.find(({ feature }) => feature === 'bytes')!;
  assert.equal(bytes.apart, true);
  assert.deepEqual(bytes.votes, [
    {
      method: 'modified z-score',
      score: (0.6745 * 5) / 1.25,
      threshold: 3.5,
      vote: false,
      cannot: 'most are alike: among 4 no other value can score above 3.5',
    },
    { method: 'interquartile range', score: 3, threshold: 1.5, vote: true },
  ]);
});

test('the order of jobs does not matter', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 4, max: 50 }), fc.nat(1000), fc.nat(), async (number, seed, turn) => {
      const jobs = alike(number, seed);
      const shift = turn % number;
      const turned = Object.fromEntries(
        Object.entries(jobs).map(([name, values]) => [name, [...values.slice(shift), ...values.slice(0, shift)]]),
      );
      const [a, b] = [await outliersOf(tableOf(jobs)), await outliersOf(tableOf(turned))];
      assert.deepEqual(b.map((row) => (row + shift) % number).sort(), a.sort());
    }),
    { numRuns: 20 },
  );
});

test('a job far from the others in any one feature is always found', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 4, max: 40 }),
      fc.nat(1000),
      fc.constantFrom('duration', 'cpu_time', 'rchar', 'processes'),
      fc.nat(),
      async (number, seed, feature, which) => {
        const jobs = alike(number, seed);
        jobs[feature]![which % number]! *= 100;
        const { verdicts } = await castVotes(tableOf(jobs));
        const outlierVerdict = verdicts.find(({ row }) => row === which % number);
        assert.ok(outlierVerdict?.features.some((each) => each.feature === feature && each.apart));
      },
    ),
    { numRuns: 40 },
  );
});

test('jobs that are all the same have no outliers, whatever their number', async () => {
  for (const number of [1, 3, 4, 12, 60]) {
    const same = new Array<number>(number).fill(17);
    assert.deepEqual(await outliersOf(tableOf({ duration: same, cpu_time: same, rchar: same })), []);
  }
});

test('of methods that are asked for, the others do not vote', async () => {
  const jobs = alike(30);
  jobs.duration![3]! *= 9;
  const { methods, verdicts } = await castVotes(tableOf(jobs), { methods: ['interquartile range'] });
  assert.deepEqual(
    methods.map(({ method }) => method),
    ['interquartile range'],
  );
  assert.ok(verdicts.some(({ row, together }) => row === 3 && together.length === 0));
});
