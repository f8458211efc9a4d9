import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { reportCard, reportOf } from '../src/cli/report.ts';
import { writeDemo } from '../src/demo/demo.ts';
import { summariseAsked } from '../src/query/summarise.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { jobOf, makeRecording, START } from './make-recording.ts';
import { tacho, temporaryFolder } from './tacho.ts';

test('a large unsealed recording, read by two threads: its report is that of one', async (t) => {
  const folder = path.join(temporaryFolder(t), 'demo');
  const recording = await writeDemo({ folder, nodes: 3, gpus: 2, seconds: 7200, interval: 20, live: true });
  const { code, out, err } = tacho(['report', recording]);
  assert.deepEqual([code, err], [0, '']);
  assert.equal(out, await reportCard([recording]));
  // what another thread may say
  const asked = openRecording(recording).nodes.map((node) => summariseAsked([node, [{}]]));
  assert.deepEqual(structuredClone(asked), asked);
});

test('reports of many recordings by two threads are those of one; what cannot be read is left out', async (t) => {
  const folder = temporaryFolder(t);
  for (let i = 0; i < 120; i++) {
    const job = { id: String(i), start: START + i * 1e6, end: START + (i + 3) * 1e6 };
    await makeRecording({ folder: path.join(folder, `job-${i}`), seconds: 3, job });
  }
  const broken = path.join(folder, 'job-50', 'node=c1', 'agent.json');
  fs.writeFileSync(broken, '{"format":99}');
  const { code, out, err } = tacho(['report', folder]);
  assert.equal(code, 1);
  assert.match(err, /left out: .*job-50: .*written by a newer Tacho/);
  fs.rmSync(path.dirname(path.dirname(broken)), { recursive: true });
  assert.equal(out, await reportCard([folder]));
  assert.match(out, /^Jobs \(119\)/);
  const path1 = path.join(folder, 'job-1');
  const settings = { thresholds: new Map(), off: new Map() };
  const report = await reportOf({
    path: path1,
    names: fs.readdirSync(path1),
    refreshed: jobOf(),
    wanted: {},
    settings,
  });
  assert.deepEqual(structuredClone(report), report);
});
