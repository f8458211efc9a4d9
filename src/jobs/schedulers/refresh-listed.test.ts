import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { listRecordings } from '../../../test/made/list-recordings.ts';
import { answers } from '../../../test/made/scheduler-answers.ts';
import { makeRecording, START, temporary } from '../../../test/make-recording.ts';
import { refreshListed } from './refresh-listed.ts';

test('a job that had ended after tacho stop is listed as its scheduler says it ended', async () => {
  const folder = temporary();
  const uid = process.getuid!();
  const stopped = { state: 'running', end: START + 60e6, uid } as const;
  const jobs = [
    { ...stopped, id: '4' },
    { ...stopped, id: '5', uid: uid + 1 },
    { ...stopped, id: '6', scheduler: 'none' as const },
    { id: '7', uid },
    { ...stopped, id: '8' },
  ];
  for (const job of jobs) await makeRecording({ folder: path.join(folder, job.id), job });
  const { run, asked } = answers({ 'scontrol show job 4': 'slurm-scontrol-timeout.txt' });
  const listed = await refreshListed(listRecordings([folder]), run);
  assert.deepEqual(
    listed.map(({ job, job_state, end }) => [job, job_state, end]),
    [
      ['4', 'timeout', START + 60e6],
      ['5', 'running', START + 60e6],
      ['6', 'running', START + 60e6],
      ['7', 'completed', START + 60e6],
      ['8', 'running', START + 60e6],
    ],
  );
  assert.deepEqual(
    new Set(asked.map((line) => line.split(' ').find((word) => /^\d$/.test(word)))),
    new Set(['4', '8']),
  );
  // who lists changes nothing
  assert.equal(listRecordings([folder])[0]?.job_state, 'running');
});
