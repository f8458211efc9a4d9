import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { VERSION } from '../src/base/version.ts';
import { IN_MEMORY } from './made/in-memory.ts';
import { MemoryCgroup, whyNoMemoryCgroup } from './memory-cgroup.ts';
import { temporaryFolder } from './tacho.ts';

const HERE = path.join(import.meta.dirname, '..');
const NOBODY = 65_534;
const isRoot = process.getuid!() === 0;

/** A program that says which file Node runs, and then what `edit` gave it to say. */
const SMALL = `import { relative } from 'node:path';
process.stdout.write(relative(process.argv[3] ?? '', process.argv[1]!));
process.stdout.write(' first');
`;

/**
 * A clone in which everything is installed but the package that `without` names, and nothing has been started yet.
 * `development`: also with what the first start leaves out, which takes twice as long to bundle.
 */
function clone(t: TestContext, { without = 'none', program = SMALL, development = false }: CloneOptions = {}) {
  const home = temporaryFolder(t, IN_MEMORY);
  fs.chmodSync(home, 0o755);
  const folder = path.join(home, 'checkout');
  const files = ['tacho', 'scripts', 'package.json', 'package-lock.json'];
  for (const name of [...files, ...(program === '' ? ['src'] : ['src/base/version.ts', 'src/base/own-code.ts'])])
    fs.cpSync(path.join(HERE, name), path.join(folder, name), { recursive: true });
  const main = path.join(folder, 'src/cli/main.ts');
  if (program !== '') {
    fs.mkdirSync(path.dirname(main));
    fs.writeFileSync(main, program);
    // the other file that a bundle begins with
    fs.writeFileSync(path.join(path.dirname(main), 'stop-finish.ts'), '');
  }
  const packages = path.join(folder, 'node_modules');
  fs.mkdirSync(packages);
  for (const name of development ? fs.readdirSync(path.join(HERE, 'node_modules')) : neededPackages())
    if (!name.startsWith('.') && name !== without) {
      fs.mkdirSync(path.dirname(path.join(packages, name)), { recursive: true });
      fs.symlinkSync(path.join(HERE, 'node_modules', name), path.join(packages, name));
    }
  fs.mkdirSync(path.join(packages, '.bin'));
  fs.symlinkSync(process.execPath, path.join(packages, '.bin/node'));
  fs.copyFileSync(path.join(folder, 'package-lock.json'), path.join(packages, '.tacho-installed'));
  const file = path.join(folder, 'tacho');
  const env = { PATH: process.env.PATH, HOME: home };
  /** Where the bundles go. */
  const bundles = path.join(packages, '.tacho');
  const call = (args: readonly string[], options: Who = {}): string => {
    const done = spawnSync(args[0]!, args.slice(1), {
      cwd: home,
      env,
      encoding: 'utf8',
      timeout: 300_000,
      ...options,
    });
    return done.status === 0 ? done.stdout.trimEnd() : `exit code ${done.status}: ${done.stderr}`;
  };
  return {
    folder,
    home,
    file,
    env,
    main,
    bundles,
    call,
    /** What the small program says. */
    say: (options: Who = {}): string => call([file, 'look', folder], options),
    edit(text: string, when?: Date): void {
      fs.writeFileSync(main, SMALL.replace("' first'", text));
      if (when !== undefined) fs.utimesSync(main, when, when);
    },
    /** Has it say what a module exports. */
    editImport(name: string, module: string): void {
      fs.writeFileSync(main, `import { ${name} } from '${module}';\n${SMALL.replace("' first'", name)}`);
    },
  };
}

interface CloneOptions {
  without?: string;
  program?: string;
  development?: boolean;
}

/** The packages that the first start installs. */
function neededPackages(): string[] {
  const { packages } = JSON.parse(fs.readFileSync(path.join(HERE, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  return Object.entries(packages)
    .filter(([place, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(place) && dev !== true)
    .map(([place]) => place.slice('node_modules/'.length))
    .filter((name) => fs.existsSync(path.join(HERE, 'node_modules', name)));
}

interface Who {
  uid?: number;
  gid?: number;
}

const BUNDLED = 'node_modules/.tacho/start.cjs';
const AS_IT_IS = 'src/cli/main.ts';

test('what the first start installs is enough for bundles, without a network; V8 takes what it compiled before', (t) => {
  const { bundles, call, file, folder } = clone(t, { program: '' });
  assert.equal(fs.existsSync(path.join(folder, 'node_modules/echarts')), false);
  const hasNoNetwork = isRoot && spawnSync('unshare', ['-n', 'true']).status === 0;
  assert.equal(call([...(hasNoNetwork ? ['unshare', '-n'] : []), file, '--version']), VERSION);
  call(['sh', path.join(folder, 'scripts/bundle-checkout')]);
  const log = path.join(bundles, 'log');
  assert.equal(fs.existsSync(log) ? fs.readFileSync(log, 'utf8') : '', '');
  assert.ok(fs.existsSync(path.join(bundles, 'run.cjs')));
  const look = (): string[] =>
    call([file, 'run', '--no-report', '--', 'sh', '-c', 'cat /proc/$PPID/cmdline']).split('\0');
  const started = path.join(folder, BUNDLED);
  assert.ok(look().includes(started));
  const compiled = path.join(bundles, 'run.run.compiled');
  const { ino } = fs.statSync(compiled);
  assert.ok(look().includes(started));
  assert.equal(fs.statSync(compiled).ino, ino, 'code that it refuses would be written again');
  const program = path.join(bundles, 'run.cjs');
  const before = fs.readFileSync(program, 'latin1');
  fs.writeFileSync(program, before.replace(/.{16}$/, '0'.repeat(16)));
  assert.ok(look().includes(started));
  assert.notEqual(fs.statSync(compiled).ino, ino, 'that of another bundle of the same length is not taken');
  assert.deepEqual(
    fs.readdirSync(bundles).filter((name) => /^(lock|new|failed|log)|\d$/.test(name)),
    [],
  );
});

test('the next start is of the sources as they are then, whatever happened to them', async (t) => {
  const { edit, editImport, env, file, folder, main, say } = clone(t);
  assert.equal(say(), `${BUNDLED} first`);
  edit("' one'");
  const { mtime } = fs.statSync(main);
  // those that find another one bundling run the sources as they are
  const outputs = await Promise.all(
    [1, 2, 3].map(async () => {
      const child = spawn(file, ['look', folder], { env });
      let out = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
      await new Promise((resolve) => child.on('close', resolve));
      return out.split(' ')[1];
    }),
  );
  assert.deepEqual(outputs, Array(3).fill('one'));
  edit("' two'");
  assert.equal(say(), `${BUNDLED} two`, 'of the same length');
  edit("' three'", mtime);
  assert.equal(say(), `${BUNDLED} three`, 'with the time of before');
  edit("' four'", new Date(0));
  assert.equal(say(), `${BUNDLED} four`, 'older than the bundles');

  // another branch has a file more, another one less
  const added = path.join(folder, 'src/added.ts');
  fs.writeFileSync(added, "export const TEXT = ' added';\n");
  editImport('TEXT', '../added.ts');
  assert.equal(say(), `${BUNDLED} added`);
  fs.rmSync(added);
  assert.match(say(), /^exit code 1: .*added\.ts/s);
  fs.writeFileSync(added, "export const TEXT = ' again';\n");
  assert.equal(say(), `${BUNDLED} again`);
  const json = path.join(folder, 'package.json');
  editImport('VERSION', '../base/version.ts');
  assert.equal(say(), BUNDLED + VERSION);
  fs.writeFileSync(json, fs.readFileSync(json, 'utf8').replace(`"${VERSION}"`, '"9.9.9"'));
  assert.equal(say(), `${BUNDLED}9.9.9`);
  // a test beside the code is no part of it
  const list = path.join(folder, BUNDLED, '../sources');
  const { ino } = fs.statSync(list);
  fs.writeFileSync(path.join(folder, 'src/added.test.ts'), '');
  assert.equal(say(), `${BUNDLED}9.9.9`);
  assert.equal(fs.statSync(list).ino, ino);
});

test('a source that cannot be bundled is run as it is, and is not tried with every start', (t) => {
  const { bundles, edit, home, say } = clone(t);
  edit("String(/[\u0192]/.test('\u0192'))");
  assert.equal(say(), `${AS_IT_IS}true`);
  assert.match(fs.readFileSync(path.join(bundles, 'log'), 'utf8'), /is not ASCII/);
  const { ino } = fs.statSync(path.join(bundles, 'failed'));
  assert.equal(say(), `${AS_IT_IS}true`);
  assert.equal(fs.statSync(path.join(bundles, 'failed')).ino, ino);
  assert.ok(fs.existsSync(path.join(home, '.cache/tacho/compile')), 'V8 keeps what it compiled of it');
  edit("' right'");
  assert.equal(say(), `${BUNDLED} right`);
});

test('while a job is recorded nothing is bundled', (t) => {
  const { bundles, call, file, folder } = clone(t);
  for (const verb of ['mark', 'fom', 'stop', 'agent'])
    assert.equal(call([file, verb, folder]), `${AS_IT_IS} first`, verb);
  assert.equal(fs.existsSync(bundles), false);
});

test('bundling that does not end is given up', (t) => {
  const { bundles, folder, say } = clone(t);
  const script = path.join(folder, 'scripts/bundle-checkout');
  fs.writeFileSync(script, fs.readFileSync(script, 'utf8').replace('most_seconds=60', 'most_seconds=1'));
  fs.writeFileSync(path.join(folder, 'scripts/bundle-checkout.ts'), 'setInterval(() => {}, 1000);');
  assert.equal(say(), `${AS_IT_IS} first`);
  assert.deepEqual(fs.readdirSync(bundles).sort(), ['failed', 'log']);
});

test('without esbuild, with TACHO_DEBUG, or while somebody else bundles, the sources are run as they are', (t) => {
  const without = clone(t, { without: 'esbuild' });
  assert.equal(without.say(), `${AS_IT_IS} first`);
  assert.equal(fs.existsSync(without.bundles), false);
  const { bundles, call, file, folder, say } = clone(t);
  const lock = path.join(bundles, 'lock');
  fs.mkdirSync(lock, { recursive: true });
  assert.equal(say(), `${AS_IT_IS} first`);
  const before = new Date(Date.now() - 600_000);
  fs.utimesSync(lock, before, before);
  assert.equal(say(), `${BUNDLED} first`, 'a lock that was left behind');
  assert.equal(fs.existsSync(lock), false);
  assert.equal(call(['env', 'TACHO_DEBUG=1', file, 'look', folder]), `${AS_IT_IS} first`);
});

const whyNotOthers = !isRoot
  ? 'needs root, to be somebody else'
  : spawnSync('test', ['-x', process.execPath], { uid: NOBODY, gid: NOBODY }).status !== 0
    ? 'others cannot see this checkout'
    : false;

test("in somebody else's checkout its bundles are used while they are of its sources, and nothing is written", {
  skip: whyNotOthers,
}, (t) => {
  const { bundles, edit, say } = clone(t);
  const other = { uid: NOBODY, gid: NOBODY };
  assert.equal(say(other), `${AS_IT_IS} first`);
  assert.equal(fs.existsSync(bundles), false);
  assert.equal(say(), `${BUNDLED} first`);
  const files = fs.readdirSync(bundles);
  assert.equal(say(other), `${BUNDLED} first`);
  edit("' new'");
  assert.equal(say(other), `${AS_IT_IS} new`);
  assert.deepEqual(fs.readdirSync(bundles), files);
});

test("root runs no bundle of somebody else's in a checkout of its own, and leaves none in theirs", {
  skip: whyNotOthers,
}, (t) => {
  const { bundles, folder, say } = clone(t);
  assert.equal(say(), `${BUNDLED} first`);
  fs.writeFileSync(path.join(bundles, 'start.cjs'), 'console.log("evil");');
  assert.equal(say(), 'evil', 'it is what is started');
  fs.chownSync(bundles, NOBODY, NOBODY);
  assert.equal(say(), `${AS_IT_IS} first`);
  fs.chownSync(bundles, 0, 0);
  fs.chmodSync(bundles, 0o1777);
  assert.equal(say(), `${AS_IT_IS} first`, 'everybody may write here');
  fs.rmSync(bundles, { recursive: true });
  fs.chownSync(path.join(folder, 'node_modules'), NOBODY, NOBODY);
  assert.equal(say(), `${AS_IT_IS} first`);
  assert.equal(fs.existsSync(bundles), false);
});

test('in a job with little memory nothing is bundled', { skip: whyNoMemoryCgroup }, async (t) => {
  const { call, file, folder } = clone(t, { development: true });
  for (const [mib, started] of [
    [300, AS_IT_IS],
    [2048, BUNDLED],
  ] as const) {
    const cgroup = new MemoryCgroup(mib * 2 ** 20);
    t.after(() => cgroup.remove());
    assert.equal(call(cgroup.command(file, 'look', folder)), `${started} first`, `${mib} MiB`);
    assert.equal(cgroup.kills(), 0);
  }
});
