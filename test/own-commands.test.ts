import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { takeOwnUse } from '../src/control/own-use.ts';
import { tacho, temporaryFolder } from './tacho.ts';

test('in a job that its user records, each command of Tacho’s notes what it used, but those that are accounted for', (t) => {
  const folder = temporaryFolder(t);
  const [recording, run] = ['r', 'run'].map((name) => path.join(folder, name)) as [string, string];
  fs.mkdirSync(recording);
  fs.mkdirSync(path.join(run, 'tacho'), { recursive: true, mode: 0o700 });
  fs.writeFileSync(path.join(recording, 'job.json'), '{"nodes":["c1"]}');
  // as `tacho start` leaves word
  const active = JSON.stringify({ recording, launched: [] });
  fs.writeFileSync(path.join(run, 'tacho/slurm-cluster-8.json'), active, { mode: 0o600 });
  const { SLURM_CLUSTER_NAME: _, TACHO_RECORDING: __, ...rest } = process.env;
  const env = { ...rest, SLURM_JOB_ID: '8', SLURMD_NODENAME: 'c1', XDG_RUNTIME_DIR: run };
  for (const verb of ['list', 'report', 'start', 'stop', 'agent']) {
    assert.equal(tacho([verb, '--help'], { cwd: folder, env }).code, 0);
  }
  const { commands, cpu_seconds } = takeOwnUse(recording, ['c1'])!.c1!;
  assert.equal(commands, 2);
  assert.ok(cpu_seconds > 0.02, `${cpu_seconds} s`);
});
