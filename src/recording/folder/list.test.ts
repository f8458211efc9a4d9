import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { listRecordings } from '../../../test/made/list-recordings.ts';
import { agentOf, diskTable, jobOf, loadTable, makeRecording, START, temporary } from '../../../test/make-recording.ts';
import { sealRecording } from '../sealed/seal.ts';
import { openRecording } from './open.ts';

test('recordings are listed by when they began, with who, how large and in which state', async () => {
  const folder = temporary();
  const at = (name: string): string => path.join(folder, name);
  await makeRecording({ folder: at('ended'), nodes: ['a', 'b'], job: { id: '1', start: START + 4e6 } });
  await makeRecording({ folder: at('sealed'), job: { id: '2', start: START + 3e6 } });
  sealRecording(openRecording(at('sealed')));
  await makeRecording({ folder: at('running'), job: { id: '3', start: START + 2e6, state: 'running' } });
  const { end: _, ...alive } = agentOf('c1', [diskTable, loadTable]);
  fs.writeFileSync(path.join(at('running'), 'node=c1', 'agent.json'), JSON.stringify(alive));
  fs.writeFileSync(
    path.join(at('running'), 'job.json'),
    JSON.stringify({ ...jobOf({ id: '3', start: START + 2e6 }), end: undefined }),
  );
  await makeRecording({ folder: at('cut'), job: { id: '4', start: START + 1e6 } });
  fs.writeFileSync(path.join(at('cut'), 'node=c1', 'agent.json'), '{"for');
  // nobody has written here for a day
  for (const name of ['disk.csv', 'load.csv']) fs.utimesSync(path.join(at('cut'), 'node=c1', name), 1, 1);
  await makeRecording({ folder: at('newer') });
  fs.writeFileSync(path.join(at('newer'), 'job.json'), JSON.stringify(jobOf({ format: 99 })));

  const listedJobs = listRecordings([folder], { now: START + 62e6 });
  assert.deepEqual(
    listedJobs.map(({ job, state, nodes, user, end }) => ({ job, state, nodes, user, end })),
    [
      { job: 'newer', state: 'newer version', nodes: 0, user: '', end: undefined },
      { job: '4', state: 'damaged', nodes: 1, user: 'ada', end: START + 60e6 },
      { job: '3', state: 'running', nodes: 1, user: 'ada', end: undefined },
      { job: '2', state: 'sealed', nodes: 1, user: 'ada', end: START + 60e6 },
      { job: '1', state: 'ended', nodes: 2, user: 'ada', end: START + 60e6 },
    ],
  );
  assert.match(listedJobs[0]!.trouble!, /newer Tacho/);
  assert.match(listedJobs[1]!.trouble!, /agent.json: it is damaged/);
  const bytes = fs
    .globSync('**/*', { cwd: at('sealed') })
    .map((name) => fs.statSync(path.join(at('sealed'), name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
  assert.equal(listedJobs[3]!.bytes, bytes);
});

test('a folder without recordings lists nothing', () => {
  assert.deepEqual(listRecordings([temporary()]), []);
});

test('a folder that cannot be looked into keeps no other from being listed', async () => {
  const folder = await makeRecording({ seconds: 2 });
  const missing = path.join(temporary(), 'gone');
  const messages: string[] = [];
  const listedJobs = listRecordings([missing, folder], { failed: (why) => messages.push(why.message) });
  assert.deepEqual(
    listedJobs.map(({ job }) => job),
    ['17'],
  );
  assert.deepEqual(messages, [`cannot open ${missing}: no such file or folder`]);
  assert.throws(() => listRecordings([missing, folder]), /cannot open/);
});

test('a recording of a newer version is not damaged', async () => {
  const folder = await makeRecording({ seconds: 2 });
  const file = path.join(folder, 'job.json');
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), format: 99 }));
  const [listed] = listRecordings([folder]);
  assert.equal(listed!.state, 'newer version');
  assert.match(listed!.trouble!, /newer Tacho/);
});

test('a recording in which nothing was ever written is not sealed', async () => {
  const folder = await makeRecording({ seconds: 2 });
  for (const name of ['disk.csv', 'load.csv']) fs.rmSync(path.join(folder, 'node=c1', name));
  assert.equal(listRecordings([folder])[0]!.state, 'ended');
});

test('a recording that is being sealed is not damaged; one whose sealing was left undone is', async () => {
  const folder = await makeRecording({ seconds: 2 });
  const states: string[] = [];
  sealRecording(openRecording(folder), { step: () => states.push(listRecordings([folder])[0]!.state) });
  assert.ok(states.length > 4, `${states}`);
  assert.deepEqual(
    states.filter((state) => state !== 'ended' && state !== 'sealed'),
    [],
  );
  fs.writeFileSync(path.join(folder, 'node=c1', 'load.csv.zst.4711-0badcafe.tmp'), 'half');
  assert.equal(listRecordings([folder])[0]!.state, 'sealed');
  const [later] = listRecordings([folder], { now: (Date.now() + 120_000) * 1000 });
  assert.deepEqual([later!.state, later!.trouble], ['damaged', 'something was interrupted here']);
});
