import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { Service } from '../src/agent/service/service.ts';
import { sampling } from '../src/base/sampling.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { serviceOptions } from './made/service-options.ts';
import { temporaryFolder } from './tacho.ts';

/** No write succeeds, in JavaScript or in C, until the function it returns is called. */
function refuseWrites(t: TestContext, code: string, message: string): () => void {
  const refuse = (): never => {
    throw Object.assign(new Error(`${code}: ${message}, write`), { code });
  };
  const native = sampling();
  const mocked = [
    t.mock.method(fs, 'writeSync', refuse),
    ...(native === null ? [] : [t.mock.method(native, 'writeFile', () => -1)]),
  ];
  syncBuiltinESMExports();
  const end = (): void => {
    for (const { mock } of mocked) mock.restore();
    syncBuiltinESMExports();
  };
  t.after(end);
  return end;
}

/** The mocked one. */
const CLOCK = { now: () => Date.now() * 1000, jumps: [], ahead: () => 0, settle: () => {} };

/** The disk takes nothing that belongs to a table until the function it returns is called. */
const fillDisk = (t: TestContext): (() => void) => refuseWrites(t, 'ENOSPC', 'no space left on device');

test('a full spool is told once by the agent, and its end', async (t) => {
  const folder = temporaryFolder(t);
  const log: string[] = [];
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_800_000_000_000 });
  const spool = path.join(folder, 'spool');
  const service = new Service(serviceOptions(folder, log, { only: ['loadavg', 'memory'], clock: CLOCK }));
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

/** The disk of a folder takes nothing at all, until the function it returns is called. */
function refuseAll(t: TestContext, folder: string, code: string): () => void {
  const message = code === 'EROFS' ? 'read-only file system' : 'no space left on device';
  const mocked = (['openSync', 'writeFileSync', 'mkdirSync', 'renameSync'] as const).map((call) => {
    const real = fs[call] as (...args: unknown[]) => unknown;
    return t.mock.method(fs, call, ((...args: unknown[]) => {
      const reads =
        call === 'openSync' &&
        (args[1] === 'r' || (typeof args[1] === 'number' && (args[1] & 3) === fs.constants.O_RDONLY));
      if (!String(args[0]).startsWith(`${folder}/`) || reads) return real(...args);
      throw Object.assign(new Error(`${code}: ${message}, ${call}`), { code });
    }) as never);
  });
  syncBuiltinESMExports();
  const end = (): void => {
    for (const each of mocked) each.mock.restore();
    syncBuiltinESMExports();
  };
  t.after(end);
  return end;
}

for (const code of ['ENOSPC', 'EROFS']) {
  test(`an agent starts on a disk that refuses everything (${code}), and nothing is lost when it takes it again`, async (t) => {
    const folder = temporaryFolder(t);
    const log: string[] = [];
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_800_000_000_000 });
    const spool = path.join(folder, 'spool');
    const jobs = path.join(folder, 'jobs');
    fs.mkdirSync(spool);
    fs.mkdirSync(jobs);
    fs.writeFileSync(
      path.join(jobs, '17'),
      'SLURM_JOB_ID=17\nSLURM_JOB_UID=1001\nSLURM_JOB_USER=ada\nBEGIN=1799999999\n',
    );
    const again = refuseAll(t, spool, code);
    const run = async () => ({ stdout: '', trouble: 'no' });
    const service = new Service(serviceOptions(folder, log, { run, clock: CLOCK }));
    const pass = (seconds: number): void => {
      for (let i = 0; i < seconds * 10; i++) t.mock.timers.tick(100);
    };
    pass(20);
    assert.deepEqual([...service.jobs.keys()], ['17']);
    assert.deepEqual(fs.readdirSync(spool), []);
    again();
    pass(20);
    await service.stop('SIGTERM');
    const why = code === 'EROFS' ? 'read-only file system' : 'no space left on the device';
    assert.ok(
      log.some((line) => line.includes(`cannot write to ${spool}: ${why}; samples wait in memory`)),
      log.join('\n'),
    );
    for (const name of ['job-17', 'fleet-2027-01-15']) {
      const { nodes, job } = openRecording(path.join(spool, name));
      const rows = readTable(nodes[0]!, 'loadavg', { columns: [] });
      assert.ok(rows.rows >= 41, `${rows.rows} rows in ${name}`);
      assert.equal(rows.time[0], 1_800_000_000_000_000);
      assert.equal(nodes[0]!.agent!.lost_samples, undefined);
      assert.equal(job.nodes[0], 'c1');
    }
  });
}

test('what was lost with an agent on a read-only disk is counted by the next one, which was away only since then', async (t) => {
  const folder = temporaryFolder(t);
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_800_000_000_000 });
  const spool = path.join(folder, 'spool');
  const start = () => new Service(serviceOptions(folder, [], { clock: CLOCK }));
  const pass = (seconds: number): void => {
    for (let i = 0; i < seconds * 10; i++) t.mock.timers.tick(100);
  };
  const first = start();
  pass(3);
  // a file system that was aborted takes nothing by what is open of it, either
  const writable = refuseWrites(t, 'EROFS', 'read-only file system');
  const again = refuseAll(t, spool, 'EROFS');
  pass(20);
  await first.stop('SIGTERM');
  const stopped = Date.now() * 1000;
  writable();
  again();
  pass(10);
  const second = start();
  pass(3);
  await second.stop('SIGTERM');
  const { nodes } = openRecording(path.join(spool, 'fleet-2027-01-15'));
  const agent = nodes[0]!.agent!;
  const lost = agent.lost_samples!.find(({ table }) => table === 'loadavg')!;
  assert.deepEqual([lost.rows, lost.why], [21, 'read-only file system']);
  assert.deepEqual(agent.away, [{ from: stopped, to: stopped + 10e6 }]);
  assert.ok(!fs.existsSync(path.join(folder, 'unwritten.json')));
});
