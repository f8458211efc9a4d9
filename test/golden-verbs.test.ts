import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { START, temporary } from './make-recording.ts';
import { type GivenProcess, makeProcessRecording } from './process-recording.ts';
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
  const compilers = Array.from({ length: 8 }, (_, i) => ({
    pid: 100 + i,
    start: i,
    end: i + slow * (2 + ((i * 7 + seed) % 5) / 10),
    exename: 'cc1',
    args: `-O2 part${i}.c`,
    tags: 'op:compile',
    cpu: slow * (1.5 + ((i * 3 + seed) % 7) / 20),
    metrics: { rchar: 5000 + ((i * 11 + seed * 5) % 40), rssmax: 20000 + i * 10 + seed },
  }));
  const threads = [0.2, 0.21, 0.22, 1.9, 0.2, 0.23, 0.21, 0.22];
  const linker = { pid: 900, start: 20, end: 24, exename: 'ld', args: '-o a.out', tags: 'op:link', cpu: 3.4, threads };
  return [...compilers, linker];
}

async function makeBuilds(): Promise<string> {
  const folder = path.join(temporary(), 'runs');
  for (let i = 0; i < 6; i++) {
    const slow = i === 3 ? 4 : 1;
    const job = {
      id: `b${i}`,
      end: START + (25 + i / 10 + (slow - 1) * 8) * 1e6,
      tags: {
        exp_name: 'builds',
        exp_component: i % 2 === 0 ? 'even' : 'odd',
        exp_time: `20${10 + i}0101`,
        kind: slow > 1 ? 'slow' : 'usual',
      },
    };
    await makeProcessRecording({ c1: build(i, slow) }, job, path.join(folder, `tacho-b${i}`));
  }
  return folder;
}

test('the tables that the verbs print are what they were', async () => {
  const cwd = await makeBuilds();
  const { PATH, XDG_CACHE_HOME } = process.env;
  const env = {
    PATH,
    XDG_CACHE_HOME,
    HOME: cwd,
    TZ: 'UTC',
    LC_ALL: 'C.UTF-8',
    TACHO_MODELS: path.join(temporary(), 'models'),
  };
  const parts = COMMANDS.map((command) => {
    const { code, out, err } = tacho(command.split(' '), { cwd, env });
    assert.equal(code, 0, `${command}: ${err}`);
    return `$ tacho ${command}\n${out}${err}`;
  });
  // what is of this run alone, and the size of descriptions
  const now = parts
    .join('\n')
    .replaceAll(/[\d.]+ KiB(?= {2}ended)/g, ' SIZE KiB')
    .replaceAll(/(?!2026-11-15 20:49)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, 'NOW');
  if (process.env.UPDATE_GOLDEN !== undefined) fs.writeFileSync(GOLDEN, now);
  // line by line, so that a difference is readable
  assert.deepEqual(now.split('\n'), fs.readFileSync(GOLDEN, 'utf8').split('\n'));
});
