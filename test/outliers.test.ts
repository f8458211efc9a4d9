import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, test } from 'node:test';
import { importEpmt } from '../src/import/epmt/import.ts';
import type { Cause } from '../src/judge/models/cause.ts';
import type { Model } from '../src/judge/models/model.ts';
import type { Outliers } from '../src/judge/outliers/outliers.ts';
import { compilersOf, makeBuilds } from './made/builds.ts';
import { makeRecording, START, temporary } from './make-recording.ts';
import type { GivenProcess } from './process-recording.ts';
import { onTerminal, tacho, whyNoTerminal } from './tacho.ts';

let folder: string;
let models: string;

/** A build: 30 compilers, one linker. `slow` is what the compilers take. */
function build(seed: number, slow = 1): GivenProcess[] {
  const compilers = compilersOf(30, seed, slow);
  const linker = {
    pid: 900,
    start: 40,
    end: 44 + seed / 100,
    exename: 'ld',
    tags: 'op:link',
    cpu: 3 + seed / 90,
    threads: [0.2, 0.21, 0.22, 1.9, 0.2, 0.23, 0.21, 0.22],
  };
  return [...compilers, linker];
}

before(async () => {
  folder = path.join(temporary(), 'runs');
  models = path.join(temporary(), 'models');
  await makeBuilds(folder, { count: 12, slow: 7, processes: build, seconds: 50, slowSeconds: 90 });
});

const json = <T>(args: readonly string[]): T => {
  const result = tacho([...args, '--format', 'json'], { env: { ...process.env, TACHO_MODELS: models } });
  assert.equal(result.code, 0, result.err);
  return JSON.parse(result.out) as T;
};
const text = (args: readonly string[]): string => {
  const result = tacho(args, { env: { ...process.env, TACHO_MODELS: models } });
  assert.equal(result.code, 0, result.err);
  return result.out;
};
const fitsTerminal = (args: readonly string[]): void => {
  if (whyNoTerminal !== false) return;
  const lines = onTerminal(80, args.join(' '), { env: { ...process.env, NO_COLOR: '1', TACHO_MODELS: models } });
  assert.ok(lines.length > 2, lines.join('\n'));
  for (const line of lines) assert.ok([...line].length <= 80, line);
};
const refused = (args: readonly string[], code: number, ...says: RegExp[]): void => {
  const result = tacho(args, { env: { ...process.env, TACHO_MODELS: models } });
  assert.equal(result.code, code, result.out + result.err);
  for (const pattern of says) assert.match(result.err, pattern);
  assert.doesNotMatch(result.err, /\n\s+at /);
};

test('the job whose compilers are slow is the outlier, in that operation alone', () => {
  const { groups } = json<Outliers>(['outliers', folder]);
  assert.deepEqual(
    groups[0]!.outliers.map(({ job }) => job),
    ['b7'],
  );
  const cpu = groups[0]!.outliers[0]!.features.find(({ feature }) => feature === 'cpu_time')!;
  assert.deepEqual(
    cpu.votes.map(({ method, threshold, vote }) => [method, threshold, vote]),
    [
      ['modified z-score', 3.5, true],
      ['z-score', 3, true],
      ['interquartile range', 1.5, true],
    ],
  );
  const operations = json<Outliers>(['outliers', folder, '--of', 'operations']);
  assert.deepEqual(
    operations.groups.map(({ name, outliers }) => [name, outliers.map(({ job }) => job)]),
    [
      ['op:compile', ['b7']],
      ['op:link', []],
    ],
  );
});

test('as text: methods, those left out, votes', () => {
  const output = text(['outliers', folder]);
  assert.match(output, /^12 jobs, by \d+ features\n/);
  assert.match(output, /robust covariance +20 +left out: needs 20, there are 12\n/);
  assert.match(output, /\n1 of 12 jobs is an outlier\n/);
  assert.match(output, /\n {2}cpu_time .*\*.*\*.*\*\n/);
  fitsTerminal(['outliers', folder]);
});

test('processes within their program, threads of one process', () => {
  const one = path.join(folder, 'tacho-b0');
  const { of, groups } = json<Outliers>(['outliers', one]);
  assert.equal(of, 'processes');
  assert.deepEqual(
    groups.map(({ name, rows }) => [name, rows]),
    [
      ['cc1', 30],
      ['ld', 1],
    ],
  );
  fitsTerminal(['outliers', one, '--of', 'processes', '--all', '--votes']);
  const threads = json<Outliers>(['outliers', one, '--of', 'threads', '--process', '900']);
  assert.deepEqual(
    threads.groups.map(({ name, rows, outliers }) => [name, rows, outliers.map(({ tid }) => tid)]),
    [['ld', 8, [903]]],
  );
  refused(['outliers', one, '--of', 'threads', '--process', '101'], 1, /too few threads .*: there is 1\n/);
  refused(['outliers', one, '--of', 'threads', '--process', '5'], 1, /there are no threads to compare/);
  refused(['outliers', one, '--process', '900'], 2, /--process goes with --of threads/);
});

test('the same as CSV: a row a vote, a feature, a segment', () => {
  const rows = (args: readonly string[]): string[][] => {
    const result = tacho([...args, '--format', 'csv'], { env: { ...process.env, TACHO_MODELS: models } });
    assert.equal(result.code, 0, result.err);
    return result.out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(','));
  };
  const outliers = json<Outliers>(['outliers', folder]);
  const [heads, ...votes] = rows(['outliers', folder]);
  assert.deepEqual(heads!.slice(-9).join(' '), 'feature value median apart method score threshold vote cannot');
  const slow = outliers.groups[0]!.outliers.find(({ job }) => job === 'b7')!;
  const expected = [...slow.features.flatMap((feature) => feature.votes), ...slow.together];
  const mine = votes.filter((row) => row[2] === 'b7');
  assert.deepEqual(
    mine.map((row) => [row[14], row[17]]),
    expected.map(({ method, vote }) => [method, String(vote)]),
  );
  tacho(['model', 'create', 'csv', folder], { env: { ...process.env, TACHO_MODELS: models } });
  const job = path.join(folder, 'tacho-b7');
  const cause = json<Cause>(['cause', job, '--model', 'csv']);
  const features = [cause.whole, ...cause.operations].flatMap((partCause) =>
    partCause.features.map((one) => [partCause.name, one]),
  );
  const [, ...causes] = rows(['cause', job, '--model', 'csv']);
  assert.deepEqual(
    causes.map((row) => [row[2], row[3], row[4]]),
    features.map(([name, one]) => [
      name,
      (one as { feature: string }).feature,
      String((one as { value: number }).value),
    ]),
  );
  assert.deepEqual(rows(['model', 'list'])[1]!.slice(0, 2), ['csv', 'true']);
  assert.equal(rows(['model', 'show', 'csv'])[1]![0], 'csv');
  tacho(['model', 'delete', 'csv'], { env: { ...process.env, TACHO_MODELS: models } });
  const [explored, ...segments] = rows(['explore', 'builds', folder, '--metric', 'cpu_time']);
  assert.equal(explored!.join(), 'experiment,component,segment,jobs,metric,value,share,stars,votes,recordings');
  assert.ok(segments.every((row) => row[0] === 'builds' && row[4] === 'cpu_time'));
});

test('a model: created once, used, disabled, deleted', () => {
  const create = ['model', 'create', 'usual', folder, '--tag', 'kind:usual', '--note', 'all but the slow one'];
  const model = json<Model>(create);
  assert.equal(model.jobs.length, 11);
  refused(create, 1, /there is a model "usual" already/, /tacho model delete usual/);

  const outliers = json<Outliers>(['outliers', folder, '--model', 'usual']);
  assert.deepEqual(
    outliers.groups[0]!.outliers.map(({ job }) => job),
    ['b7'],
  );
  const slow = path.join(folder, 'tacho-b7');
  const cause = json<Cause>(['cause', slow, '--model', 'usual']);
  assert.equal(cause.job, 'b7');
  assert.equal(cause.operations[0]!.name, 'op:compile');
  assert.ok(cause.whole.features[0]!.ratio > 10);
  assert.match(text(['cause', slow, '--model', 'usual']), /\nop:compile\n/);
  assert.match(text(['model', 'show', 'usual']), /\ncpu_time /);
  assert.match(text(['model', 'list']), /usual +enabled +11/);
  for (const args of [
    ['cause', slow, '--model', 'usual'],
    ['model', 'show', 'usual'],
    ['model', 'list'],
  ])
    fitsTerminal(args);

  text(['model', 'disable', 'usual']);
  refused(['cause', slow, '--model', 'usual'], 1, /the model "usual" is disabled/, /tacho model enable usual/);
  text(['model', 'enable', 'usual']);
  json(['cause', slow, '--model', 'usual']);
  refused(['cause', slow, '--model', 'usul'], 2, /there is no model "usul"/, /did you mean usual/);
  assert.equal(text(['model', 'delete', 'usual']), 'deleted usual\n');
  assert.deepEqual(json(['model', 'list']), []);
  assert.deepEqual(fs.readdirSync(models), []);
});

test('an experiment: components, segments, stars', () => {
  const principal = json<{ components: { component: string; missing: string[] }[]; missing: string[] }>([
    'explore',
    'builds',
    folder,
    '--metric',
    'cpu_time',
  ]);
  assert.deepEqual(
    principal.components.map(({ component }) => component),
    ['odd', 'even'],
  );
  assert.equal(principal.components[0]!.missing[0], '20100101');
  const output = text(['explore', 'builds', folder, '--metric', 'cpu_time']);
  assert.match(output, /\n20170101 +b7 .*\*\* {2}\S+b7\n/);
  assert.match(output, /segments are 1 year apart\n/);
  fitsTerminal(['explore', 'builds', folder, '--metric', 'cpu_time']);
});

test('too few, and nothing of the kind, are said', () => {
  const some = ['tacho-b0', 'tacho-b1'].map((name) => path.join(folder, name));
  refused(['outliers', ...some], 1, /too few jobs .*there are 2/, /modified z-score 4, z-score 11/);
  refused(['model', 'create', 'two', ...some], 1, /needs at least 3 jobs: 2 were given/);
  refused(['model', 'create', '../x', folder], 2, /cannot be the name of a model/);
  refused(['outliers', folder, '--methods', 'isolation-forrest'], 2, /did you mean isolation-forest/);
  refused(['outliers', folder, '--features', 'nothing'], 2, /none of the features nothing is known/);
  refused(['outliers', folder, '--tag', 'kind:odd'], 1, /none of 12 jobs has the tag kind:odd/);
  refused(['outliers', folder, '--floor', 'x'], 2, /--floor/);
  refused(['explore', 'bulds', folder], 2, /did you mean builds/);
  refused(['explore', 'builds', folder, '--metric', 'cpu'], 2, /the metric "cpu"/);
  refused(['cause', folder, '--model', 'none'], 2, /there is no model "none"/);
  refused(['model'], 2, /say what to do with models/);
});

test('jobs without any process are compared by what the report measured', async () => {
  const plain = path.join(temporary(), 'plain');
  for (let i = 0; i < 5; i++) {
    const job = { id: `p${i}`, end: START + (i === 2 ? 500 : 60 + i) * 1e6 };
    await makeRecording({ folder: path.join(plain, `tacho-p${i}`), seconds: 5, job });
  }
  const { groups } = json<Outliers>(['outliers', plain]);
  assert.deepEqual(
    groups[0]!.outliers.map(({ job, features }) => [job, features[0]!.feature]),
    [['p2', 'duration']],
  );
});

const EPMT = path.join(import.meta.dirname, '../../shared/data/epmt');

test('three kernel builds as reference: what EPMT found comes out', { skip: !fs.existsSync(EPMT) }, async () => {
  const jobs = temporary();
  const archives = fs.readdirSync(EPMT).filter((name) => name.startsWith('kern-'));
  const { imported } = await importEpmt(
    archives.map((name) => path.join(EPMT, name)),
    { folder: jobs },
  );
  const usual = imported.filter(({ job }) => !job.endsWith('outlier')).map(({ recording }) => recording);
  const slow = imported.find(({ job }) => job.endsWith('outlier'))!;
  const { groups } = json<Outliers>(['outliers', jobs]);
  assert.deepEqual(
    groups[0]!.outliers.map(({ job }) => job),
    [slow.job],
  );
  json(['model', 'create', 'kernel', ...usual]);
  const cause = json<Cause>(['cause', slow.recording, '--model', 'kernel']);
  const of = (feature: string) => cause.whole.features.find((each) => each.feature === feature)!;
  const cpu = of('cpu_time');
  assert.deepEqual([cpu.reference.median, cpu.reference.median_distance], [449_914_707, 444_671]);
  assert.deepEqual([cpu.value, Math.trunc(cpu.ratio)], [627_670_563, 204]);
  const duration = of('duration');
  assert.deepEqual([duration.reference.median, duration.reference.median_distance], [542_680_315, 14_860_060]);
  assert.deepEqual([duration.value, Math.trunc(duration.ratio)], [1_173_629_067, 27]);
  assert.deepEqual(
    [cause.in_model, json<Cause>(['cause', usual[0]!, '--model', 'kernel']).in_model],
    [undefined, true],
    'a job of the baseline seems usual, and says why',
  );
  for (const more of [[], ['--pca']]) {
    const misspelt = tacho(['outliers', jobs, '--by', 'exp_nme', ...more]);
    assert.equal(misspelt.code, 2, misspelt.err);
    assert.match(misspelt.err, /no job has the tag "exp_nme"\n +there are exp_name, .* and name\n/);
  }
  const building = cause.operations.find(({ name }) => name === 'op:build')!;
  assert.equal(building.features.find(({ feature }) => feature === 'processes')!.reference.median, 9549);
});
