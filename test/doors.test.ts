import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { NODE_VARIABLES } from '../src/base/own-node.ts';
import { APPLICATION_SIGNALS, PAUSE_SIGNALS } from '../src/base/signals.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { issue, makeAuthority, whyNoCertificates } from './hub/certificates.ts';
import { eventually } from './made/eventually.ts';
import { IS_RELEASE, TACHO, tacho, temporaryFolder } from './tacho.ts';

const HERE = path.join(import.meta.dirname, '..');

const exists = (pid: number): boolean => fs.existsSync(`/proc/${pid}`);
const stateOf = (pid: number): string => /\) (\S)/.exec(fs.readFileSync(`/proc/${pid}/stat`, 'latin1'))![1]!;

/** Processes that one has started. */
function childrenOf(pid: number): number[] {
  const ofThread = (thread: string) => fs.readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').trim();
  return fs
    .readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => ofThread(thread).split(' ').filter(Boolean).map(Number));
}

/** The ports at which a process listens. */
function listening(pid: number): string[] {
  const sockets = new Set(
    fs.readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return [];
      }
    }),
  );
  return ['tcp', 'tcp6'].flatMap((name) =>
    fs
      .readFileSync(`/proc/net/${name}`, 'latin1')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((args) => args[3] === '0A' && sockets.has(args[9] ?? ''))
      .map((args) => args[1]!),
  );
}

/** An agent as `tacho start` starts it, with a source of the user's in a process of its own. */
async function startAgent(
  t: TestContext,
): Promise<{ folder: string; pid: number; isolated: number; ended: Promise<unknown> }> {
  const cwd = temporaryFolder(t);
  fs.writeFileSync(path.join(cwd, 'tacho.toml'), '[[source]]\nname = "one"\ncommand = "echo one 1"\n');
  fs.mkdirSync(path.join(cwd, 'r'));
  fs.writeFileSync(
    path.join(cwd, 'r/job.json'),
    JSON.stringify({
      format: 1,
      tacho: '0',
      id: '1',
      name: 'x',
      scheduler: 'none',
      user: 'x',
      uid: 0,
      nodes: ['c1'],
      command: [],
      tags: {},
      interval_seconds: 0.1,
      start: Date.now() * 1000,
      state: 'running',
    }),
  );
  const child = spawn(TACHO, ['agent', '--recording', 'r', '--node', 'c1', '--interval', '0.1'], {
    cwd,
    stdio: ['ignore', fs.openSync(path.join(cwd, 'log'), 'a'), fs.openSync(path.join(cwd, 'log'), 'a')],
    env: { PATH: process.env.PATH, HOME: cwd, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME },
  });
  t.after(() => child.kill('SIGKILL'));
  const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code)));
  const folder = path.join(cwd, 'r/node=c1');
  await eventually('the first samples', () => fs.existsSync(path.join(folder, 'one.csv')));
  const [isolated] = childrenOf(child.pid!).filter((each) => fs.readlinkSync(`/proc/${each}/exe`).includes('node'));
  return { folder: cwd, pid: child.pid!, isolated: isolated!, ended };
}

test('signals for the application do nothing to an agent in its job, and open no debugger', async (t) => {
  const { folder, pid, isolated, ended } = await startAgent(t);
  for (const process_ of [pid, isolated]) {
    for (const signal of [
      ...APPLICATION_SIGNALS,
      ...PAUSE_SIGNALS,
      'SIGINT',
      'SIGHUP',
      'SIGQUIT',
      'SIGXCPU',
      'SIGCONT',
    ] as const) {
      process.kill(process_, signal);
    }
    // SIGXFSZ, and of those that only an application knows some
    for (const number of [25, 34, 40, 64]) process.kill(process_, number);
  }
  const file = path.join(folder, 'r/node=c1/loadavg.csv');
  const before = fs.statSync(file).size;
  await eventually('samples go on', () => fs.statSync(file).size > before);
  for (const each of [pid, isolated]) {
    assert.ok(exists(each));
    assert.notEqual(stateOf(each), 'T');
    assert.deepEqual(listening(each), []);
  }
  process.kill(pid, 'SIGTERM');
  assert.equal(await ended, 0);
  assert.doesNotMatch(fs.readFileSync(path.join(folder, 'log'), 'utf8'), /Debugger/);
  assert.equal(openRecording(path.join(folder, 'r')).nodes[0]!.agent!.end_reason, 'SIGTERM');
});

test('SIGUSR1 opens no debugger in a hub', async (t) => {
  const archive = temporaryFolder(t);
  const child = spawn(TACHO, ['hub', '--archive', archive, '--listen', '127.0.0.1:0'], {
    env: { PATH: process.env.PATH, HOME: archive, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME },
  });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  await eventually('the hub listens', () => listening(child.pid!).length === 1);
  const before = listening(child.pid!);
  for (const signal of ['SIGUSR1', ...APPLICATION_SIGNALS] as const) {
    child.kill(signal);
    await pause(20);
  }
  assert.deepEqual(listening(child.pid!), before);
  assert.doesNotMatch(output, /Debugger/);
  child.kill('SIGTERM');
  await new Promise((resolve) => child.on('exit', resolve));
});

test("what decides the code that the job's Node loads decides nothing in Tacho's", async (t) => {
  const cwd = temporaryFolder(t);
  const evil = path.join(cwd, 'evil.cjs');
  fs.writeFileSync(
    evil,
    `require('fs').appendFileSync(${JSON.stringify(path.join(cwd, 'loaded'))}, process.argv.join(' ') + '\\n');`,
  );
  const environment = Object.fromEntries(NODE_VARIABLES.map((name) => [name, `${name} is set`]));
  delete environment.NODE_CHANNEL_FD;
  delete environment.NODE_V8_COVERAGE;
  Object.assign(environment, {
    NODE_OPTIONS: `--require ${evil}`,
    NODE_PATH: cwd,
    OPENSSL_CONF: path.join(cwd, 'none'),
  });
  const env = { PATH: process.env.PATH, HOME: cwd, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME, ...environment };
  fs.writeFileSync(path.join(cwd, 'tacho.toml'), '[[source]]\nname = "one"\ncommand = "echo one 1"\n');
  assert.equal(tacho(['--version'], { cwd, env }).code, 0);
  const recorded = tacho(['run', '--no-report', '-o', 'r', '--', 'env'], { cwd, env });
  assert.equal(recorded.code, 0, recorded.err);
  assert.equal(tacho(['report', 'r'], { cwd, env }).code, 0);
  assert.equal(fs.existsSync(path.join(cwd, 'loaded')), false, 'code of the environment was loaded');
  // the job's own environment is as it was
  const theirs = recorded.out.split('\n').filter((line) => /^(NODE|OPENSSL)_/.test(line));
  assert.deepEqual(
    theirs.sort(),
    Object.entries(environment)
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
  );
  assert.doesNotMatch(recorded.out, /TACHO_ASIDE/);
});

test('the environment makes the job’s Node trust anybody, and Tacho nobody but the authority that it names', {
  skip: whyNoCertificates(),
}, async (t) => {
  const cwd = temporaryFolder(t);
  const authority = makeAuthority(cwd, 'own');
  const { key, certificate } = issue(cwd, 'own', 'IP:127.0.0.1');
  let requests = 0;
  const server = createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(certificate) }, (_, response) => {
    requests++;
    response.end('{"status":"success","data":[]}');
  });
  t.after(() => server.close());
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  const { port } = server.address() as AddressInfo;
  /** How many requests come through, and what is said. */
  async function ask(env: Record<string, string>): Promise<[number, string]> {
    requests = 0;
    const child = spawn(TACHO, ['report', '--store', `https://127.0.0.1:${port}`, '1'], {
      env: { PATH: process.env.PATH, HOME: cwd, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME, ...env },
      timeout: 60_000,
    });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    await new Promise((resolve) => child.on('close', resolve));
    return [requests, output.replaceAll(/\s+/g, ' ')];
  }
  for (const [count, output] of [await ask({}), await ask({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })]) {
    assert.equal(count, 0);
    assert.match(output, /cannot reach the store .*certificate/);
  }
  const env = { NODE_EXTRA_CA_CERTS: authority };
  assert.equal((await ask(env))[0], 1);
  if (process.getuid!() !== 0) return;
  fs.chownSync(authority, 65534, 65534);
  const [count, output] = await ask(env);
  assert.equal(count, 0);
  assert.match(output, /NODE_EXTRA_CA_CERTS is not used: .* is not root's alone/);
});

test('the launcher puts aside what src/base/own-node.ts names', () => {
  const shared = fs.readFileSync(path.join(HERE, 'scripts/start-node'), 'utf8');
  const [, names] = /^node_variables='([^']*)'$/m.exec(shared)!;
  assert.deepEqual(names!.split(/\s+/), [...NODE_VARIABLES]);
  const text = fs.readFileSync(path.join(HERE, 'tacho'), 'utf8');
  assert.match(text, /^\. "\$here\/\w+\/start-node"$/m);
  assert.match(text, /^prepare_node "\$@"$/m);
  assert.match(text, /^exec_node \S+ "\$node" --disable-sigusr1 /m);
});

test('signals for the application do nothing to an agent or a hub before its Node is there, either', (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['bin', 'lib', 'scripts']) fs.mkdirSync(path.join(folder, name));
  fs.copyFileSync(path.join(HERE, 'tacho'), path.join(folder, 'tacho'));
  // the launcher gets them where it has begun, and its Node says that it came that far
  const shared = fs.readFileSync(path.join(HERE, 'scripts/start-node'), 'utf8');
  fs.writeFileSync(path.join(folder, 'scripts/start-node'), `${shared}\nkill -USR1 $$; kill -USR2 $$\n`);
  fs.writeFileSync(path.join(folder, 'bin/node'), '#!/bin/sh\necho began\n', { mode: 0o755 });
  const begin = (verb: string) => spawnSync('sh', [path.join(folder, 'tacho'), verb], { encoding: 'utf8' });
  assert.deepEqual(
    ['agent', 'hub', 'list'].map((verb) => begin(verb).stdout),
    ['began\n', 'began\n', ''],
  );
});

test('root takes no compiled code from the home of somebody else', {
  skip: IS_RELEASE ? 'a release has its compiled code beside it' : process.getuid?.() === 0 ? false : 'needs root',
}, (t) => {
  const home = temporaryFolder(t);
  fs.chownSync(home, 65534, 65534);
  // with TACHO_DEBUG the TypeScript is run as it is, as where there are no bundles
  const env = { PATH: process.env.PATH, HOME: home, TACHO_DEBUG: '1' };
  assert.equal(spawnSync(TACHO, ['--version'], { env }).status, 0);
  assert.deepEqual(fs.readdirSync(home), []);
  // nor is a home made that is not there
  const none = path.join(home, 'none');
  assert.equal(spawnSync(TACHO, ['--version'], { env: { ...env, HOME: none } }).status, 0);
  assert.equal(fs.existsSync(none), false);
  fs.chownSync(home, 0, 0);
  assert.equal(spawnSync(TACHO, ['--version'], { env }).status, 0);
  assert.deepEqual(fs.readdirSync(home), ['.cache']);
  // somebody else's folder further down, or one where everybody may make some
  for (const [folder, mode] of [
    ['tacho', 0o700],
    ['.', 0o1777],
  ] as const) {
    const cache = path.join(home, `cache-${mode}`);
    fs.mkdirSync(path.join(cache, 'tacho'), { recursive: true });
    fs.chmodSync(path.join(cache, folder), mode);
    if (folder === 'tacho') fs.chownSync(path.join(cache, folder), 65534, 65534);
    assert.equal(spawnSync(TACHO, ['--version'], { env: { ...env, XDG_CACHE_HOME: cache } }).status, 0);
    assert.deepEqual(fs.readdirSync(path.join(cache, 'tacho')), []);
  }
});
