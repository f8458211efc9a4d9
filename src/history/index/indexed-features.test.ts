import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { START, temporary } from '../../../test/make-recording.ts';
import { makeProcessRecording } from '../../../test/process-recording.ts';
import { jobFeatures } from '../../judge/outliers/features.ts';
import { measuredRecordings } from '../../judge/outliers/measured-job.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { buildIndex } from './build.ts';
import { indexedFeatures } from './indexed-features.ts';

test('an index has what jobs are compared by, while the recording is as it was', async () => {
  const archive = temporary();
  const folder = path.join(archive, 'user=ada', 'tacho-1');
  const job = { end: START + 5e6 };
  await makeProcessRecording({ c1: [{ pid: 10, end: 3, cpu: 2, metrics: { rchar: 500 } }] }, job, folder);
  const [one] = measuredRecordings([openRecording(folder)]);
  const { job: features } = await jobFeatures(one!);
  assert.equal(indexedFeatures()({ path: folder }), undefined);
  await buildIndex(archive);
  assert.deepEqual(new Map([...indexedFeatures()({ path: folder })!, ['duration', 5e6]]), features);
  await makeProcessRecording({ c2: [{ pid: 10, end: 3, cpu: 2 }] }, job, folder);
  assert.equal(indexedFeatures()({ path: folder }), undefined);
});
