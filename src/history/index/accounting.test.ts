import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { agentOf, jobOf, START, temporary } from '../../../test/make-recording.ts';
import type { Job } from '../../recording/folder/job.ts';
import { openHistory } from '../ask/history.ts';
import type { JobSummary } from '../tables/summary.ts';
import { ACCOUNTING_FOLDER } from './accounting-store.ts';
import { buildIndex } from './build.ts';
import { importSlurm } from './import-slurm.ts';
import { verifyIndex } from './verify.ts';

const HEADER =
  'JobID|Cluster|User|Account|State|Submit|Start|End|ElapsedRaw|AllocTRES|ReqTRES|TimelimitRaw|NodeList|NTasks|TotalCPU|MaxRSS|AdminComment';
const at = (seconds: number): string => String(START / 1e6 + seconds);

/** A job of an hour on four CPUs, and its batch step. */
const lines = (id: string, { state = 'COMPLETED', cpu = '02:00:00', comment = '' } = {}): string[] => [
  `${id}|lab|ada|physics|${state}|${at(-60)}|${at(0)}|${at(3600)}|3600|cpu=4,mem=8G,node=1|cpu=4,mem=8G,node=1|120|c1||${cpu}||${comment}`,
  `${id}.batch|lab|||${state}|${at(0)}|${at(0)}|${at(3600)}|3600|cpu=4,mem=8G,node=1|||c1|1|${cpu}|2G|`,
];

function sacct(...all: string[][]): string {
  const file = path.join(temporary(), 'sacct.txt');
  fs.writeFileSync(file, `${[HEADER, ...all.flat()].join('\n')}\n`);
  return file;
}

function record(archive: string, id: string, more: Partial<Job> = {}): void {
  const folder = path.join(archive, `tacho-${id}`);
  fs.mkdirSync(path.join(folder, 'node=c1'), { recursive: true });
  const job = jobOf({ id, start: START, end: START + 3600e6, user: 'ada', ...more });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  fs.writeFileSync(path.join(folder, 'node=c1/agent.json'), JSON.stringify(agentOf('c1', [])));
}

async function jobsIn(archive: string): Promise<JobSummary[]> {
  const history = await openHistory({ archive });
  try {
    return (await history.selectJobs()).sort((a, b) => (a.job < b.job ? -1 : 1));
  } finally {
    await history.close();
  }
}

const origins = async (archive: string) => (await jobsIn(archive)).map(({ job, origin }) => [job, origin]);

test('a job that was never recorded has a row with what accounting knows, and bounds of what it used', async () => {
  const archive = path.join(temporary(), 'new');
  const result = await importSlurm([sacct(lines('7'))], { archive });
  assert.deepEqual([result.jobs, result.added, result.recorded, result.notes], [1, 1, 0, []]);
  const [row] = await jobsIn(archive);
  assert.deepEqual(
    [row!.origin, row!.recording, row!.state, row!.account, row!.wait_seconds, row!.time_limit_seconds],
    ['accounting', undefined, 'completed', 'physics', 60, 7200],
  );
  assert.deepEqual([row!.core_hours, row!.cpu_use, row!.core_hours_wasted], [4, 0.5, 2]);
  assert.deepEqual(
    [row!.memory_peak_bytes, row!.memory_use, row!.memory_byte_hours_wasted],
    [2 ** 31, 0.25, 6 * 2 ** 30],
  );
  assert.match(row!.notes!, /known from accounting only.*at least.*sampled by Slurm/);
  assert.deepEqual(verifyIndex(archive).wrong, []);
});

test('jobstats says more than Slurm', async () => {
  const node = {
    cpus: 4,
    total_time: 10_800,
    used_memory: 3 * 2 ** 30,
    total_memory: 8 * 2 ** 30,
    gpu_utilization: { 0: 50, 1: 0 },
  };
  const comment = `JS1:${gzipSync(JSON.stringify({ nodes: { c1: node } })).toString('base64')}`;
  const archive = temporary();
  await importSlurm([sacct(lines('7', { comment }))], { archive });
  const [row] = await jobsIn(archive);
  assert.deepEqual(
    [row!.cpu_use, row!.memory_peak_bytes, row!.gpu_use, row!.gpus_unused],
    [0.75, 3 * 2 ** 30, 0.25, 1],
  );
});

test('a job that is recorded is there once, completed by what accounting adds', async () => {
  const archive = temporary();
  record(archive, '7', { cluster: 'lab' });
  record(archive, '8.0.1', { scheduler: 'slurm' });
  const result = await importSlurm([sacct(lines('7'), lines('8'), lines('9'))], { archive });
  assert.deepEqual([result.jobs, result.recorded], [3, 2]);
  assert.deepEqual(await origins(archive), [
    ['7', 'recorded'],
    ['8.0.1', 'recorded'],
    ['9', 'accounting'],
  ]);
  const [row] = await jobsIn(archive);
  assert.deepEqual([row!.submit_time, row!.wait_seconds, row!.account], [START - 60e6, 60, 'physics']);
  assert.deepEqual(verifyIndex(archive).wrong, []);
});

test('a recording that comes later takes the place of the row, and gives it back when it goes', async () => {
  const archive = temporary();
  await importSlurm([sacct(lines('7'), lines('9'))], { archive });
  record(archive, '7');
  await buildIndex(archive);
  assert.deepEqual(await origins(archive), [
    ['7', 'recorded'],
    ['9', 'accounting'],
  ]);
  assert.equal((await jobsIn(archive))[0]!.account, 'physics');
  fs.rmSync(path.join(archive, 'tacho-7'), { recursive: true });
  await buildIndex(archive);
  assert.deepEqual(await origins(archive), [
    ['7', 'accounting'],
    ['9', 'accounting'],
  ]);
  assert.deepEqual(verifyIndex(archive).wrong, []);
});

test('an index that is made anew has the jobs of accounting, too; importing again changes only what is new', async () => {
  const archive = temporary();
  await importSlurm([sacct(lines('7', { state: 'RUNNING' }), lines('9'))], { archive });
  fs.rmSync(path.join(archive, '.tacho-index'), { recursive: true });
  await buildIndex(archive);
  assert.deepEqual(
    (await jobsIn(archive)).map(({ job, state }) => [job, state]),
    [
      ['7', 'running'],
      ['9', 'completed'],
    ],
  );
  const again = await importSlurm([sacct(lines('7'), lines('9'))], { archive });
  assert.deepEqual([again.added, again.unchanged], [1, 1]);
  assert.deepEqual(
    (await jobsIn(archive)).map(({ state }) => state),
    ['completed', 'completed'],
  );
  assert.deepEqual(verifyIndex(archive).wrong, []);
  assert.equal(fs.statSync(path.join(archive, ACCOUNTING_FOLDER)).mode & 0o777, 0o700);
});

test('tasks of an array that waited are gone when they have run', async () => {
  const archive = temporary();
  const waiting = [`7_[1-2]|lab|ada|physics|PENDING|${at(0)}|Unknown|Unknown|0||cpu=4,node=1|120|||||`];
  await importSlurm([sacct(waiting)], { archive });
  assert.deepEqual(
    (await jobsIn(archive)).map(({ job, state, core_hours }) => [job, state, core_hours]),
    [['7_[]', 'pending', undefined]],
  );
  await importSlurm([sacct(lines('7_1'), lines('7_2'))], { archive });
  assert.deepEqual(
    (await jobsIn(archive)).map(({ job, array, state }) => [job, array, state]),
    [
      ['7_1', '7', 'completed'],
      ['7_2', '7', 'completed'],
    ],
  );
  assert.deepEqual(verifyIndex(archive).wrong, []);
});

test('history and waste say how many of the jobs only accounting knows', async () => {
  const archive = temporary();
  record(archive, '7', { cluster: 'lab' });
  await importSlurm([sacct(lines('7'), lines('9'))], { archive });
  const history = await openHistory({ archive });
  const window = { from: START - 3600e6, to: START + 7200e6 };
  const { total } = await history.usage({ by: 'user', metric: 'core-hours', ...window });
  assert.deepEqual([total.jobs, total.accounted], [2, 1]);
  const [ada] = await history.waste('user', window);
  assert.deepEqual([ada!.jobs, ada!.accounted, ada!.core_hours_wasted], [2, 1, 2]);
  await history.close();
});
