import assert from 'node:assert/strict';
import { type SpawnSyncOptionsWithStringEncoding, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../made/eventually.ts';
import { makeRecording, temporary } from '../make-recording.ts';
import { IS_RELEASE, TACHO, tacho } from '../tacho.ts';
import { type Forking, forkingServer } from './start.ts';

/** A fork of the program answers as the program does that is started. */

const noCompiler = spawnSync('cc', ['--version']).error !== undefined && 'needs a C compiler';
const root = path.dirname(TACHO);
const bundled = IS_RELEASE
  ? ([path.join(root, 'bin/node'), path.join(root, 'lib/start.cjs')] as const)
  : ([path.join(root, 'node_modules/.bin/node'), path.join(root, 'node_modules/.tacho/start.cjs')] as const);

describe('a forked program', { skip: noCompiler }, () => {
  let forking: Forking;
  let folder: string;
  const forked = (args: readonly string[], options: Partial<SpawnSyncOptionsWithStringEncoding> = {}) => {
    const [program, socket] = forking.client.split(' ');
    const done = spawnSync(program!, [socket!, ...args], { encoding: 'utf8', timeout: 60_000, ...options });
    return { code: done.status, signal: done.signal, out: done.stdout, err: done.stderr };
  };
  before(async () => {
    // the first start of a checkout makes the bundles
    assert.equal(tacho(['--version']).code, 0);
    folder = temporary();
    await makeRecording({ folder: path.join(folder, 'one'), seconds: 5 });
    forking = (await forkingServer(temporary(), bundled, (start) => start(process.env)))!;
    assert.ok(forking);
  });
  after(() => forking?.server.kill('SIGKILL'));

  const { FORKED_UNDER_TEST: _, ...env } = process.env;
  const cases: [what: string, args: string[], options?: Partial<SpawnSyncOptionsWithStringEncoding>][] = [
    ['a table', ['list'], {}],
    ['another time zone', ['list'], { env: { ...env, TZ: 'Asia/Kolkata' } }],
    ['no time zone', ['list'], { env: { PATH: env.PATH, HOME: '/nonexistent' } }],
    ['an export, which is a part of the program', ['export', 'one', '--table', 'load'], {}],
    ['letters of all kinds', ['report', 'no such recording: ü€😀\n', ''], {}],
    ['a setting of the environment', ['list'], { env: { ...env, TACHO_RECORDINGS: '/nowhere' } }],
    ['an error', ['report', 'nope'], {}],
    ['wrong use', ['report', '--nope'], {}],
    ['standard input', ['report', '-'], { input: 'nothing' }],
  ];
  for (const [what, args, options] of cases) {
    test(what, () => {
      assert.deepEqual(forked(args, { cwd: folder, ...options }), tacho(args, { cwd: folder, ...options }));
    });
  }

  test('is not touched by the one before: variables, folder, umask', () => {
    const cwd = temporary();
    forked(['list'], { cwd: folder, env: { ...env, TZ: 'Asia/Kolkata', TACHO_RECORDINGS: folder } });
    const command = 'umask 077; exec "$@" export one --table load -o';
    for (const [name, program] of [['started', TACHO] as const, ['forked', forking.client] as const]) {
      const args = ['-c', `${command} ${path.join(cwd, name)}`, 'sh', ...program.split(' ')];
      const made = spawnSync('sh', args, { cwd: folder, encoding: 'utf8' });
      assert.equal(made.status, 0, made.stderr);
      const [file] = fs.globSync(`${cwd}/${name}/**/*.csv`);
      assert.equal(fs.statSync(file!).mode & 0o777, 0o600, name);
    }
    assert.match(forked(['list'], { cwd: folder, env: { ...env, TZ: 'UTC' } }).out, / UTC .* one\n/);
  });

  test('ends when who asked for it is ended', async () => {
    const children = (): string =>
      fs.readFileSync(`/proc/${forking.server.pid}/task/${forking.server.pid}/children`, 'utf8').trim();
    const [program, socket] = forking.client.split(' ');
    const child = spawn(program!, [socket!, 'demo', '-o', path.join(temporary(), 'long'), '--hours', '24']);
    await eventually('a fork', () => children() !== '');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await eventually('its end', () => children() === '');
  });
});
