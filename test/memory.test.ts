import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Report } from '../src/judge/report-schema.ts';
import { MemoryCgroup, whyNoMemoryCgroup as skip } from './memory-cgroup.ts';
import { TACHO, temporaryFolder } from './tacho.ts';

const MIB = 2 ** 20;
const START_STOP = '"$TACHO" start -o started; sleep 1; "$TACHO" stop';

/** A shell script that is a job of its own: its processes have this home, and these variables. */
function job(cwd: string, script: string, cgroup?: MemoryCgroup, more: Record<string, string> = {}) {
  const env = { PATH: process.env.PATH, HOME: cwd, XDG_RUNTIME_DIR: cwd, TACHO, ...more };
  const commandArgs = ['setsid', '--wait', 'sh', '-c', script];
  const [file, ...args] = cgroup === undefined ? commandArgs : cgroup.command(...commandArgs);
  const done = spawnSync(file!, args, { cwd, env, encoding: 'utf8', timeout: 300_000 });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

async function limited(t: TestContext, bytes: number): Promise<MemoryCgroup> {
  const cgroup = new MemoryCgroup(bytes);
  t.after(() => cgroup.remove());
  return cgroup;
}

/** A folder in which V8 has kept what it compiled: the first start of a checkout takes more, once. */
function startedBefore(t: TestContext): string {
  const cwd = temporaryFolder(t);
  const first = job(cwd, `"$TACHO" run --no-report -o first -- true && "$TACHO" report first && ${START_STOP}`);
  assert.equal(first.code, 0, first.err);
  for (const name of ['first', 'started']) fs.rmSync(path.join(cwd, name), { recursive: true });
  return cwd;
}

test('in 60 MiB a command is recorded, and so is a job script', { skip }, async (t) => {
  const cwd = startedBefore(t);
  const run = await limited(t, 60 * MIB);
  const ran = job(cwd, '"$TACHO" run -o ran -- sh -c "sleep 1; exit 3"', run);
  assert.deepEqual([ran.code, run.kills()], [3, 0], ran.err);
  const script = await limited(t, 60 * MIB);
  const started = job(cwd, START_STOP, script);
  assert.deepEqual([started.code, script.kills()], [0, 0], started.err);
  for (const name of ['ran', 'started']) {
    const report = JSON.parse(job(cwd, `"$TACHO" report ${name} --format json`).out) as Report;
    assert.equal(report.job.state, name === 'ran' ? 'failed' : 'completed');
  }
});

/** Fills so many MiB at once, and says that it lived. */
const FILL = 'python3 -c "import sys; b = bytearray(int(sys.argv[1]) << 20); print(len(b) >> 20)"';

test('below a small limit nothing is sampled, and a program that fits without Tacho fits with it', {
  skip,
}, async (t) => {
  const cwd = startedBefore(t);
  for (const mib of [50, 100]) {
    const bare = await limited(t, mib * MIB);
    const alone = job(cwd, `${FILL} ${mib - 14}`, bare);
    assert.deepEqual([alone.code, alone.out], [0, `${mib - 14}\n`], 'it fits without Tacho');
    const run = await limited(t, mib * MIB);
    const ran = job(cwd, `"$TACHO" run -o ran${mib} -- sh -c '${FILL} ${mib - 14}; exit 3'`, run);
    assert.deepEqual([ran.code, ran.out, run.kills()], [3, `${mib - 14}\n`, 0], ran.err);
    assert.match(ran.err, new RegExp(`not sampled: the memory limit of the job is ${mib}\\.0 MiB`));
    const script = await limited(t, mib * MIB);
    const started = job(cwd, `"$TACHO" start -o started${mib}; ${FILL} ${mib - 14}; "$TACHO" stop --no-report`, script);
    assert.deepEqual([started.code, started.out, script.kills()], [0, `${mib - 14}\n`, 0], started.err);
  }
  const report = JSON.parse(job(cwd, '"$TACHO" report ran100 --format json').out) as Report;
  const { cpu_seconds, cpu_source, memory_peak_bytes } = report.summary;
  assert.ok(cpu_seconds! > 0 && memory_peak_bytes! > 86 * MIB, 'wait4 tells what it used');
  assert.equal(cpu_source, 'wait4');
  assert.match(report.nodes[0]!.reason!, /^the memory limit of the job is 100\.0 MiB; sampling begins at 128 MiB$/);
});

test('where memory becomes short Tacho gives way before the kernel has to choose, and the card says so', {
  skip,
}, async (t) => {
  const cwd = startedBefore(t);
  const reason = /^less than 48 MiB of the job's memory limit were left$/;
  const filled = `${FILL} 186`;
  const run = await limited(t, 200 * MIB);
  const ran = job(cwd, `"$TACHO" run -o ran -i 0.2s -- sh -c 'sleep 1; ${filled}; exit 3'`, run);
  assert.deepEqual([ran.code, ran.out, run.kills()], [3, '186\n', 0], ran.err);
  const script = await limited(t, 200 * MIB);
  const started = job(cwd, `"$TACHO" start -o started -i 0.2s; sleep 1; ${filled}; "$TACHO" stop --no-report`, script);
  assert.deepEqual([started.code, started.out, script.kills()], [0, '186\n', 0], started.err);
  for (const name of ['ran', 'started']) {
    const report = JSON.parse(job(cwd, `"$TACHO" report ${name} --format json`).out) as Report;
    assert.equal(report.nodes[0]!.status, 'stopped early', name);
    assert.match(report.nodes[0]!.reason!, reason, name);
  }
});
