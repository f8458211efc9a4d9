import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { openRecording } from '../../src/recording/folder/open.ts';
import { startCluster, whyNoDask } from '../dask/cluster.ts';
import { attachTo, rowsOf } from '../dask/record.ts';
import { eventually } from '../made/eventually.ts';
import { temporaryFolder } from '../tacho.ts';

const skip = whyNoDask;

test('100,000 tasks of the Dask that was chosen: each is recorded once', { skip }, async (t) => {
  const cluster = await startCluster({ workers: 2, threads: 2 });
  t.after(() => cluster.end());
  const attached = await attachTo(cluster.address, temporaryFolder(t), { intervalSeconds: 0.2 });
  const { DASK_VERSION } = process.env;
  if (DASK_VERSION !== undefined) assert.equal(attached.monitor.status().version, DASK_VERSION);
  await cluster.run(['many'], { TASKS: '100000' });
  await attached.opened.way.settle();
  attached.detach('detached');
  await attached.ended;
  const [node] = openRecording(attached.recording).nodes;
  assert.ok(node!.tables.get('dask_task')!.sealed !== undefined, 'sealed');
  const tasks = rowsOf(attached.recording, 'dask_task').filter(({ prefix }) => prefix === 'add');
  assert.equal(new Set(tasks.map(({ key }) => key)).size, 100_000);
  assert.ok(tasks.every(({ dask_job, outcome }) => dask_job === 1 && outcome === 'ok'));
});

test('workers that come later, by adaptive scaling and a restart, are sampled', { skip }, async (t) => {
  const cluster = await startCluster({ workers: 1, threads: 1 });
  t.after(() => cluster.end());
  const attached = await attachTo(cluster.address, temporaryFolder(t));
  const { recording } = attached;
  const sampled = (): number => new Set(rowsOf(recording, 'dask_worker').map(({ worker }) => worker)).size;
  await eventually('the first worker', () => sampled() === 1);
  await cluster.ask('restart');
  await eventually('the worker that was restarted', () => sampled() >= 2);
  await cluster.ask('adapt 1 3');
  await cluster.run(['busy']);
  assert.ok(sampled() >= 3, 'workers of adaptive scaling');
  attached.detach('detached');
  await attached.ended;
  const tasks = rowsOf(recording, 'dask_task').filter(({ outcome }) => outcome === 'ok');
  assert.equal(new Set(tasks.map(({ key }) => key)).size, 200);
});

test('a scheduler without pickle is asked by calls', { skip }, async (t) => {
  const config = { 'distributed.scheduler.pickle': false };
  const cluster = await startCluster({ workers: 1, threads: 1, config }).catch((error: Error) => error);
  if (cluster instanceof Error) {
    // newer versions of Dask do not start with it
    assert.match(cluster.message, /Pickling can no longer be disabled/);
    return;
  }
  t.after(() => cluster.end());
  const attached = await attachTo(cluster.address, temporaryFolder(t));
  const { way, passed } = attached.opened;
  assert.ok(way.name === 'feed' || /refuses its feed/.test(passed[0] ?? ''), passed[0]);
  attached.detach('detached');
  await attached.ended;
  assert.ok(fs.existsSync(path.join(attached.recording, 'job.json')));
});
