import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { startService } from '../src/agent/service.ts';
import { temporaryFolder } from './tacho.ts';

/** The disk takes nothing that belongs to a table until the function it returns is called. */
function fillDisk(t: TestContext): () => void {
  const full = (): never => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  const mocked = t.mock.method(fs, 'writeSync', full);
  syncBuiltinESMExports();
  const end = (): void => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  };
  t.after(end);
  return end;
}

test('a full spool is told once by the agent, and its end', async (t) => {
  const folder = temporaryFolder(t);
  const log: string[] = [];
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_800_000_000_000 });
  const spool = path.join(folder, 'spool');
  const service = startService({
    spool,
    jobs: path.join(folder, 'jobs'),
    node: 'c1',
    intervalSeconds: 1,
    idleIntervalSeconds: 1,
    only: ['loadavg', 'memory'],
    without: [],
    custom: [],
    writer: {},
    redact: false,
    watchCgroups: false,
    say: (line) => void log.push(line),
    clock: { now: () => Date.now() * 1000, jumps: [], ahead: () => 0, settle: () => {} },
  });
  const pass = (seconds: number): void => {
    for (let i = 0; i < seconds * 10; i++) t.mock.timers.tick(100);
  };
  pass(3);
  const makeRoom = fillDisk(t);
  pass(20);
  makeRoom();
  pass(20);
  await service.stop('SIGTERM');
  const about = log.filter((line) => line.includes(spool));
  assert.equal(about.length, 2, about.join('\n'));
  assert.match(about[0]!, /cannot write to .*: no space left on the device; samples wait in memory/);
  assert.match(about[1]!, /can be written again/);
});
