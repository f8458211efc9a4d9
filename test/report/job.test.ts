import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Fault } from '../../src/base/fault.ts';
import { reportCard } from '../../src/cli/report.ts';
import { makeRecording, temporary } from '../make-recording.ts';

test('report --job takes an array with its tasks, and names what is there in order', async () => {
  const folder = temporary();
  for (const id of ['9', '4_2', '4_1', '41'])
    await makeRecording({ folder: path.join(folder, id), job: { id, scheduler: 'none' } });
  const cards = JSON.parse(await reportCard([folder], { job: '4', format: 'json' })) as { job: { id: string } }[];
  assert.deepEqual(cards.map(({ job }) => job.id).sort(), ['4_1', '4_2']);
  await assert.rejects(
    reportCard([folder], { job: '5' }),
    (error: Fault) => error.hint === 'there are 4_1, 4_2, 9, 41' && error.exit === 2,
  );
});

test('why a node never recorded is in the report card', async () => {
  const why = 'there is no /scratch/run here; a recording must be in a folder that all nodes share';
  const job = { scheduler: 'none', nodes: ['c1', 'c2'], not_recorded: { c2: why } } as const;
  const folder = await makeRecording({ job: { ...job, nodes: [...job.nodes] } });
  const card = (await reportCard([folder])).replaceAll(/\s+/g, ' ');
  assert.ok(card.includes('c2 was never recorded'), card);
  assert.ok(card.includes(why), card);
  assert.ok(card.includes('What ran on it is not in this report.'), card);
  assert.ok(!card.includes('killed while the node went on'), card);
});
