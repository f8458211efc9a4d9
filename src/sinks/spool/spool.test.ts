import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { COUNTED, countedRows, testAgent, testJob, testRecording } from '../../../test/made/spool.ts';
import { TableWriter } from '../../recording/live/append.ts';
import { Spool } from './spool.ts';

test('a full spool says once that samples are given up, and later how many', async (t) => {
  const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-spool-'));
  t.after(() => fs.rmSync(spool, { recursive: true, force: true }));
  const recording = testRecording(spool, 'job-1', testJob('1'), testAgent('c1'));
  const writer = new TableWriter(recording, COUNTED);
  for (let filePart = 0; filePart < 8; filePart++) {
    writer.append(countedRows('c1', filePart * 10, filePart * 10 + 10));
    writer.roll();
  }
  await writer.close();
  const log: string[] = [];
  const open = new Spool(spool, { limitBytes: 512, sinks: [], checkSeconds: 0, tell: (text) => void log.push(text) });
  open.wake();
  open.wake();
  assert.ok(open.bytes <= 512);
  fs.rmSync(path.dirname(recording), { recursive: true });
  open.wake();
  open.wake();
  assert.deepEqual(
    log.map((line) => line.replace(spool, 'SPOOL').replace(/\d0 rows/, 'N rows')),
    [
      'SPOOL is full (512 B): its oldest samples are given up before they are stored',
      'SPOOL has room again; N rows were given up',
    ],
  );
});

test('what an agent left that was killed while a recording left the spool is removed', (t) => {
  const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-spool-'));
  t.after(() => fs.rmSync(spool, { recursive: true, force: true }));
  const over = { state: 'completed', end: 1_700_000_010_000_000 } as const;
  for (const id of ['1', '2', '3', '4']) {
    testRecording(spool, `job-${id}`, testJob(id, id === '3' ? {} : over), testAgent('c1'));
  }
  fs.rmSync(path.join(spool, 'job-1/node=c1'), { recursive: true });
  fs.renameSync(path.join(spool, 'job-2'), path.join(spool, '.leaving-job-2'));
  fs.rmSync(path.join(spool, 'job-3/node=c1'), { recursive: true });
  const sink = { name: 'hub', wake() {}, stored: () => undefined, trouble: undefined, close: async () => {} };
  new Spool(spool, { limitBytes: 1e6, sinks: [sink], checkSeconds: 0 });
  assert.deepEqual(fs.readdirSync(spool).sort(), ['job-3', 'job-4'], 'of 3 nobody knows yet that it has ended');
});
