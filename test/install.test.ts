import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { IN_MEMORY } from './made/in-memory.ts';
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
  'du',
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
  const folder = temporaryFolder(t, IN_MEMORY);
  const checkout = path.join(folder, 'checkout');
  fs.mkdirSync(path.join(checkout, 'src/cli'), { recursive: true });
  for (const name of ['tacho', 'scripts', 'package.json', 'package-lock.json']) {
    fs.cpSync(path.join(HERE, name), path.join(checkout, name), { recursive: true });
  }
  fs.writeFileSync(path.join(checkout, 'src/cli/main.ts'), 'console.log("started", process.argv.slice(2).join(" "));');
  const bin = path.join(folder, 'bin');
  fs.mkdirSync(bin);
  for (const name of [...PROGRAMS, 'ln']) {
    const program = ['/usr/bin', '/bin']
      .map((binFolder) => path.join(binFolder, name))
      .find((file) => fs.existsSync(file));
    fs.symlinkSync(program!, path.join(bin, name));
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

test('what draws comes with the first picture, and with no other answer of scale', (t) => {
  const machine = clone(t, 'mkdir -p node_modules/.bin; ln -sf "$NODE" node_modules/.bin/node');
  const { file, env } = machine;
  const installs = (args: string): number => {
    spawnSync(file, args.split(' '), { env });
    return machine.calls().filter((call) => call.includes('--include=dev')).length;
  };
  assert.equal(installs('scale study'), 0);
  assert.equal(installs('scale study --format json'), 0);
  assert.equal(installs('scale run --cores 1,2 -- draw svg x'), 0);
  assert.ok(machine.calls().length > 0);
  for (const [i, args] of ['study --format svg', '-f svg study', 'study --format=svg', '-fsvg study'].entries()) {
    assert.ok(installs(`scale ${args}`) > i, args);
    fs.rmSync(path.join(machine.checkout, 'node_modules/.tacho-installed-dev'), { force: true });
  }
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
  const results = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const child = spawn(machine.file, ['hello', 'you'], { env: machine.env });
      const output = { out: '', err: '' };
      child.stdout.on('data', (chunk) => (output.out += chunk));
      child.stderr.on('data', (chunk) => (output.err += chunk));
      await once(child, 'close');
      return output;
    }),
  );
  assert.deepEqual(
    results.map(({ out }) => out),
    Array(8).fill('started hello you\n'),
    results.map(({ err }) => err).join(''),
  );
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

/** What a job's script gets: the command runs, and `start` lets it go on. */
const inJob = (
  machine: ReturnType<typeof clone>,
  ...args: string[]
): Promise<{ code: number; out: string; err: string }> => {
  // a group of its own: should it wait without an end, all of it ends
  const child = spawn(machine.file, args, { env: machine.env, cwd: '/', detached: true });
  const limit = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 60_000);
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  return once(child, 'close').then(([code]) => {
    clearTimeout(limit);
    return { code, out, err };
  });
};
const RUN = ['run', '--', 'sh', '-c', 'echo ran; exit 7'];

test('a lock without an owner, or that cannot be made, holds no job up', async (t) => {
  const [killed, full] = [clone(t), clone(t)];
  fs.mkdirSync(path.join(killed.checkout, '.cache/install.lock'), { recursive: true });
  fs.mkdirSync(path.join(full.checkout, '.cache'));
  fs.writeFileSync(path.join(full.checkout, '.cache/install.lock'), '');
  const [taken, refused] = await Promise.all([inJob(killed, 'hello'), inJob(full, ...RUN)]);
  assert.equal(taken.out, 'started hello\n', taken.err);
  assert.deepEqual([refused.code, refused.out], [7, 'ran\n'], refused.err);
  assert.match(
    refused.err,
    /^tacho: cannot install itself: .*install\.lock.*\ntacho: the command runs, but is not recorded/,
  );
});

test('a job does not wait for another installation without limit, nor again for the next mark', async (t) => {
  const machine = clone(t);
  const file = path.join(machine.checkout, 'scripts/install');
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('job_waits=60', 'job_waits=2'));
  const lock = path.join(machine.checkout, '.cache/install.lock');
  fs.mkdirSync(lock, { recursive: true });
  const host = spawnSync('uname', ['-n'], { encoding: 'utf8' }).stdout.trim();
  fs.writeFileSync(path.join(lock, 'owner'), `${host} ${process.pid}\n`);
  const first = await inJob(machine, ...RUN);
  assert.deepEqual([first.code, first.out], [7, 'ran\n'], first.err);
  assert.match(first.err, /waiting for another .*\ntacho: another process has been installing for more than 2 s\n/);
  const next = await inJob(machine, 'mark', 'begin', 'x');
  assert.deepEqual([next.code, next.out], [0, '']);
  assert.match(
    next.err,
    /^tacho: could not install itself a short while ago .*\ntacho: mark: Tacho could not install itself\n$/,
  );
  fs.rmSync(lock, { recursive: true });
  assert.equal(start(machine).stdout, 'started hello you\n', 'people may try again at once');
});

test('what could not be installed is not tried again by each line of a script', async (t) => {
  const machine = clone(t, 'echo "npm error network is down" >&2; exit 1');
  for (const verb of ['start', 'mark', 'stop']) assert.equal((await inJob(machine, verb)).code, 0);
  assert.equal(machine.calls().length, 1);
  const failed = path.join(machine.checkout, '.cache/install.failed');
  const before = new Date(Date.now() - 360_000);
  fs.utimesSync(failed, before, before);
  assert.match((await inJob(machine, 'start')).err, /network is down/);
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
  const result = start(clone(t, ''));
  assert.equal(result.status, 1);
  assert.match(result.stderr, /npm was not found\ntacho: install Node\.js 18 or newer/);
});

test('when npm fails, its words are shown and nothing counts as installed', (t) => {
  const machine = clone(t, 'echo "npm error network is down" >&2; exit 1');
  for (const _ of [1, 2]) {
    const result = start(machine);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /installing … failed\nnpm error network is down\ntacho: npm install failed/);
  }
  assert.equal(machine.calls().length, 2);
});

/** Why there can be no machine without a network here, or false. */
const whyNetwork =
  (process.getuid!() !== 0 || spawnSync('unshare', ['-n', 'true']).status !== 0) &&
  'needs root, to take the network away';
const whyNoNpm = spawnSync('npm', ['--version']).error !== undefined && 'needs npm';

test('without a network a first start says so in 20 s, and what to do instead', {
  skip: whyNetwork || whyNoNpm,
}, (t) => {
  const machine = clone(t, 'exec "$NPM" "$@"');
  const npm = spawnSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).stdout.trim();
  const env = { ...machine.env, PATH: `${machine.env.PATH}:${process.env.PATH}`, NPM: npm };
  const result = spawnSync('unshare', ['-n', machine.file, 'start'], { env, encoding: 'utf8', timeout: 20_000 });
  assert.equal(result.status, 0, result.stderr);
  assert.match(
    result.stderr,
    /^tacho: first use, installing …[ \ds…]* failed\ntacho: cannot install itself: the npm registry cannot be reached from here\ntacho: where there is no network use a release, .*docs\/install\.md/,
  );
  // what other machines need was not asked for: each would be tried again and again
  const log = fs.readFileSync(path.join(machine.checkout, '.cache/install.log'), 'utf8');
  assert.doesNotMatch(log, /darwin|win32|android/);
});

test('a registry that says nothing, or no more, is not waited for; one that sends may take its time', async (t) => {
  const registryAnswers = 'echo "npm http fetch GET 200 https://registry/zod 1s" >&2';
  const grows = 'for each in 1 2 3 4 5 6; do head -c 99999 /dev/zero >node_modules/.bin/$each; sleep 3; done';
  const install = `mkdir -p node_modules/.bin; ${grows}; ln -s "$NODE" node_modules/.bin/node`;
  const machines = ['exec sleep 1000', `${registryAnswers}; exec sleep 1000`, `${registryAnswers}; ${install}`].map(
    (npm) => clone(t, npm),
  );
  for (const { env } of machines) {
    fs.symlinkSync('/usr/bin/head', path.join(env.PATH, 'head'));
    Object.assign(env, { SLURM_JOB_ID: '4711' });
  }
  const [silent, stopped, slow] = await Promise.all(machines.map((machine) => inJob(machine, 'hello')));
  for (const { code, err } of [silent!, stopped!]) {
    assert.equal(code, 1);
    assert.match(err, /installing … 10 s … failed\ntacho: cannot install itself: the npm registry cannot be reached/);
  }
  assert.equal(slow!.out, 'started hello\n', slow!.err);
});

test('outside a job a registry that is slow to answer is waited for', async (t) => {
  const slow = 'sleep 4; mkdir -p node_modules/.bin; ln -s "$NODE" node_modules/.bin/node';
  const [person, job] = [clone(t, slow), clone(t, slow)];
  for (const { checkout } of [person, job]) {
    const file = path.join(checkout, 'scripts/install');
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('first_answer=17', 'first_answer=1'));
  }
  Object.assign(job.env, { SLURM_JOB_ID: '4711' });
  const [waited, gaveUp] = await Promise.all([inJob(person, 'hello'), inJob(job, 'hello')]);
  assert.equal(waited.out, 'started hello\n', waited.err);
  assert.match(gaveUp.err, /the npm registry cannot be reached/);
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
  const result = tryOut();
  if (/EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ETIMEDOUT/.test(result.stderr)) return t.skip('needs the npm registry');
  assert.equal(result.status, 0, result.stderr);
  // where nothing was installed nothing says that it was, also not beside packages of another time
  assert.ok(!fs.existsSync(path.join(folder, 'node_modules')));
  fs.mkdirSync(path.join(folder, 'node_modules/commander'), { recursive: true });
  assert.equal(tryOut().status, 0);
  assert.ok(!fs.existsSync(path.join(folder, 'node_modules/.tacho-installed')));
});

test('packages for development count once all of them are there', (t) => {
  const machine = clone(t, 'mkdir -p node_modules/.bin; ln -sf "$NODE" node_modules/.bin/node');
  const install = (...args: string[]) =>
    spawnSync('sh', [path.join(machine.checkout, 'scripts/install'), ...args], { env: machine.env, encoding: 'utf8' });
  assert.equal(install().status, 0);
  // another installation was killed when it had come to this one
  fs.mkdirSync(path.join(machine.checkout, 'node_modules/typescript'));
  for (let i = 0; i < 2; i++) assert.equal(install('--dev').status, 0);
  assert.deepEqual(
    machine.calls().map((call) => /--(omit|include)=dev/.exec(call)![0]),
    ['--omit=dev', '--include=dev'],
  );
  assert.equal(start(machine).stdout, 'started hello you\n');
});

test('an install by hand counts, once its packages are there', (t) => {
  const folder = temporaryFolder(t);
  fs.writeFileSync(path.join(folder, 'package-lock.json'), '{}');
  const { scripts } = JSON.parse(fs.readFileSync(path.join(HERE, 'package.json'), 'utf8'));
  const mark = path.join(folder, 'node_modules/.tacho-installed');
  const devMark = `${mark}-dev`;
  const after = () => spawnSync('sh', ['-c', scripts.postinstall], { cwd: folder, env: { PATH: process.env.PATH } });
  fs.mkdirSync(path.join(folder, 'node_modules'));
  assert.equal(after().status, 0);
  assert.ok(!fs.existsSync(mark));
  fs.mkdirSync(path.join(folder, 'node_modules/commander'));
  assert.equal(after().status, 0);
  assert.equal(fs.readFileSync(mark, 'utf8'), '{}');
  assert.ok(!fs.existsSync(devMark));
  fs.mkdirSync(path.join(folder, 'node_modules/typescript'));
  assert.equal(after().status, 0);
  assert.equal(fs.readFileSync(devMark, 'utf8'), '{}');
});

test('a checkout of somebody else says who has to install', (t) => {
  const machine = clone(t);
  const folder = path.dirname(machine.checkout);
  for (const each of [folder, machine.checkout]) fs.chmodSync(each, 0o555);
  // root may write everywhere: then it is nobody who tries
  const who = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const result = spawnSync(machine.file, { env: machine.env, cwd: '/', encoding: 'utf8', ...who });
  for (const each of [folder, machine.checkout]) fs.chmodSync(each, 0o755);
  assert.equal(result.status, 1);
  assert.match(result.stderr, /is not writable\ntacho: ask its owner to run \.\/tacho --version there once/);
});
