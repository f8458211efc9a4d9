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
  const words = ['setsid', '--wait', 'sh', '-c', script];
  const [file, ...args] = cgroup === undefined ? words : cgroup.command(...words);
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

test('where memory runs out Tacho is killed first, the job goes on, and the card says who was too much', {
  skip,
}, async (t) => {
  const cwd = startedBefore(t);
  const limit = 100 * MIB;
  const cgroup = await limited(t, limit);
  // it fits without Tacho, not with it
  const script = `"$TACHO" start -o rec -i 0.2s || exit 99
    head -c $((LIMIT - $(cat "$USED") * 3 / 4)) /dev/zero | tail >/dev/null
    code=$?
    "$TACHO" stop --format json >card.json
    exit $((code == 0 ? 7 : code))`;
  const { code, err } = job(cwd, script, cgroup, { LIMIT: String(limit), USED: cgroup.file('now') });
  assert.equal(code, 7, `the job's own program ran to its end\n${err}`);
  assert.equal(cgroup.kills(), 1);
  const { findings, job: told } = JSON.parse(fs.readFileSync(path.join(cwd, 'card.json'), 'utf8')) as Report;
  assert.deepEqual(told.memory_kills, { kills: 1, own: 1 });
  const { text, severity, advice } = findings.find(({ id }) => id === 'out-of-memory')!;
  assert.equal(text, 'Memory ran out, and the kernel killed Tacho itself; the job went on');
  assert.equal(severity, 'warning');
  assert.match(advice, /^Tacho needs up to 50\.0 MiB in the job’s cgroup: ask for that much more than the job needs/);
});
