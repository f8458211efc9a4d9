import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { refuseBeyondAscii } from '../scripts/bundle.ts';
import { VERSION } from '../src/base/version.ts';

const HERE = path.join(import.meta.dirname, '..');
const lacks = spawnSync('cc', ['--version']).error === undefined ? false : 'needs gcc';
let folder: string;
let program: string;

before(() => {
  if (lacks) return;
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-release-test-'));
  // the runner of all tests has made one
  const { RELEASE_UNDER_TEST: made = path.join(folder, 'made') } = process.env;
  if (process.env.RELEASE_UNDER_TEST === undefined)
    execFileSync('sh', [path.join(HERE, 'scripts/release'), made], { stdio: ['ignore', 'ignore', 'pipe'] });
  const name = `tacho-${VERSION}-linux-${process.arch}`;
  execFileSync('tar', ['-C', folder, '-xzf', path.join(made, `${name}.tar.gz`)]);
  program = path.join(folder, name, 'tacho');
});
after(() => {
  if (!lacks) fs.rmSync(folder, { recursive: true });
});

/** As on a machine without Node: nothing in the environment, no programs to be found but those named by path. */
function tacho(args: readonly string[], file = program) {
  const done = spawnSync(file, args, { cwd: folder, env: { PATH: '/nonexistent' }, encoding: 'utf8' });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

test('the unpacked release checks itself', { skip: lacks }, () => {
  const check = tacho(['check', '--format', 'json']);
  assert.equal(check.code, 0, check.err);
  const { items } = JSON.parse(check.out) as { items: { name: string; state: string }[] };
  const state = (name: string) => items.find((item) => item.name === name)?.state;
  assert.deepEqual([state('launcher'), state('libraries'), state('process')], ['ok', 'ok', 'ok']);
  assert.equal(tacho(['--version']).out, `${VERSION}\n`);
});

test('it records a command', { skip: lacks }, () => {
  const run = tacho(['run', '-o', 'recorded', '--', '/bin/sh', '-c', 'exit 3']);
  assert.equal(run.code, 3, run.err);
  const report = JSON.parse(tacho(['report', 'recorded', '--format', 'json']).out);
  const { job } = Array.isArray(report) ? report[0] : report;
  assert.equal(job.exit_code, 3);
});

test('the parts of it that run inside jobs start, mark, sample and stop; the whole one reports', {
  skip: lacks,
}, () => {
  const env = { PATH: '/usr/bin:/bin', XDG_RUNTIME_DIR: folder };
  const script = `set -e
    "$0" start -o started -i 0.1s; "$0" mark begin a; "$0" fom speed=3; "$0" mark end; "$0" start --help >/dev/null
    "$0" stop --format json`;
  const args = ['--wait', 'sh', '-c', script, program];
  const done = spawnSync('setsid', args, { cwd: folder, env, encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  const { phases, quality } = JSON.parse(done.stdout);
  assert.deepEqual(
    phases.map(({ name }: { name: string }) => name),
    ['a'],
  );
  assert.deepEqual(quality.nodes_missing ?? [], []);
});

test('it writes the demo, reports on it and exports it', { skip: lacks }, () => {
  assert.equal(tacho(['demo', '-o', 'demo', '--nodes', '1', '--gpus', '2', '--hours', '0.02']).code, 0);
  assert.match(tacho(['report', 'demo']).out, /GPU/);
  const exported = tacho(['export', 'demo', '-o', 'exported', '--table', 'loadavg']);
  assert.equal(exported.code, 0, exported.err);
  const drawn = tacho(['plot', 'lines', 'demo', '--table', 'gpu', '--metric', 'power', '--save', 'power.png']);
  assert.equal(drawn.code, 0, drawn.err);
  assert.equal(fs.readFileSync(path.join(folder, 'power.png')).toString('latin1', 1, 4), 'PNG');
});

test('who does not draw does not load ECharts, who draws has it', { skip: lacks }, () => {
  const lib = path.join(path.dirname(program), 'lib');
  const withECharts = fs
    .readdirSync(lib)
    .filter((name) => name.endsWith('.cjs') && fs.readFileSync(path.join(lib, name), 'latin1').includes('ecModel'));
  assert.deepEqual(withECharts, ['echarts.cjs']);
  assert.equal(tacho(['demo', '-o', 'drawn', '--nodes', '1', '--gpus', '2', '--hours', '0.02']).code, 0);
  const drawn = tacho(['report', 'drawn', '--format', 'pdf', '-o', 'drawn.pdf']);
  assert.equal(drawn.code, 0, drawn.err);
  const pages = fs.readFileSync(path.join(folder, 'drawn.pdf'), 'latin1').match(/\/Type ?\/Page\b/g);
  assert.ok(pages!.length > 1, `${pages!.length} pages`);
});

test("a user's own module is found, TypeScript as it is", { skip: lacks }, () => {
  const module = `const value: number = 42;
    export const table = { help: 'Mine.', columns: [{ name: 'answer', unit: 'count', help: 'The answer.' }] };
    export const read = (): { answer: number } => ({ answer: value });`;
  fs.writeFileSync(path.join(folder, 'mine.ts'), module);
  fs.writeFileSync(path.join(folder, 'tacho.toml'), '[[source]]\nname = "mine"\nmodule = "mine.ts"\n');
  const { items } = JSON.parse(tacho(['check', '--format', 'json']).out);
  fs.rmSync(path.join(folder, 'tacho.toml'));
  const mine = items.find((item: { name: string }) => item.name === 'mine');
  assert.equal(mine?.state, 'ok', JSON.stringify(mine));
});

test('it starts through a link, and V8 takes the compiled code', { skip: lacks }, () => {
  fs.symlinkSync(program, path.join(folder, 'link'));
  const done = spawnSync(path.join(folder, 'link'), ['--version'], { encoding: 'utf8' });
  assert.equal(done.stdout, `${VERSION}\n`);
  const library = path.join(path.dirname(program), 'lib');
  const [, inJob] = /^ +small=(\S+)$/m.exec(fs.readFileSync(path.join(library, '../scripts/start-node'), 'utf8'))!;
  const isRefused = (name: string, ...options: string[]): string =>
    execFileSync(path.join(path.dirname(program), 'bin/node'), [
      ...options,
      '-p',
      `const { readFileSync: read } = fs;
       new vm.Script(read('${library}/${name}.cjs', 'latin1'), { cachedData: read('${library}/${name}.compiled') }).cachedDataRejected`,
    ]).toString();
  for (const name of ['tacho', 'report', 'export', 'submit']) assert.equal(isRefused(name), 'false\n', name);
  for (const name of ['tacho', 'run', 'job', 'agent', 'stop', 'finish'])
    assert.equal(isRefused(name, inJob!), 'false\n', `nor is ${name} with the options of what runs inside a job`);
});

test('the notebook and the Python package come along', { skip: lacks }, () => {
  const bin = path.join(folder, 'bin');
  fs.mkdirSync(bin);
  fs.writeFileSync(path.join(bin, 'jupyter-lab'), '#!/bin/sh\necho "$PYTHONPATH"\n', { mode: 0o755 });
  const within = { cwd: folder, env: { PATH: bin }, encoding: 'utf8' } as const;
  const given = spawnSync(program, ['notebook', 'recorded'], within);
  assert.equal(given.status, 0, given.stderr);
  assert.equal(fs.existsSync(path.join(given.stdout.trim(), 'tacho/__init__.py')), true);
  assert.match(fs.readFileSync(path.join(folder, 'tacho.ipynb'), 'utf8'), /tacho\.open\(\\"recorded\\"\)/);
});

test('the hooks for Slurm and what the container is made of are there', { skip: lacks }, () => {
  const hook = fs.readFileSync(path.join(HERE, 'packaging/slurm/prolog.sh'), 'utf8');
  assert.equal(tacho(['slurm', 'hooks', '--prolog']).out, hook);
  const made = fs.readFileSync(path.join(HERE, 'packaging/container/Containerfile'), 'utf8');
  const copied = [...made.matchAll(/^COPY +(\S+) +\S+$/gm)].map((match) => match[1]!);
  assert.deepEqual(copied, [`dist/tacho-${VERSION}-linux-x64/`]);
  for (const source of copied) {
    const there = source.replace(/^dist\//, '').replace('x64', process.arch);
    assert.ok(fs.existsSync(path.join(folder, there, 'tacho')), `${source} comes with npm run release`);
  }
  for (const unit of ['tacho-agent.service', 'tacho-hub.service']) {
    const text = fs.readFileSync(path.join(path.dirname(program), 'packaging/systemd', unit), 'utf8');
    const verb = /^ExecStart=\/opt\/tacho\/tacho (\w+)/m.exec(text)?.[1];
    assert.equal(tacho([verb!, '--help']).code, 0, unit);
  }
});

test('ids of Flux, and punctuation in a pipe, are what they are in a checkout', { skip: lacks }, () => {
  const who = ['--user', 'nobody', '--uid', '65534', '--nodes', 'vm', '--jobs', path.join(folder, 'jobs'), '--strict'];
  fs.mkdirSync(path.join(folder, 'jobs'), { recursive: true });
  const begun = tacho(['job', 'begin', '--job-id', '\u01922oVgN5Kj', '--scheduler', 'flux', ...who]);
  assert.equal(begun.code, 0, begun.err);
  tacho(['demo', '-o', 'words', '--nodes', '1', '--gpus', '2', '--hours', '0.02']);
  assert.doesNotMatch(tacho(['report', 'words']).out, /[^\0-\x7f]/);
});

test('a bundle beyond ASCII is refused', (t) => {
  const bundleFolder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bundle-'));
  t.after(() => fs.rmSync(bundleFolder, { recursive: true }));
  fs.writeFileSync(path.join(bundleFolder, 'a.cjs'), 'const ID = /[A-Z\u0192]/;');
  assert.throws(
    () => refuseBeyondAscii(path.join(bundleFolder, 'a.cjs')),
    /a\.cjs is not ASCII: .*const ID = \/\[A-Z\u0192/,
  );
  fs.writeFileSync(path.join(bundleFolder, 'b.cjs'), 'const ID = /[A-Z\\u0192]/;');
  refuseBeyondAscii(path.join(bundleFolder, 'b.cjs'));
});

const noSystemd = spawnSync('systemd-analyze', ['--version']).error === undefined ? false : 'no systemd-analyze';

test('systemd has nothing to say against the units', { skip: lacks || noSystemd }, () => {
  const units = path.join(folder, 'units');
  fs.mkdirSync(units);
  const files = ['tacho-agent.service', 'tacho-hub.service'].map((unit) => {
    const text = fs.readFileSync(path.join(path.dirname(program), 'packaging/systemd', unit), 'utf8');
    const file = path.join(units, unit);
    fs.writeFileSync(file, text.replaceAll('/opt/tacho/', `${path.dirname(program)}/`));
    return file;
  });
  const verify = () => spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' });
  const { status, stderr } = verify();
  assert.deepEqual([status, stderr], [0, '']);
  fs.appendFileSync(files[0]!, '[Service]\nRestartSecs=1\n');
  assert.match(verify().stderr, /Unknown key.*RestartSecs/, 'it does look');
});

test('it brings the client of Kafka along', { skip: lacks }, async () => {
  const kafka = ['--samples-from', 'kafka', '--kafka', '127.0.0.1:1'];
  const hub = spawn(program, ['hub', '--archive', path.join(folder, 'archive'), '--listen', '127.0.0.1:0', ...kafka]);
  let output = '';
  await new Promise<void>((resolve) => {
    hub.stderr.on('data', (chunk) => {
      output += chunk;
      if (output.includes('\n')) resolve();
    });
    hub.once('exit', () => resolve());
  });
  const ended = new Promise((resolve) => hub.once('exit', resolve));
  hub.kill('SIGTERM');
  await ended;
  assert.match(output, /kafka: connect ECONNREFUSED 127\.0\.0\.1:1\n/);
});
