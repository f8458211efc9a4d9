import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { madeJob } from '../../../test/made/outlier-jobs.ts';
import { Fault } from '../../base/fault.ts';
import { jobFeatures } from '../outliers/features.ts';
import { causeOf } from './cause.ts';
import { createModel, type Model, modelTables } from './model.ts';
import { folderStore, modelsFolder, needModel, usableModel } from './store.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-models-'));
after(() => fs.rmSync(folder, { recursive: true, force: true }));

const job = (id: string, seconds: number, cpu: number, more: Record<string, number> = {}) =>
  madeJob(
    id,
    [
      { tags: 'op:build', cpu_time: cpu, duration: seconds * 1e6, metrics: { majflt: 0, ...more } },
      { tags: 'op:test', start: seconds * 1e6, cpu_time: 1000, metrics: { majflt: 0 } },
    ],
    { duration: seconds * 1e6, tags: { exp_name: 'kernel' } },
  );

const reference = (name: string): Promise<Model> =>
  createModel(name, [job('1', 527, 449_044_045), job('2', 542, 449_914_707), job('3', 565, 450_359_378)], { now: 5 });

test('a model keeps the features of its jobs and of their operations', async () => {
  const model = await reference('kernel');
  assert.deepEqual(
    model.jobs.map(({ id, features }) => [id, features.duration, features.processes]),
    [
      ['1', 527e6, 2],
      ['2', 542e6, 2],
      ['3', 565e6, 2],
    ],
  );
  assert.deepEqual([...modelTables(model).keys()], ['', 'op:build', 'op:test']);
  assert.deepEqual(
    [...modelTables(model).get('op:build')!.features.get('cpu_time')!],
    [449044045, 449914707, 450359378],
  );
});

test('fewer than three jobs are no model', async () => {
  await assert.rejects(createModel('two', [job('1', 1, 1), job('2', 1, 1)], { now: 5 }), (error: Fault) => {
    assert.match(error.message, /needs at least 3 jobs: 2 were given/);
    return error instanceof Fault;
  });
});

test('models are kept, listed, disabled and deleted; a name is taken once', async () => {
  const store = folderStore(path.join(folder, 'a', 'models'));
  assert.deepEqual(await store.list(), []);
  assert.equal(await store.load('kernel'), undefined);
  const model = await reference('kernel');
  await store.add(model);
  assert.deepEqual(await store.load('kernel'), model);
  await assert.rejects(store.add({ ...model, created: 6 }), /there is a model "kernel" already/);
  assert.equal((await store.load('kernel'))!.created, 5);
  await store.save({ ...model, enabled: false });
  await assert.rejects(usableModel(store, 'kernel'), /is disabled/);
  await assert.rejects(needModel(store, 'kernl'), (error: Fault) => error.hint === 'did you mean kernel?');
  assert.deepEqual(
    (await store.list()).map(({ name }) => name),
    ['kernel'],
  );
  assert.equal(await store.delete('kernel'), true);
  assert.equal(await store.delete('kernel'), false);
  assert.deepEqual(fs.readdirSync(path.join(folder, 'a', 'models')), []);
});

test('names that are no names of files, and files that are no models, are refused', async () => {
  const store = folderStore(folder);
  for (const name of ['', '../x', 'a/b', '.hidden', 'x'.repeat(65), 'a b']) {
    await assert.rejects(store.load(name), /cannot be the name of a model/);
  }
  fs.writeFileSync(path.join(folder, 'torn.json'), '{"format": 1, "na');
  await assert.rejects(store.load('torn'), /torn\.json is not a model: it is damaged/);
  fs.writeFileSync(path.join(folder, 'other.json'), '{"format": 1, "name": "other", "enabled": true, "jobs": [{}]}');
  await assert.rejects(store.load('other'), /its jobs are not complete/);
  fs.writeFileSync(path.join(folder, 'newer.json'), '{"format": 99}');
  await assert.rejects(store.load('newer'), /newer Tacho/);
});

test('one that is damaged does not hide the others, and can be deleted', async () => {
  const damagedModels = path.join(folder, 'one-bad');
  const store = folderStore(damagedModels);
  await store.add(await reference('good'));
  fs.writeFileSync(path.join(damagedModels, 'bad.json'), 'broken');
  const warnings: string[] = [];
  const models = await store.list(({ message }) => warnings.push(message));
  assert.deepEqual([models.map(({ name }) => name), warnings.length], [['good'], 1]);
  assert.match(warnings[0]!, /bad\.json is not a model: it is damaged/);
  await assert.rejects(needModel(store, 'goo'), (error: Fault) => error.hint === 'did you mean good?');
  assert.deepEqual([await store.has('bad'), await store.has('none')], [true, false]);
  assert.equal(await store.delete('bad'), true);
  assert.deepEqual(fs.readdirSync(damagedModels), ['good.json']);
});

test('they lie where data of programs lies', () => {
  assert.equal(modelsFolder({ XDG_DATA_HOME: '/data' }), '/data/tacho/models');
  assert.equal(modelsFolder({ HOME: '/home/ada' }), '/home/ada/.local/share/tacho/models');
});

test('a cause is the distance over the largest distance in the reference', async () => {
  const slow = job('9', 1173, 627_670_563, { majflt: 12 });
  const cause = causeOf('9', await jobFeatures(slow), await reference('kernel'));
  const ratios = Object.fromEntries(cause.whole.features.map(({ feature, ratio }) => [feature, ratio]));
  // medians 449.9 s + 1 ms and 542 s; the furthest of the reference lie 870662 µs and 23 s away
  assert.equal(ratios.cpu_time, (627_670_563 - 449_914_707) / 870_662);
  assert.equal(ratios.duration, (1173 - 542) / 23);
  assert.equal(ratios.majflt, Number.POSITIVE_INFINITY);
  assert.equal(ratios.processes, 0);
  assert.deepEqual(
    cause.whole.features.slice(0, 3).map(({ feature }) => feature),
    ['cpu_time', 'duration', 'majflt'],
  );
  assert.deepEqual(
    cause.operations.map(({ name }) => name),
    ['op:build', 'op:test'],
  );
  assert.equal(cause.operations[0]!.features[0]!.feature, 'cpu_time');
});

test('operations that are new, gone, or too rare to judge are named', async () => {
  const model = await reference('kernel');
  delete model.jobs[0]!.operations['op:build'];
  const other = madeJob('9', [{ tags: 'op:deploy' }, { tags: 'op:build' }]);
  const cause = causeOf('9', await jobFeatures(other), model);
  assert.deepEqual([cause.added, cause.missing, cause.rare], [['op:deploy'], ['op:test'], ['op:build']]);
});

test('a difference of one in a hundred is not outside, however alike the reference is', async () => {
  const model = await createModel('alike', [job('1', 500, 1e8), job('2', 501, 1.0001e8), job('3', 502, 1.0002e8)], {
    now: 5,
  });
  const partCause = causeOf('9', await jobFeatures(job('9', 501, 1.01e8)), model).whole;
  const cpu = partCause.features.find(({ feature }) => feature === 'cpu_time')!;
  assert.deepEqual([cpu.ratio > 7, cpu.outside], [true, false]);
  const far = causeOf('9', await jobFeatures(job('9', 501, 1.5e8)), model).whole.features[0]!;
  assert.deepEqual([far.feature, far.outside], ['cpu_time', true]);
});
