import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { answers } from '../../../test/made/scheduler-answers.ts';
import { jobOf, makeRecording } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { fileJob, refreshJob } from './refresh.ts';

test('of a job that the scheduler says runs it is known when it said so, and nothing is written', async () => {
  const folder = await makeRecording({ seconds: 20 });
  const file = path.join(folder, 'job.json');
  const { end: _, ...job } = jobOf({ state: 'running', id: '6', scheduler: 'slurm' });
  const text = JSON.stringify(job);
  fs.writeFileSync(file, text);
  const before = Date.now() * 1000;
  const { run } = answers({ 'scontrol show job 6': { stdout: 'JobId=6 JobState=RUNNING Restarts=0\n' } });
  const refreshed = await refreshJob(openRecording(folder), { run });
  assert.equal(refreshed.state, 'running');
  assert.ok(refreshed.running_at! >= before);
  assert.equal(fs.readFileSync(file, 'utf8'), text);
  // its agents are silent, and nobody says that it runs
  const silent = await refreshJob(openRecording(folder), answers({}));
  assert.deepEqual([silent.state, silent.running_at], ['unknown', undefined]);
});

test('that nothing comes from the agent of a node is no end of its job: the hub keeps what it knows', async () => {
  const folder = await makeRecording({ seconds: 20 });
  const file = path.join(folder, 'job.json');
  const { end: _, ...job } = jobOf({ state: 'running', id: '6', scheduler: 'slurm' });
  fs.writeFileSync(file, JSON.stringify(job));
  const record = path.join(folder, 'node=c1/agent.json');
  const { end: __, ...agent } = JSON.parse(fs.readFileSync(record, 'utf8'));
  const written = async (service: boolean): Promise<string> => {
    fs.writeFileSync(record, JSON.stringify({ ...agent, service }));
    assert.equal((await refreshJob(openRecording(folder), answers({}))).state, 'unknown');
    assert.equal(JSON.parse(fs.readFileSync(file, 'utf8')).state, 'running');
    await fileJob(openRecording(folder), answers({}));
    return JSON.parse(fs.readFileSync(file, 'utf8')).state;
  };
  assert.deepEqual([await written(true), await written(false)], ['running', 'unknown']);
});

test('what the scheduler says goes into the recording that was read, not into what took its place meanwhile', async (t) => {
  const folder = await makeRecording({ seconds: 20 });
  const other = `${folder}-other`;
  fs.mkdirSync(other);
  t.after(() => fs.rmSync(other, { recursive: true }));
  const { end: _, ...job } = jobOf({ state: 'running', id: '6', scheduler: 'slurm' });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  const link = `${folder}-link`;
  fs.symlinkSync(folder, link);
  t.after(() => fs.rmSync(link));
  const recording = openRecording(link);
  const { run } = answers({});
  const filed = await fileJob(recording, {
    run(...asked) {
      fs.rmSync(link);
      fs.symlinkSync(other, link);
      return run(...asked);
    },
  });
  assert.equal(filed, undefined);
  assert.deepEqual(fs.readdirSync(other), []);
});
