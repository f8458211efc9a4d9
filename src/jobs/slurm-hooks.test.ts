import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { parseEndFile, parseJobFile } from './job-file.ts';
import { hooks } from './slurm-hooks.ts';

test('an epilog ends the run that its prolog has begun, though Slurm names it the next one', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-hooks-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const run = (hook: 'prolog' | 'epilog', restart: string): void => {
    const env = { TACHO_SERVICE_JOBS: folder, SLURM_JOB_ID: '17', SLURM_JOB_RESTART_COUNT: restart };
    assert.equal(spawnSync('/bin/sh', ['-s'], { env, input: hooks()[hook] }).status, 0);
  };
  const text = (name: string): string => fs.readFileSync(path.join(folder, name), 'utf8');
  run('prolog', '0');
  run('epilog', '1');
  assert.deepEqual(fs.readdirSync(folder).sort(), ['17', '17.end']);
  assert.equal(parseEndFile(text('17.end')).restart, undefined);
  run('prolog', '1');
  run('epilog', '2');
  assert.deepEqual(fs.readdirSync(folder).sort(), ['17', '17.end', '17r1', '17r1.end']);
  assert.equal(parseJobFile(text('17r1')).restart, 1);
  assert.equal(parseEndFile(text('17r1.end')).restart, 1);
});
