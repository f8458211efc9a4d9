import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Job } from '../src/recording/folder/job.ts';
import { tacho, temporaryFolder } from './tacho.ts';

function recorded(folder: string): { job: Job; tables: string[] } {
  const [name] = fs.readdirSync(folder);
  const recording = path.join(folder, name!);
  const node = fs.readdirSync(recording).find((each) => each.startsWith('node='))!;
  const tables = fs.readdirSync(path.join(recording, node)).filter((each) => /\.(csv|parquet)$/.test(each));
  return {
    job: JSON.parse(fs.readFileSync(path.join(recording, 'job.json'), 'utf8')) as Job,
    tables: tables.map((each) => each.replace(/\..*/, '')).sort(),
  };
}

test('tacho.toml decides where, how often and what is recorded; the environment and flags count more', (t) => {
  const cwd = temporaryFolder(t);
  const toml =
    'interval = "5s"\nrecordings = "kept"\nredact = true\nkeep_environment = ["FLAVOUR"]\n[sources]\nenable = ["meminfo", "cpu"]\n';
  fs.writeFileSync(path.join(cwd, 'tacho.toml'), toml);
  const env = { ...process.env, FLAVOUR: 'vanilla', SECRET: 'hidden', TACHO_INTERVAL: '2s' };
  const answer = tacho(['run', '--no-report', '--without', 'cpu', '--', 'sh', '-c', 'true'], { cwd, env });
  assert.equal(answer.code, 0, answer.err);
  const { job, tables } = recorded(path.join(cwd, 'kept'));
  assert.equal(job.interval_seconds, 2);
  assert.deepEqual(job.command, ['sh']);
  assert.equal(job.environment.FLAVOUR, 'vanilla');
  assert.equal(job.environment.SECRET, undefined);
  assert.deepEqual(tables, ['agent', 'meminfo']);
});

test("the command's environment is the user's own: nothing of the launcher is in it", (t) => {
  const cwd = temporaryFolder(t);
  const env = { PATH: process.env.PATH, HOME: cwd, NODE_OPTIONS: '--max-old-space-size=123' };
  const answer = tacho(['run', '--no-report', '-o', 'x', '--', 'env'], { cwd, env });
  assert.equal(answer.code, 0, answer.err);
  const names = answer.out
    .split('\n')
    .filter((line) => /NODE|TACHO|MALLOC/.test(line) && !/^TACHO_(RECORD|RECORDING|MARKS)=/.test(line));
  assert.deepEqual(names, ['NODE_OPTIONS=--max-old-space-size=123']);
  const own = tacho(['run', '--no-report', '-o', 'y', '--', 'env'], { cwd, env: { ...env, MALLOC_ARENA_MAX: '4' } });
  assert.match(own.out, /^MALLOC_ARENA_MAX=4$/m, 'what the user has set stays');
});
