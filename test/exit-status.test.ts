import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { openRecording } from '../src/recording/folder/open.ts';
import { eventually } from './made/eventually.ts';
import { TACHO, temporaryFolder } from './tacho.ts';

/** A job's script has the exit status that it has without Tacho. */

const HERE = path.join(import.meta.dirname, '..');

function scriptFolder(t: TestContext) {
  const folder = temporaryFolder(t);
  fs.mkdirSync(path.join(folder, 'run'), { mode: 0o700 });
  const env = {
    PATH: `${path.dirname(TACHO)}:${process.env.PATH}`,
    HOME: folder,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    XDG_RUNTIME_DIR: path.join(folder, 'run'),
  };
  const write = (text: string): string => {
    fs.writeFileSync(path.join(folder, 'script'), text);
    return path.join(folder, 'script');
  };
  const run = (shell: string[], text: string): SpawnSyncReturns<string> =>
    spawnSync(shell[0]!, [...shell.slice(1), write(text)], { cwd: folder, env, encoding: 'utf8' });
  return { folder, env, write, run };
}

const FAILS = `sh -c 'exit 9'`;
const START = 'tacho start --interval 0.2s -o r';
const TRAP = "trap 'tacho stop' EXIT";
const FISH = 'function stop_tacho --on-event fish_exit; tacho stop; end';

const shells: [shell: string[], script: string][] = [
  [['bash'], `${START}\n${TRAP}\n${FAILS}\n`],
  [['bash'], `set -euo pipefail\n${START}\n${TRAP}\n${FAILS}\necho never\n`],
  [['sh'], `${START}\n${TRAP}\n${FAILS}\n`],
  [['sh'], `set -e\n${START}\n${TRAP}\n${FAILS}\necho never\n`],
  [['zsh', '-f'], `set -e\n${START}\n${TRAP}\n${FAILS}\necho never\n`],
  [['csh', '-f'], `${START}\n${FAILS}\nset rc = $status\ntacho stop\nexit $rc\n`],
  [['fish', '--no-config'], `${START}\n${FISH}\n${FAILS}\n`],
];

for (const [shell, script] of shells) {
  const missing = spawnSync(shell[0]!, ['-c', 'exit 0']).error !== undefined && `needs ${shell[0]}`;
  test(`${shell.join(' ')}${script.startsWith('set') ? ', set -e' : ''}`, { skip: missing }, (t) => {
    const { folder, run } = scriptFolder(t);
    const { status, stdout, stderr } = run(shell, script);
    assert.equal(status, 9, stderr);
    assert.match(stdout, /^Quality [A-D]/m);
    assert.doesNotMatch(stdout, /never/);
    const { job, nodes } = openRecording(path.join(folder, 'r'));
    assert.ok(job.end !== undefined && nodes[0]!.agent!.end !== undefined);
    // what is right ends right
    assert.equal(run(shell, script.replace(FAILS, 'true').replace('-o r', '-o s')).status, 0);
    // and so it is where nothing can be recorded
    const unrecorded = run(shell, script.replace('-o r', '-o /proc/x'));
    assert.equal(unrecorded.status, 9, unrecorded.stderr);
    assert.match(unrecorded.stderr, /^tacho: start: cannot write \/proc\/x/);
    assert.match(unrecorded.stderr, /^tacho: stop: nothing is being recorded/m);
  });
}

test('a signal ends the script, as scancel and a time limit do: bash still stops, and the signal counts', async (t) => {
  const { folder, env, write } = scriptFolder(t);
  const script = write(`${START}\n${TRAP}\ntouch ready\nwhile :; do sleep 0.05; done\n`);
  const child = spawn('bash', [script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  await eventually('the start of the script', () => fs.existsSync(path.join(folder, 'ready')));
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'close'), [null, 'SIGTERM']);
  assert.match(output, /^Quality [A-D]/m);
});

/** Blocks of text that stand in as examples: indented, or between backquotes. */
function blocks(file: string): string[] {
  const text = fs.readFileSync(path.join(HERE, file), 'utf8');
  const fenced = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([, block]) => block!);
  const plain = text.replace(/^```[\s\S]*?^```/gm, '');
  const indented = [...plain.matchAll(/(?:^(?: {4}.*|)\n)+/gm)].map(([block]) => block.replace(/^ {4}/gm, ''));
  return [...fenced, ...indented].filter((block) => /^tacho start/m.test(block));
}

test('every example in the documentation keeps the status of a step that fails, and stops', (t) => {
  const files = ['README.md', ...fs.readdirSync(path.join(HERE, 'docs')).map((name) => `docs/${name}`)];
  const examples = files
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => blocks(file).map((block) => ({ file, block })));
  let tried = 0;
  for (const { file, block } of examples) {
    assert.doesNotMatch(block, /^tacho stop/m, `${file}: hides the status\n${block}`);
    if (!/^(srun|flux run|mpiexec|for )/m.test(block)) continue;
    tried++;
    const folder = temporaryFolder(t);
    const write = (name: string, text: string): void =>
      fs.writeFileSync(path.join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    write('tacho', `echo "$1" >>calls; [ "$1" != env ] || echo 'tacho_pause() { :; }; tacho_resume() { :; }'`);
    write('preprocess', 'exit 0');
    for (const name of ['srun', 'flux', 'mpiexec']) write(name, 'exit 9');
    // what submits the script is not a part of it
    const script = block.replace(/^flux batch .*$/m, '');
    const env = { PATH: `${folder}:${process.env.PATH}`, PBS_O_WORKDIR: folder };
    const { status, stderr } = spawnSync('bash', ['-c', script], { cwd: folder, env, encoding: 'utf8' });
    assert.equal(status, 9, `${file}: ${stderr}\n${block}`);
    const calls = fs.readFileSync(path.join(folder, 'calls'), 'utf8').trim().split('\n');
    assert.deepEqual([calls[0], calls.at(-1)], ['start', 'stop'], file);
  }
  assert.ok(tried >= 7, `${tried}`);
});
