import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { formatBytes } from '../src/base/size.ts';
import { VERSION } from '../src/base/version.ts';
import { PNG_FILES } from '../src/charts/png.ts';
import { writeDemo } from '../src/demo/demo.ts';
import { keepResults } from '../src/judge/keep-results.ts';
import { REPORT_FILE } from '../src/judge/kept-report.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { CSV_COLUMNS, csvText, madeProcess, metadataOf, pickle3, tgzOf } from '../test/made/epmt-archive.ts';
import { buildWeb } from './build-web.ts';
import { bundle, DUCKDB, DUCKDB_PACKAGE, ECHARTS, FINISH, PARTS } from './bundle.ts';

/**
 * Makes tacho-<version>-linux-<architecture>.tar.gz in dist/, or in the folder given; with --quick, which is enough for
 * tests, one that is not compressed:
 *
 *     tacho scripts/          the launcher
 *     bin/node                the run time
 *     lib/tacho.cjs           the whole program in one file, with V8's compiled code and koffi's native module beside it
 *     lib/job.cjs …           parts of it that run inside jobs or are quick, with their compiled code
 *     web/                    the page of tacho serve
 *     lib/echarts.cjs         ECharts, which only who draws loads
 *     lib/duckdb/             the library of DuckDB, which only who asks the history loads (docs/decisions/duckdb.md)
 *     lib/png/                what draws pictures: a WebAssembly module and two fonts, loaded by tacho plot
 *     native/build/           the small C programs
 *     python/                 the Python package and the notebooks
 *     packaging/              units for systemd, hooks for Slurm
 *     docs/ README.md …
 */

const HERE = path.join(import.meta.dirname, '..');
const NAME = `tacho-${VERSION}-linux-${process.arch}`;
const isQuick = process.argv.includes('--quick');
const DIST = path.resolve(process.argv.slice(2).find((word) => word !== '--quick') ?? path.join(HERE, 'dist'));
const ROOT = path.join(DIST, NAME);
const STARTS = 15;
/** What a checkout gets when the first verb needs it, and a release has from the beginning. */
const LATER = [
  ...['@duckdb/node-api', '@fastify/swagger', '@modelcontextprotocol/sdk', 'fastify', 'fastify-type-provider-zod'],
  'openid-client',
  ...['echarts', 'preact', '@resvg/resvg-wasm', '@expo-google-fonts/arimo'],
];

const at = (...names: string[]): string => path.join(ROOT, ...names);
const from = (...names: string[]): string => path.join(HERE, ...names);

fs.rmSync(ROOT, { recursive: true, force: true });
for (const folder of ['bin', 'lib', 'scripts', 'native/build']) fs.mkdirSync(at(folder), { recursive: true });

execFileSync('sh', [from('scripts/build-native')], { stdio: 'inherit' });
if (!fs.existsSync(from('native/build/launch')))
  throw new Error('a release needs a C compiler (apt-get install gcc libc6-dev)');
for (const name of fs.readdirSync(from('native/build'))) {
  if (!/\.log$|^stamp$/.test(name)) fs.copyFileSync(from('native/build', name), at('native/build', name));
}

await buildWeb(at('web'));
await bundle({ folder: at('lib'), version: VERSION, home: '..', duckdb: './duckdb' });
for (const name of ['tacho', 'scripts/start-node', 'scripts/unrecorded']) fs.copyFileSync(from(name), at(name));
fs.mkdirSync(at('lib/duckdb'));
for (const name of ['duckdb.node', 'libduckdb.so']) fs.copyFileSync(from(DUCKDB_PACKAGE, name), at('lib/duckdb', name));
fs.mkdirSync(at('lib/png'));
for (const [name, file] of Object.entries(PNG_FILES)) fs.copyFileSync(from('node_modules', file), at('lib/png', name));
fs.copyFileSync(process.execPath, at('bin/node'));
// names of functions that nobody looks up: 16 MB
spawnSync('strip', [at('bin/node')]);
for (const file of ['tacho', 'bin/node', 'native/build/launch']) fs.chmodSync(at(file), 0o755);
fs.cpSync(from('docs'), at('docs'), { recursive: true });
fs.cpSync(from('packaging'), at('packaging'), { recursive: true });
fs.cpSync(from('python'), at('python'), { recursive: true, filter: (file) => !/__pycache__|egg-info/.test(file) });
for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md']) fs.copyFileSync(from(file), at(file));
licences();
await compile();

const archive = path.join(DIST, `${NAME}.tar.gz`);
const tar = spawn('tar', ['-C', DIST, '--owner=0', '--group=0', '--sort=name', '-c', NAME], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const tarEnd = once(tar, 'exit');
await pipeline(tar.stdout, createGzip({ level: isQuick ? 0 : 6 }), fs.createWriteStream(archive));
if ((await tarEnd)[0] !== 0) throw new Error('tar failed');
console.log(`${path.relative(process.cwd(), archive)}: ${formatBytes(fs.statSync(archive).size)}`);
if (!isQuick) console.log(`start-up (tacho list --help, median of ${STARTS}): ${startUp()} ms`);

/** Real runs show V8 which functions are needed; what it compiled is kept. */
async function compile(): Promise<void> {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-release-'));
  const archive = path.join(scratch, 'job.tgz');
  writeArchive(archive);
  const started = path.join(scratch, 'started');
  const recording = path.join(scratch, 'recording');
  const seconds = isQuick ? 900 : 3600;
  const demo = await writeDemo({ folder: path.join(scratch, 'demo'), nodes: 4, gpus: 4, seconds, interval: 5 });
  // of one that another version has sealed the report is worked out
  const older = path.join(scratch, 'older');
  fs.cpSync(demo, older, { recursive: true });
  fs.rmSync(path.join(older, REPORT_FILE), { force: true });
  keepResults(openRecording(demo), 1);
  const columns = ['--layout', 'wide', '--table', 'cpu', '--interval', '1s'];
  // where there is no PostgreSQL releases are made, too
  const stub = spawn(process.execPath, [from('scripts/stub-postgres.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => stub.kill());
  const [port] = (await once(stub.stdout, 'data')) as [Buffer];
  const db = ['--db', `postgres://tacho@127.0.0.1:${port.toString().trim()}/tacho`];
  // no process has the number 0: the agent ends after a second
  const runs = [
    ['run', '-o', recording, '--', 'true'],
    ['seal', '--parquet', recording],
    ['report', recording],
    ['report', demo],
    ['report', older],
    ['report', '--phases', older],
    ['report', older, '--format', 'pdf', '-o', path.join(scratch, 'older.pdf')],
    ['export', recording, ...columns, '--to', path.join(scratch, 'columns')],
    ['export', recording, '--layout', 'wide', '--to', path.join(scratch, 'wide')],
    ['import', 'epmt', archive, '-o', scratch],
    ['submit', path.join(scratch, 'tacho-4711'), older, demo, ...db],
    ['start', '-o', path.join(scratch, 'sealed')],
    ['stop', path.join(scratch, 'sealed')],
    ['start', '-o', started],
    ['stop', started, '--no-seal'],
    ['serve', '--help'],
    ['index', scratch],
    ['jobs', scratch, '--user', '*', '--from', '2026-01-01'],
    ['jobs', scratch, '--format', 'csv'],
    ['history', scratch, '--from', '2026-01-01', '--by', 'hour-weekday'],
    ['agent', '--recording', started, '--interval', '0.2s', '--watch-pid', '0', '--node', 'second'],
  ];
  for (const args of runs) {
    const done = spawnSync(at('tacho'), args, {
      env: { HOME: scratch, PATH: process.env.PATH, XDG_RUNTIME_DIR: scratch, TACHO_WRITE_COMPILED: '1' },
      encoding: 'utf8',
    });
    if (done.status !== 0) throw new Error(`the bundled program does not run:\n${done.stderr}`);
  }
  stub.kill();
  fs.rmSync(scratch, { recursive: true });
  for (const name of ['tacho', FINISH, DUCKDB, ECHARTS, ...Object.keys(PARTS)])
    if (!fs.existsSync(at(`lib/${name}.compiled`))) throw new Error('V8 left no compiled code');
}

/** A job of EPMT's with some processes. */
function writeArchive(file: string): void {
  const processes = Array.from({ length: 20 }, (_, i) => madeProcess(i + 1, { args: `-Wp,-MD,${i}.d` }));
  const entries = [
    { name: './job_metadata', bytes: pickle3(metadataOf()) },
    { name: './c1-collated-papiex-1-0.csv', bytes: csvText(processes, CSV_COLUMNS[41]) },
  ];
  fs.writeFileSync(file, tgzOf(entries));
}

/** The bundle holds the packages below: their licences go with it. */
function licences(): void {
  const { dependencies } = JSON.parse(fs.readFileSync(from('package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const texts = [...Object.keys(dependencies), ...LATER, `node-linux-${process.arch}`].map((name) => {
    const folder = from('node_modules', name);
    const files = fs.readdirSync(folder, { withFileTypes: true });
    const all = files
      .filter((file) => file.isFile() && /^licen[sc]e/i.test(file.name))
      .map(({ name: file }) => fs.readFileSync(path.join(folder, file), 'utf8'));
    return `== ${name} ==\n\n${all.length === 0 ? licenceNamed(folder) : all.join('\n')}\n`;
  });
  fs.writeFileSync(at('LICENSES-OF-PACKAGES'), texts.join('\n'));
}

/** Of a package without a file of it: its name, and where the sources are. */
function licenceNamed(folder: string): string {
  const { license, repository } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    license?: string;
    repository?: string | { url: string };
  };
  const sources = typeof repository === 'string' ? repository : (repository?.url ?? '');
  return `${license ?? 'unknown'}; sources: ${sources}\n`;
}

function startUp(): number {
  const times = Array.from({ length: STARTS }, () => {
    const began = performance.now();
    spawnSync(at('tacho'), ['list', '--help']);
    return performance.now() - began;
  });
  return Math.round(times.sort((a, b) => a - b)[Math.floor(STARTS / 2)]!);
}
