import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, diskTable, jobOf, loadTable, makeRecording, START } from '../../../test/make-recording.ts';
import { openRecording } from './open.ts';
import { silentEnd } from './silent-end.ts';

/** What is said of a job whose agent, with these facts besides, said nothing of its end. */
async function reasonWith(facts: { service?: true }): Promise<string | undefined> {
  const folder = await makeRecording({ seconds: 20 });
  const { end: _, end_reason: __, ...agent } = agentOf('c1', [diskTable, loadTable]);
  fs.writeFileSync(path.join(folder, 'node=c1', 'agent.json'), JSON.stringify({ ...agent, ...facts }));
  const { end: ___, ...job } = jobOf({ state: 'running' });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  return silentEnd(openRecording(folder), START + 600e6)?.reason;
}

test('a job whose agents fell silent: a hub may have been left for another one', async () => {
  assert.equal(await reasonWith({}), 'recording ended without `tacho stop`');
  assert.equal(
    await reasonWith({ service: true }),
    'nothing more came to this hub; the rest may wait on the nodes, or another hub has it',
  );
});
