import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from './tacho.ts';

const HERE = path.join(import.meta.dirname, '..');
/** Programs that a bare machine has. */
const PROGRAMS = [
  'sh',
  'cat',
  'cmp',
  'cp',
  'date',
  'dirname',
  'find',
  'mkdir',
  'mv',
  'readlink',
  'rm',
  'sleep',
  'tail',
  'touch',
  'uname',
];

/** A fresh clone, and a machine whose npm is a stand-in that takes a while and says how often it was called. */
function clone(t: TestContext, npm = 'sleep 1; mkdir -p node_modules/.bin; ln -s "$NODE" node_modules/.bin/node') {
  const folder = temporaryFolder(t);
  const checkout = path.join(folder, 'checkout');
  fs.mkdirSync(path.join(checkout, 'src/cli'), { recursive: true });
  for (const name of ['tacho', 'scripts', 'package.json', 'package-lock.json']) {
    fs.cpSync(path.join(HERE, name), path.join(checkout, name), { recursive: true });
  }
  fs.writeFileSync(path.join(checkout, 'src/cli/main.ts'), 'console.log("started", process.argv.slice(2).join(" "));');
  const bin = path.join(folder, 'bin');
  fs.mkdirSync(bin);
  for (const name of [...PROGRAMS, 'ln']) {
    const found = ['/usr/bin', '/bin'].map((place) => path.join(place, name)).find((file) => fs.existsSync(file));
    fs.symlinkSync(found!, path.join(bin, name));
  }
  const calls = path.join(folder, 'calls');
  if (npm !== '')
    fs.writeFileSync(path.join(bin, 'npm'), `#!/bin/sh\necho called "$@" >> "${calls}"\n${npm}\n`, { mode: 0o755 });
  return {
    checkout,
    env: { PATH: bin, HOME: folder, NODE: process.execPath },
    file: path.join(checkout, 'tacho'),
    calls: () => (fs.existsSync(calls) ? fs.readFileSync(calls, 'utf8').trimEnd().split('\n') : []),
  };
}

const start = ({ file, env }: ReturnType<typeof clone>, cwd = '/'): SpawnSyncReturns<string> =>
  spawnSync(file, ['hello', 'you'], { env, cwd, encoding: 'utf8' });

test('the first use installs, with one line of progress; the next ones do not', (t) => {
  const machine = clone(t);
  const first = start(machine);
  assert.equal(first.stdout, 'started hello you\n', first.stderr);
  assert.match(first.stderr, /^tacho: first use, installing … done \(\d+ s\)\n$/);
  const second = start(machine);
  assert.deepEqual([second.stdout, second.stderr], ['started hello you\n', '']);
  assert.equal(machine.calls().length, 1);
  assert.match(machine.calls()[0]!, /--omit=dev/);
});

test('it starts through links and by a relative path', (t) => {
  const machine = clone(t);
  start(machine);
  const folder = path.dirname(machine.checkout);
  fs.symlinkSync('checkout/tacho', path.join(folder, 'near'));
  fs.symlinkSync(path.join(folder, 'near'), path.join(folder, 'far'));
  for (const file of ['./near', path.join(folder, 'far'), 'checkout/tacho']) {
    assert.equal(start({ ...machine, file }, folder).stdout, 'started hello you\n', file);
  }
});

test('several that start at once install once', async (t) => {
  const machine = clone(t);
  const answers = await Promise.all(
    [1, 2, 3].map(async () => {
      const child = spawn(machine.file, ['hello', 'you'], { env: machine.env });
      let out = '';
      child.stdout.on('data', (chunk) => {
        out += chunk;
      });
      await once(child, 'close');
      return out;
    }),
  );
  assert.deepEqual(answers, Array(3).fill('started hello you\n'));
  assert.equal(machine.calls().length, 1);
});

test('a lock whose owner has died is taken over', (t) => {
  const machine = clone(t);
  const lock = path.join(machine.checkout, '.cache/install.lock');
  fs.mkdirSync(lock, { recursive: true });
  const host = spawnSync('uname', ['-n'], { encoding: 'utf8' }).stdout.trim();
  const dead = spawnSync('true').pid;
  fs.writeFileSync(path.join(lock, 'owner'), `${host} ${dead}\n`);
  assert.equal(start(machine).stdout, 'started hello you\n');
  assert.equal(fs.existsSync(lock), false);
});

test('another package-lock.json installs again', (t) => {
  const machine = clone(t);
  start(machine);
  const file = path.join(machine.checkout, 'package-lock.json');
  const soon = new Date(Date.now() + 5000);
  fs.utimesSync(file, soon, soon);
  start(machine);
  assert.equal(machine.calls().length, 1, 'only its time changed');
  fs.appendFileSync(file, '\n');
  fs.utimesSync(file, new Date(Date.now() + 9000), new Date(Date.now() + 9000));
  fs.rmSync(path.join(machine.checkout, 'node_modules/.bin'), { recursive: true });
  assert.equal(start(machine).stdout, 'started hello you\n');
  assert.equal(machine.calls().length, 2);
});

test('without npm it says what to do', (t) => {
  const answer = start(clone(t, ''));
  assert.equal(answer.status, 1);
  assert.match(answer.stderr, /npm was not found\ntacho: install Node\.js 18 or newer/);
});

test('when npm fails, its words are shown and nothing counts as installed', (t) => {
  const machine = clone(t, 'echo "npm error network is down" >&2; exit 1');
  for (const _ of [1, 2]) {
    const answer = start(machine);
    assert.equal(answer.status, 1);
    assert.match(answer.stderr, /installing … failed\nnpm error network is down\ntacho: npm install failed/);
  }
  assert.equal(machine.calls().length, 2);
});

/** Why there can be no machine without a network here, or false. */
const whyNetwork =
  (process.getuid!() !== 0 || spawnSync('unshare', ['-n', 'true']).status !== 0) &&
  'needs root, to take the network away';
const whyNoNpm = spawnSync('npm', ['--version']).error !== undefined && 'needs npm';

test('without a network it says so soon, and what to do instead', { skip: whyNetwork || whyNoNpm }, (t) => {
  const machine = clone(t, 'exec "$NPM" "$@"');
  const npm = spawnSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).stdout.trim();
  const env = { ...machine.env, PATH: `${machine.env.PATH}:${process.env.PATH}`, NPM: npm };
  const answer = spawnSync('unshare', ['-n', machine.file, 'hello'], { env, encoding: 'utf8', timeout: 120_000 });
  assert.equal(answer.status, 1, answer.stderr);
  assert.match(
    answer.stderr,
    /^tacho: first use, installing …[ \ds…]* failed\ntacho: cannot install itself: the npm registry cannot be reached from here\ntacho: where there is no network use a release, .*docs\/install\.md/,
  );
  // what other machines need was not asked for: each would be tried again and again
  const log = fs.readFileSync(path.join(machine.checkout, '.cache/install.log'), 'utf8');
  assert.doesNotMatch(log, /darwin|win32|android/);
});

test('a registry that says nothing is not waited for', (t) => {
  const machine = clone(t, 'exec sleep 1000');
  const answer = start(machine);
  assert.equal(answer.status, 1);
  assert.match(
    answer.stderr,
    /installing … 10 s … failed\ntacho: cannot install itself: the npm registry cannot be reached/,
  );
});

test('one that answers may take its time', (t) => {
  const install = 'mkdir -p node_modules/.bin; ln -s "$NODE" node_modules/.bin/node';
  const machine = clone(t, `echo "npm http fetch GET 200 https://registry/zod 1s" >&2; sleep 17; ${install}`);
  assert.equal(start(machine).stdout, 'started hello you\n');
});

test('the lock file is complete, and names no registry', { skip: whyNoNpm }, (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['package.json', 'package-lock.json'])
    fs.copyFileSync(path.join(HERE, name), path.join(folder, name));
  const text = fs.readFileSync(path.join(folder, 'package-lock.json'), 'utf8');
  assert.doesNotMatch(text, /"resolved"/);
  const tryOut = () =>
    spawnSync('npm', ['ci', '--dry-run', '--no-audit', '--fetch-retries=0'], {
      cwd: folder,
      env: { ...process.env, HOME: folder },
      encoding: 'utf8',
    });
  const answer = tryOut();
  if (/EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ETIMEDOUT/.test(answer.stderr)) return t.skip('needs the npm registry');
  assert.equal(answer.status, 0, answer.stderr);
  // where nothing was installed nothing says that it was, also not beside packages of another time
  assert.ok(!fs.existsSync(path.join(folder, 'node_modules')));
  fs.mkdirSync(path.join(folder, 'node_modules/commander'), { recursive: true });
  assert.equal(tryOut().status, 0);
  assert.ok(!fs.existsSync(path.join(folder, 'node_modules/.tacho-installed')));
});

test('an install by hand counts, once its packages are there', (t) => {
  const folder = temporaryFolder(t);
  fs.writeFileSync(path.join(folder, 'package-lock.json'), '{}');
  const { scripts } = JSON.parse(fs.readFileSync(path.join(HERE, 'package.json'), 'utf8'));
  const mark = path.join(folder, 'node_modules/.tacho-installed');
  const after = () => spawnSync('sh', ['-c', scripts.postinstall], { cwd: folder, env: { PATH: process.env.PATH } });
  fs.mkdirSync(path.join(folder, 'node_modules'));
  assert.equal(after().status, 0);
  assert.ok(!fs.existsSync(mark));
  fs.mkdirSync(path.join(folder, 'node_modules/commander'));
  assert.equal(after().status, 0);
  assert.equal(fs.readFileSync(mark, 'utf8'), '{}');
});

test('a checkout of somebody else says who has to install', (t) => {
  const machine = clone(t);
  const folder = path.dirname(machine.checkout);
  for (const each of [folder, machine.checkout]) fs.chmodSync(each, 0o555);
  // root may write everywhere: then it is nobody who tries
  const who = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const answer = spawnSync(machine.file, { env: machine.env, cwd: '/', encoding: 'utf8', ...who });
  for (const each of [folder, machine.checkout]) fs.chmodSync(each, 0o755);
  assert.equal(answer.status, 1);
  assert.match(answer.stderr, /is not writable\ntacho: ask its owner to run \.\/tacho --version there once/);
});
