import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { compilersOf, makeBuilds } from './made/builds.ts';
import { temporary } from './make-recording.ts';
import type { GivenProcess } from './process-recording.ts';
import { tacho } from './tacho.ts';

// What the verbs print of recordings, as people see it. After a wanted change: UPDATE_GOLDEN=1 sh scripts/test test/golden-verbs
const GOLDEN = path.join(import.meta.dirname, 'fixtures/verbs.golden.txt');

const COMMANDS = [
  'list',
  'list tacho-b0 --tables',
  'processes tacho-b0 --limit 4',
  'processes tacho-b0 --tree --filter exename=ld',
  'threads tacho-b0 --process 900',
  'operations tacho-b0',
  'timeline tacho-b0 --by operation --width 40',
  'timeline tacho-b0 --limit 3 --width 40',
  'compare tacho-b0 tacho-b3',
  'compare tacho-b0 tacho-b3 --by process --limit 3',
  'outliers . --features cpu_time,duration',
  'outliers . --of operations --features cpu_time,duration',
  'outliers tacho-b3 --of threads --features cpu_time --limit 3',
  'model create usual . --tag kind:usual',
  'model list',
  'model show usual',
  'cause tacho-b3 --model usual --limit 3',
  'explore builds .',
  'verify tacho-b0 --dry-run',
  'seal tacho-b0',
  'verify tacho-b0',
];

/** A build: compilers one after the other, then a linker with threads. */
function build(seed: number, slow: number): GivenProcess[] {
  const compilers = compilersOf(8, seed, slow).map((each, i) => ({ ...each, args: `-O2 part${i}.c` }));
  const threads = [0.2, 0.21, 0.22, 1.9, 0.2, 0.23, 0.21, 0.22];
  const linker = { pid: 900, start: 20, end: 24, exename: 'ld', args: '-o a.out', tags: 'op:link', cpu: 3.4, threads };
  return [...compilers, linker];
}

test('the tables that the verbs print are what they were', async () => {
  const cwd = path.join(temporary(), 'runs');
  await makeBuilds(cwd, { count: 6, slow: 3, processes: build, seconds: 25, slowSeconds: 24 });
  const { PATH, XDG_CACHE_HOME } = process.env;
  const env = {
    PATH,
    XDG_CACHE_HOME,
    HOME: cwd,
    TZ: 'UTC',
    LC_ALL: 'C.UTF-8',
    TACHO_MODELS: path.join(temporary(), 'models'),
  };
  const sections = COMMANDS.map((command) => {
    const { code, out, err } = tacho(command.split(' '), { cwd, env });
    assert.equal(code, 0, `${command}: ${err}`);
    return `$ tacho ${command}\n${out}${err}`;
  });
  // what is of this run alone, and the size of descriptions
  const now = sections
    .join('\n')
    .replaceAll(/[\d.]+ KiB(?= {2}ended)/g, ' SIZE KiB')
    .replaceAll(/(?!2026-11-15 20:49)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, 'NOW');
  if (process.env.UPDATE_GOLDEN !== undefined) fs.writeFileSync(GOLDEN, now);
  // line by line, so that a difference is readable
  assert.deepEqual(now.split('\n'), fs.readFileSync(GOLDEN, 'utf8').split('\n'));
});
