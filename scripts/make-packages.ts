import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { VERSION } from '../src/base/version.ts';

/**
 * Makes packages of the release in a folder (default: dist/), and puts them there:
 *
 *     tacho_<version>_amd64.deb    /opt/tacho, /usr/bin/tacho, manual pages and units of systemd
 *     tacho-<version>-1.x86_64.rpm the same; left out where rpmbuild is missing
 *     tacho-<version>.tgz          for npm install -g
 *     modulefiles/tacho/<version>  for Environment Modules and Lmod
 *     spack/package.py             with the checksum of the release
 *
 * With --quick nothing is compressed, which is enough for tests.
 */

const HERE = path.join(import.meta.dirname, '..');
const isQuick = process.argv.includes('--quick');
const DIST = path.resolve(process.argv.slice(2).find((word) => word !== '--quick') ?? path.join(HERE, 'dist'));
const NAME = `tacho-${VERSION}-linux-${process.arch}`;
const ARCHIVE = path.join(DIST, `${NAME}.tar.gz`);
const DEB_ARCH = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch;

if (!fs.existsSync(ARCHIVE)) {
  console.error(`there is no release ${ARCHIVE}; npm run release makes one`);
  process.exit(1);
}
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-packages-'));
try {
  execFileSync('tar', ['-C', scratch, '-xzf', ARCHIVE]);
  const release = path.join(scratch, NAME);
  debian(release);
  npm(release);
  rpm();
  texts();
} finally {
  fs.rmSync(scratch, { recursive: true, force: true });
}

function filled(template: string, more: Record<string, string> = {}): string {
  const values: Record<string, string> = { VERSION, DEB_ARCH, NODE_ARCH: process.arch, ...more };
  return fs
    .readFileSync(path.join(HERE, 'packaging', template), 'utf8')
    .replaceAll(/@([A-Z0-9_]+)@/g, (_, name: string) => values[name] ?? assertNever(name));
}

function assertNever(name: string): never {
  throw new Error(`nothing is known about @${name}@`);
}

function write(file: string, text: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  console.log(path.relative(process.cwd(), file));
}

function debian(release: string): void {
  const root = path.join(scratch, 'deb');
  const at = (...names: string[]): string => path.join(root, ...names);
  for (const folder of [
    'DEBIAN',
    'opt',
    'usr/bin',
    'usr/share/man/man1',
    'usr/share/doc/tacho',
    'usr/lib/systemd/system',
  ])
    fs.mkdirSync(at(folder), { recursive: true });
  // links instead of copies: it is 150 MB
  execFileSync('cp', ['-al', release, at('opt/tacho')]);
  fs.symlinkSync('/opt/tacho/tacho', at('usr/bin/tacho'));
  for (const name of fs.readdirSync(path.join(release, 'packaging/man')))
    fs.copyFileSync(path.join(release, 'packaging/man', name), at('usr/share/man/man1', name));
  execFileSync('gzip', ['-9n', ...fs.globSync(at('usr/share/man/man1/*.1'))]);
  for (const name of fs.readdirSync(path.join(release, 'packaging/systemd')))
    fs.copyFileSync(path.join(release, 'packaging/systemd', name), at('usr/lib/systemd/system', name));
  fs.copyFileSync(path.join(release, 'LICENSE'), at('usr/share/doc/tacho/copyright'));
  const kilobytes = execFileSync('du', ['-sk', root], { encoding: 'utf8' }).split('\t')[0]!;
  fs.writeFileSync(at('DEBIAN/control'), filled('debian/control', { SIZE: kilobytes }));
  const file = path.join(DIST, `tacho_${VERSION}_${DEB_ARCH}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', isQuick ? '-Znone' : '-Zxz', '--build', root, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  console.log(path.relative(process.cwd(), file));
}

/** What npm pack would make: a folder called package. */
function npm(release: string): void {
  const root = path.join(scratch, 'package');
  execFileSync('cp', ['-al', release, root]);
  fs.writeFileSync(path.join(root, 'package.json'), filled('npm/package.json'));
  const file = path.join(DIST, `tacho-${VERSION}.tgz`);
  execFileSync('tar', [
    '-C',
    scratch,
    '--owner=0',
    '--group=0',
    '-I',
    isQuick ? 'gzip -1' : 'gzip',
    '-cf',
    file,
    'package',
  ]);
  console.log(path.relative(process.cwd(), file));
}

function rpm(): void {
  if (spawnSync('rpmbuild', ['--version']).error !== undefined) {
    console.log('no RPM: rpmbuild is missing (apt-get install rpm)');
    return;
  }
  const top = path.join(scratch, 'rpm');
  const defines = {
    _topdir: top,
    _sourcedir: DIST,
    _rpmdir: top,
    tacho_version: VERSION,
    tacho_arch: process.arch,
    ...(isQuick ? { _binary_payload: 'w0.gzdio' } : {}),
  };
  const defineOptions = Object.entries(defines).flatMap(([name, value]) => ['--define', `${name} ${value}`]);
  execFileSync('rpmbuild', ['-bb', '--quiet', ...defineOptions, path.join(HERE, 'packaging/rpm/tacho.spec')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (const made of fs.globSync(path.join(top, '*/*.rpm'))) {
    const file = path.join(DIST, path.basename(made));
    fs.copyFileSync(made, file);
    console.log(path.relative(process.cwd(), file));
  }
}

function texts(): void {
  write(path.join(DIST, 'modulefiles/tacho', VERSION), filled('modulefiles/tacho'));
  const sha256 = createHash('sha256').update(fs.readFileSync(ARCHIVE)).digest('hex');
  write(path.join(DIST, 'spack/package.py'), filled('spack/package.py', { SHA256: sha256 }));
}
