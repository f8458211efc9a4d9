import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
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
  const result = tacho(['run', '--no-report', '--without', 'cpu', '--', 'sh', '-c', 'true'], { cwd, env });
  assert.equal(result.code, 0, result.err);
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
  const result = tacho(['run', '--no-report', '-o', 'x', '--', 'env'], { cwd, env });
  assert.equal(result.code, 0, result.err);
  const names = result.out
    .split('\n')
    .filter((line) => /NODE|TACHO|MALLOC/.test(line) && !/^TACHO_(RECORD|RECORDING|MARKS)=/.test(line));
  assert.deepEqual(names, ['NODE_OPTIONS=--max-old-space-size=123']);
  const own = tacho(['run', '--no-report', '-o', 'y', '--', 'env'], { cwd, env: { ...env, MALLOC_ARENA_MAX: '4' } });
  assert.match(own.out, /^MALLOC_ARENA_MAX=4$/m, 'what the user has set stays');
});

test('reports of a folder have one heap of malloc for all threads, unless the user has set how many', (t) => {
  const folder = temporaryFolder(t);
  const one = path.join(folder, 'one');
  fs.mkdirSync(one);
  fs.writeFileSync(path.join(one, 'job.json'), '{}');
  const here = path.join(import.meta.dirname, '..');
  const heaps = (configPath: string, env: NodeJS.ProcessEnv = {}): string => {
    const script = `here=$1; . "$here/scripts/start-node"; prepare_node report "$2"; echo "\${MALLOC_ARENA_MAX-} \${TACHO_ARENAS-}"`;
    const text = execFileSync('sh', ['-c', script, 'sh', here, configPath], {
      env: { PATH: process.env.PATH, ...env },
    });
    return text.toString().trim();
  };
  assert.equal(heaps(folder), '1 1');
  assert.equal(heaps(one), '', 'one report is made as fast as can be');
  assert.equal(heaps(folder, { MALLOC_ARENA_MAX: '4' }), '4');
});
