import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { START, temporary } from '../../../test/make-recording.ts';
import { makeProcessRecording } from '../../../test/process-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { jobFeatures } from './features.ts';
import { FEATURES_FILE } from './features-file.ts';
import { keepFeatures } from './kept-features.ts';
import { type MeasuredJob, measuredRecordings } from './measured-job.ts';

const folder = path.join(temporary(), 'one');

/** A job whose processes cannot be read any more. */
const unread = (one: MeasuredJob): MeasuredJob => ({
  ...one,
  processes: () => assert.fail('processes are read'),
  measured: () => assert.fail('samples are read'),
});

test('sums that are kept are those that reading gives, and are used until a file changes', async () => {
  const processes = [
    { pid: 10, end: 3, cpu: 2, tags: 'op:build', metrics: { rchar: 500 } },
    { pid: 11, end: 4, cpu: 1, metrics: { rchar: 70 } },
  ];
  await makeProcessRecording({ c1: processes }, { end: START + 5e6 }, folder);
  const [fresh] = measuredRecordings([openRecording(folder)]);
  const read = await jobFeatures(fresh!);
  assert.deepEqual([read.job.get('rchar'), read.operations.get('op:build')!.get('rchar')], [570, 500]);
  keepFeatures(openRecording(folder));
  const kept = await jobFeatures(unread(measuredRecordings([openRecording(folder)])[0]!));
  assert.deepEqual(kept, read);

  const node = fs.readdirSync(folder).find((name) => name.startsWith('node='))!;
  const live = fs.readdirSync(path.join(folder, node)).find((name) => name.endsWith('.csv'))!;
  fs.appendFileSync(path.join(folder, node, live), '\n');
  await assert.rejects(jobFeatures(unread(measuredRecordings([openRecording(folder)])[0]!)), /processes are read/);
  fs.writeFileSync(path.join(folder, FEATURES_FILE), '{"format": 1, "job": {"cpu');
  await assert.rejects(jobFeatures(unread(measuredRecordings([openRecording(folder)])[0]!)), /processes are read/);
});

test('the duration of a job needs nothing but its job.json', async () => {
  const [one] = measuredRecordings([openRecording(folder)]);
  const only = { jobOnly: true, only: ['duration'] };
  const { start, end } = one!.job;
  assert.deepEqual([...(await jobFeatures(unread(one!), only)).job], [['duration', end - start]]);
});

test('what an index has is taken where the recording keeps nothing', async () => {
  const elsewhere = () => new Map([['cpu_time', 7]]);
  const [one] = measuredRecordings([openRecording(folder)], elsewhere);
  assert.equal((await jobFeatures(unread(one!), { jobOnly: true })).job.get('cpu_time'), 7);
});
