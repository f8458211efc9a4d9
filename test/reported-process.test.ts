import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { readProcesses } from '../src/query/processes/processes.ts';
import { nodeFolder } from '../src/recording/folder/node-folder.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { processEndTable, processStartTable } from '../src/sources/records/tables.ts';
import { agentOf, appendRows, jobOf, START, temporary } from './make-recording.ts';

/** Seconds after the job's start, as epoch microseconds. */
const at = (seconds: number): number => START + seconds * 1e6;

test('a program that was told of, and took its time to speak for itself, is one process', async () => {
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, nodeFolder('c1'));
  fs.mkdirSync(nodePath, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf()));
  fs.writeFileSync(
    path.join(nodePath, 'agent.json'),
    JSON.stringify(agentOf('c1', [processStartTable, processEndTable])),
  );
  const own = { pid: '10', start: String(at(2.5)), ppid: 7, exename: 'large' };
  await appendRows(nodePath, processStartTable, [
    // tacho run does not say whose child it is
    { time: at(1), pid: '10', start: String(at(1)), exename: 'large', began: 'told' },
    { ...own, time: at(2.5), began: 'exec' },
  ]);
  // the kernel's clock began a day before the job
  const used = { usertime: 3e6, systemtime: 0, starttime: (86_400 + 1) * 100 };
  await appendRows(nodePath, processEndTable, [
    { ...own, ...used, time: at(9), ended: 'exit', exitcode: 0, numtids: 1 },
  ]);
  const set = readProcesses([openRecording(folder)]);
  assert.deepEqual(
    [...set.pid].map((pid, i) => [pid, set.source[i], set.start[i], set.end[i], set.ppid[i], set.cpu_time[i]]),
    [[10, 'record', at(2.5), at(9), 7, 3e6]],
  );
});
