import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRecording } from '../src/recording/folder/open.ts';
import { eventually } from './made/eventually.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

const skip =
  !fs.existsSync(path.join(path.dirname(TACHO), 'native/build/launch')) &&
  'needs native/build/launch (no compiler when it was set up)';

interface Ran {
  cwd: string;
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
  killed: boolean;
}

/** The Node below the guard; the launcher script has tried another one before. */
function nodeOf(pid: number): number | undefined {
  if (!/launch$/.test(fs.readlinkSync(`/proc/${pid}/exe`))) return undefined;
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean);
  return children.map(Number).find((child) => {
    try {
      return /\/node$/.test(fs.readlinkSync(`/proc/${child}/exe`));
    } catch {
      return false;
    }
  });
}

/** `tacho run` of a shell script; `when` says at which look Node is killed, with how many lines of the script's output. */
async function run(
  t: TestContext,
  script: string,
  when: (looks: number, out: string) => boolean,
  cwd = temporaryFolder(t),
): Promise<Ran> {
  const child = spawn(TACHO, ['run', '--no-report', '-i', '0.2s', '-o', 'rec', '--', 'sh', '-c', script], { cwd });
  let [out, err, killed] = ['', '', false];
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  child.stderr.on('data', (bytes) => {
    err += bytes;
  });
  const gone = new Promise<[number | null, NodeJS.Signals | null]>((done) => {
    child.once('close', (code, signal) => done([code, signal]));
  });
  for (let looks = 0, turn = 0; turn < 24_000; turn++) {
    if (child.exitCode !== null || child.signalCode !== null || killed) break;
    let node: number | undefined;
    try {
      node = nodeOf(child.pid!);
    } catch {
      // it has gone
    }
    if (node !== undefined && when(++looks, out)) {
      process.kill(node, 'SIGKILL');
      killed = true;
    }
    await sleep(5);
  }
  const [code, signal] = await gone;
  return { cwd, code, signal, out, err, killed };
}

const LINES = Array.from({ length: 12 }, (_, i) => `${i}\n`).join('');
const counts = (end: string): string => `i=0; while [ $i -lt 12 ]; do echo $i; i=$((i + 1)); sleep 0.05; done; ${end}`;

const MOMENTS: readonly [string, (looks: number, out: string) => boolean][] = [
  ['at its start', (looks) => looks === 1],
  ['before it asks for the command', (looks) => looks === 12],
  ['just after the command’s start', (_, out) => out !== ''],
  ['in the middle', (_, out) => out.includes('5\n')],
  ['at the end', (_, out) => out.includes('11\n')],
];

for (const [moment, when] of MOMENTS) {
  test(`Node is killed ${moment}: the command runs once, to its end, and its exit code is that of tacho run`, {
    skip,
  }, async (t) => {
    for (const end of ['exit 7', 'exit 0', 'kill -TERM $$', 'kill -SEGV $$']) {
      const { code, signal, out, err, cwd } = await run(t, counts(end), when);
      assert.equal(out, LINES, err);
      const expected = { 'exit 7': [7, null], 'exit 0': [0, null], 'kill -TERM $$': [null, 'SIGTERM'] }[end];
      assert.deepEqual([code, signal], expected ?? [139, null], err);
      assert.match(err, /^tacho: .*: Tacho's recorder was ended by SIGKILL$/m);
      const { job } = openRecording(path.join(cwd, 'rec'));
      if (/the report is missing/.test(err)) continue;
      assert.deepEqual(
        [job.exit_code, job.signal],
        [end === 'exit 7' ? 7 : end === 'exit 0' ? 0 : undefined, /kill -(\w+)/.exec(end)?.[1]?.replace(/^/, 'SIG')],
      );
      assert.ok(job.usage!.wall_seconds > 0.5, 'wait4 speaks for it');
      assert.equal(fs.readdirSync(cwd).length, 1, 'one recording');
    }
  });
}

test('Node is killed while it makes the recording: the one that comes after it goes on there', { skip }, async (t) => {
  const cwd = temporaryFolder(t);
  fs.mkdirSync(path.join(cwd, 'rec'));
  for (const name of ['job.json.reserve', 'job.json.lock', 'job.json.4711.tmp'])
    fs.writeFileSync(path.join(cwd, 'rec', name), '{');
  const { code, err } = await run(t, 'exit 7', (looks) => looks === 1, cwd);
  assert.equal(code, 7, err);
  assert.deepEqual(fs.readdirSync(cwd), ['rec'], err);
  assert.deepEqual([openRecording(path.join(cwd, 'rec')).job.exit_code, /exists already/.test(err)], [7, false], err);
});

test('signals to tacho run reach the command when Node has gone', { skip }, async (t) => {
  for (const signal of ['SIGUSR1', 'SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
    const cwd = temporaryFolder(t);
    const script = `trap 'echo heard; exit 3' ${signal.slice(3)}; echo ready; while :; do sleep 0.05; done`;
    const child = spawn(TACHO, ['run', '--no-report', '-o', 'rec', '--', 'sh', '-c', script], { cwd });
    let out = '';
    child.stdout.on('data', (bytes) => {
      out += bytes;
    });
    const gone = new Promise((done) => child.once('close', (...how) => done(how)));
    await eventually(
      () => `ready in: ${out}`,
      () => out.includes('ready'),
    );
    const node = nodeOf(child.pid!)!;
    process.kill(node, 'SIGKILL');
    await eventually('the end of Node', () => !fs.existsSync(`/proc/${node}`));
    child.kill(signal);
    assert.deepEqual([await gone, out], [[3, null], 'ready\nheard\n'], signal);
  }
});

test('whoever kills the guard kills the recorder, and the command goes on alone', { skip }, async (t) => {
  const cwd = temporaryFolder(t);
  const child = spawn(TACHO, ['run', '-o', 'rec', '--', 'sh', '-c', 'echo ready; sleep 1; echo done >done'], { cwd });
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  await eventually(
    () => `ready in: ${out}`,
    () => out.includes('ready'),
  );
  const node = nodeOf(child.pid!)!;
  child.kill('SIGKILL');
  await eventually('the end of Node', () => !fs.existsSync(`/proc/${node}`));
  await eventually('the end of the command', () => fs.existsSync(path.join(cwd, 'done')));
  assert.equal(JSON.parse(tacho(['report', 'rec', '--format', 'json'], { cwd }).out).job.state, 'unknown');
});

test('the guard takes little memory, and the command is not its Node’s child', { skip }, async (t) => {
  const cwd = temporaryFolder(t);
  const script = 'grep -h VmRSS /proc/$PPID/status; readlink /proc/$PPID/exe; cat /proc/$PPID/oom_score_adj';
  const { out } = tacho(['run', '--no-report', '-o', 'rec', '--', 'sh', '-c', script], { cwd });
  const [, rss, program] = /^VmRSS:\s+(\d+) kB\n(.*)\n0\n$/.exec(out)!;
  assert.match(program!, /native\/build\/launch$/);
  assert.ok(Number(rss) < 1536, `${rss} kB`);
});

test('what it took to install is no cost of recording', { skip }, () => {
  const launch = path.join(path.dirname(TACHO), 'native/build/launch');
  const show = 'const { TACHO_GUARD, TACHO_INSTALLED } = process.env; console.log(TACHO_GUARD, TACHO_INSTALLED)';
  // a launcher that used 0.3 s of CPU time for something before it became the guard
  const script = `
    ( set -- 0 0; until [ $(($1 + $2)) -ge 30 ]; do read -r stat </proc/self/stat; set -- \${stat##*)}; shift 11; done )
    if [ -n "$is_new" ]; then read -r TACHO_INSTALLED </proc/self/stat; export TACHO_INSTALLED; fi
    exec "$0" guard run 0 /bin/false "$@"`;
  const used = (is_new: string): number => {
    const env = { PATH: process.env.PATH, TACHO_OWN: '1 (sh) S 0 0 0 0 0 0 0 0 0 0 0 0 0 0', is_new };
    const done = spawnSync('sh', ['-c', script, launch, process.execPath, '-e', show], { env, encoding: 'utf8' });
    const [, microseconds, installed] = done.stdout.trim().split(' ');
    assert.equal(installed, 'undefined', done.stdout + done.stderr);
    return Number(microseconds) / 1e6;
  };
  assert.ok(used('') >= 0.29, `${used('')}`);
  assert.ok(used('1') < 0.1, `${used('1')}`);
});
