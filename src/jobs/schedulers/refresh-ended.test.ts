import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { answers } from '../../../test/made/scheduler-answers.ts';
import { makeRecording, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { endingsAsked, keepEndings } from './refresh-ended.ts';

const uid = process.getuid!();
const stopped = { state: 'running', end: START + 60e6, uid } as const;

async function made(): Promise<string[]> {
  const folder = temporary();
  const jobs = [
    { ...stopped, id: '4' },
    { ...stopped, id: '4', uid: uid + 1 },
    { ...stopped, id: '4', scheduler: 'none' as const },
    { id: '4', uid },
  ];
  const folders = jobs.map((_, i) => path.join(folder, `${i}`));
  for (const [i, job] of jobs.entries()) await makeRecording({ folder: folders[i]!, job });
  return folders;
}

const asScheduler = () => answers({ 'scontrol show job 4': 'slurm-scontrol-timeout.txt' });

test('own jobs that ended after tacho stop have the state that their scheduler says', async () => {
  const folders = await made();
  const { run, asked } = asScheduler();
  const withEnding = endingsAsked(run);
  const states = [];
  for (const folder of folders) states.push((await withEnding(openRecording(folder))).job.state);
  assert.deepEqual(states, ['timeout', 'running', 'running', 'completed']);
  assert.ok(asked.every((line) => /\b4\b/.test(line)));
  assert.equal(openRecording(folders[0]!).job.state, 'running', 'who asks changes nothing');
});

test('what an index is made of keeps it', async () => {
  const folders = await made();
  const missing = path.join(folders[0]!, 'missing');
  assert.deepEqual([...(await keepEndings([missing, ...folders], asScheduler().run))], [folders[0]]);
  assert.deepEqual(
    folders.map((folder) => openRecording(folder).job.state),
    ['timeout', 'running', 'running', 'completed'],
  );
  assert.deepEqual([...(await keepEndings(folders, asScheduler().run))], [], 'nobody is asked again');
});
