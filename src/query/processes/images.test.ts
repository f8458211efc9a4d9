import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeProcessRecording } from '../../../test/process-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { readProcesses } from './processes.ts';

test('a start or pid that is no number tells of no process, and keeps nobody waiting', async () => {
  const processes = [10, 11, 12, 13].map((pid) => ({ pid, start: pid, end: 20, cpu: 1 }));
  for (const [cell, value] of [
    [1, 'x'],
    [2, '17947757620a0000'],
    [2, ''],
    [2, '1e999'],
  ] as const) {
    const folder = await makeProcessRecording({ c1: processes });
    const file = path.join(folder, 'node=c1/process_start.csv');
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    const cells = lines[2]!.split(',');
    cells[cell] = value;
    lines[2] = cells.join(',');
    fs.writeFileSync(file, lines.join('\n'));
    assert.deepEqual([...readProcesses([openRecording(folder)]).pid].sort(), [10, 11, 12, 13], value);
  }
});
