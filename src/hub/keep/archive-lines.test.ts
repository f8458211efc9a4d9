import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, diskTable, jobOf, loadTable, makeRecording, START } from '../../../test/make-recording.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { Job } from '../../recording/folder/job.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { type SealOptions, sealRecording } from '../../recording/sealed/seal.ts';
import { archiveLines } from './archive-lines.ts';

const LAST = START + 59e6;
/** Later than everything else: the files have been copied. */
const COPIED = START + 9e12;

/** The newest samples of the tables disk and load, in seconds after the recording's start. */
async function newestOf(agent: Partial<AgentRecord>, job: Partial<Job> = {}, seal?: SealOptions): Promise<number[]> {
  const folder = await makeRecording({ job });
  const node = path.join(folder, 'node=c1');
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf(job)));
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agentOf('c1', [diskTable, loadTable], agent)));
  if (seal !== undefined) sealRecording(openRecording(folder), seal);
  for (const name of fs.readdirSync(node)) fs.utimesSync(path.join(node, name), COPIED / 1e6, COPIED / 1e6);
  const lines = archiveLines([openRecording(folder)]);
  assert.deepEqual(
    lines.map(({ table }) => table),
    ['disk', 'load'],
  );
  return lines.map(({ newest }) => Math.floor((newest - START) / 1e6));
}

test('how old the samples of a copied or sealed recording are, whenever its files were written', async () => {
  assert.deepEqual(await newestOf({ last_sample: LAST }, {}, {}), [59, 59]);
  assert.deepEqual(await newestOf({}, {}, {}), [60, 60], 'when its agent ended');
  assert.deepEqual(await newestOf({ last_sample: START }), [59, 59], 'the newest lines');
});

test('how old the samples of an agent that was killed are: what the table says, else the job, else the file', async () => {
  const killed = { end: undefined, last_sample: START + 30e6 } as unknown as AgentRecord;
  const ended = { end: START + 500e6 };
  const running = { end: undefined, state: 'running' } as unknown as Job;
  const parquet = { parquet: true };
  assert.deepEqual(await newestOf(killed, ended, parquet), [59, 59], 'its statistics');
  assert.deepEqual(await newestOf(killed, ended, {}), [500, 500], 'a small table has none');
  assert.deepEqual(await newestOf(killed, running, {}), [30, 30], 'when the agent last wrote its record');
  const silent = { ...killed, last_sample: undefined } as unknown as AgentRecord;
  assert.deepEqual(await newestOf(silent, running, {}), [9e6, 9e6], 'nobody knows');
});
