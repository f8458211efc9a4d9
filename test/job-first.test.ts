import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { commandOfRun } from '../src/cli/command-of-run.ts';
import { wholeProgram } from '../src/cli/program.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { eventually } from './made/eventually.ts';
import { IN_MEMORY } from './made/in-memory.ts';
import { type Answer, TACHO, tacho, temporaryFolder } from './tacho.ts';

/** The job comes first: whatever is wrong with its recording, the command runs, once, and its exit code is its own. */

const HERE = path.join(import.meta.dirname, '..');
const isRoot = process.getuid?.() === 0;
/** Says that it ran, and how it ends is nobody else's. */
const COMMAND = ['sh', '-c', 'echo ran; exit 7'];

/** What every case has in common. */
function assertRan(result: Answer, says: RegExp, what = ''): void {
  const shown = `${what}: exit ${result.code}\n${result.out}${result.err}`;
  assert.deepEqual([result.code, result.out], [7, 'ran\n'], shown);
  assert.match(result.err.replace(/\n {7}/g, ' '), says, shown);
  assert.doesNotMatch(result.err, /\n\s+at /, 'a stack trace is not for users');
}

const NOT_RECORDED = /^tacho: the command runs, but is not recorded: /m;

/** The environment of a user who is in no job. */
function outside(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const env = Object.entries(process.env).filter(([name]) => !/^(TACHO|SLURM|PBS|FLUX)_/.test(name));
  return { ...Object.fromEntries(env), ...more };
}

interface Wrong {
  flags?: string[];
  env?: Record<string, string>;
  /** Of files in the current folder. */
  files?: Record<string, string>;
  says: RegExp;
  /** Exit code with --strict, where the command does not run; none: it is no error there either. */
  strict?: number;
  /** Nothing is recorded at all. */
  unrecorded?: true;
}

const wrong: Record<string, Wrong> = {
  'an interval that is none': {
    flags: ['--interval', 'soon'],
    says: /--interval: "soon" is not a duration: it is not used/,
    strict: 2,
  },
  'machines that are none': {
    flags: ['--hosts', 'c1,-oProxyCommand=x'],
    says: /--hosts: "-oProxyCommand=x" is not .*: it is not used/,
    strict: 2,
  },
  'a variable for machines that is empty': {
    flags: ['--hosts', ''],
    says: /--hosts "" names no machine: it is not used/,
    strict: 2,
  },
  'a number of nodes that is none': {
    flags: ['--allow-missing', 'x'],
    says: /--allow-missing: "x" is not a number/,
    strict: 2,
  },
  'a format that does not exist': {
    flags: ['--format', 'xml'],
    says: /--format: "xml" is none of text, markdown, json/,
    strict: 2,
  },
  'a tag that is none': { flags: ['--tag', 'case'], says: /--tag: "case" is not a tag: it is not used/, strict: 2 },
  'a table that does not exist': {
    flags: ['--without', 'nsf'],
    says: /there is no table "nsf"; did you mean "nfs"\?: it is not used/,
    strict: 2,
  },
  'a job file that is not there': {
    flags: ['--job-file', 'none'],
    says: /cannot read the job file none: .*: it is not used/,
    strict: 1,
  },
  'a recording without a name': {
    flags: ['-o', ''],
    says: /the name of the recording is empty: it is tacho-/,
    strict: 2,
  },
  'an interval that is none, in the environment': {
    env: { TACHO_INTERVAL: 'foo' },
    says: /TACHO_INTERVAL in the environment: "foo" is not a duration/,
    strict: 2,
  },
  'a table that does not exist, in the environment': {
    env: { TACHO_SOURCES_ENABLE: 'cpuu' },
    says: /there is no table "cpuu"/,
    strict: 2,
  },
  'a configuration that is not there': {
    env: { TACHO_CONFIG: 'none.toml' },
    says: /TACHO_CONFIG: there is no file none.toml: it is not used/,
    strict: 2,
  },
  'an unknown key': {
    files: { 'tacho.toml': '\nintervall = 5\n' },
    says: /tacho.toml:2: unknown key "intervall"; did you mean "interval"\?: it is not used/,
    strict: 2,
  },
  'a value of the wrong kind': {
    files: { 'tacho.toml': 'interval = true\n' },
    says: /tacho.toml:1: interval must be a duration/,
    strict: 2,
  },
  'a file that is no TOML': {
    files: { 'tacho.toml': 'interval = = 1\n' },
    says: /tacho.toml:1: not valid TOML/,
    strict: 2,
  },
  'a source that is none': {
    files: { 'tacho.toml': '[[source]]\nname = "a b"\n' },
    says: /tacho.toml:2: name must be/,
    strict: 2,
  },
  'a file that cannot be read': {
    files: { 'tacho.toml/x': '' },
    says: /cannot read the configuration .*tacho.toml: is a folder: it is not used/,
    strict: 2,
  },
  'a folder that cannot be made': {
    flags: ['-o', '/proc/tacho/x'],
    says: /not recorded: cannot write \/proc\/tacho\/x: no such file/,
    strict: 1,
    unrecorded: true,
  },
  'a file in the way': {
    flags: ['-o', 'f/x'],
    files: { f: '' },
    says: /not recorded: cannot write .*f\/x: not a folder/,
    strict: 1,
    unrecorded: true,
  },
  'a place for recordings that is none': {
    files: { 'tacho.toml': 'recordings = "/proc/nowhere"\n' },
    says: /not recorded: cannot write \/proc\/nowhere/,
    strict: 1,
    unrecorded: true,
  },
  'PBS without qstat': {
    env: { PBS_JOBID: '123.host' },
    says: /pbs does not say which nodes job 123 has: only this machine is recorded/,
    strict: 1,
  },
  'Slurm without a list of nodes': {
    env: { SLURM_JOB_ID: '17', PATH: '/nowhere' },
    says: /slurm does not say which nodes job 17 has: only this/,
    strict: 1,
  },
  'Flux without flux': {
    env: { FLUX_JOB_ID: 'f23', FLUX_URI: 'local:///none' },
    says: /flux does not say which nodes job f23 has: only this/,
    strict: 1,
  },
  'a variable for the id of a job that holds none': {
    env: { PBS_JOBID: '../x' },
    says: /^tacho: PBS_JOBID holds no id of a job: it is not used, and only this machine is recorded\n$/,
    strict: 1,
  },
};

for (const [name, each] of Object.entries(wrong)) {
  test(`the command runs: ${name}`, (t) => {
    const cwd = temporaryFolder(t);
    for (const [file, text] of Object.entries(each.files ?? {})) {
      fs.mkdirSync(path.dirname(path.join(cwd, file)), { recursive: true });
      fs.writeFileSync(path.join(cwd, file), text);
    }
    // schedulers' commands must not be found, but the shell
    const env = outside({ HOME: cwd, ...each.env });
    if (each.env?.PATH !== undefined) {
      fs.mkdirSync(path.join(cwd, 'bin'));
      for (const program of ['sh', 'readlink', 'dirname', 'node']) {
        const programPath =
          program === 'node' ? process.execPath : spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim();
        fs.symlinkSync(programPath, path.join(cwd, 'bin', program));
      }
      env.PATH = path.join(cwd, 'bin');
    }
    const before = fs.readdirSync(cwd);
    const result = tacho(['run', '--no-report', ...(each.flags ?? []), '--', ...COMMAND], { cwd, env });
    assertRan(result, each.says);
    const made = fs.readdirSync(cwd).filter((file) => !before.includes(file) && file !== '.cache');
    assert.equal(made.length, each.unrecorded ? 0 : 1, `${made} ${result.err}`);
    if (!each.unrecorded) {
      const { job, nodes } = openRecording(path.join(cwd, made[0]!));
      assert.deepEqual([job.exit_code, job.state, nodes.length], [7, 'failed', 1]);
      assert.ok(nodes[0]!.agent!.ticks > 0);
    }
    if (each.strict === undefined) return;
    const refused = tacho(['run', '--strict', ...(each.flags ?? []), '--', ...COMMAND], { cwd, env });
    assert.deepEqual([refused.code, refused.out], [each.strict, ''], refused.err);
  });
}

const alone: [variable: string, value: string, id: string, scheduler: string][] = [
  ['PBS_JOBID', '123.host', '123', 'pbs'],
  ['SLURM_JOB_ID', '17', '17', 'slurm'],
  ['FLUX_JOB_ID', 'f23', 'f23', 'flux'],
];
for (const [variable, value, id, scheduler] of alone) {
  test(`of a container that knows only ${variable}, recording and card have that, and one line says the rest`, (t) => {
    const cwd = temporaryFolder(t);
    const result = tacho(['run', '--', ...COMMAND], { cwd, env: outside({ [variable]: value }) });
    const { job } = openRecording(path.join(cwd, `tacho-${id}`));
    assert.deepEqual([job.id, job.scheduler, job.nodes], [id, 'none', [os.hostname()]]);
    const ownLines = result.err.split('\n').filter((line) => line.startsWith('tacho: '));
    assert.equal(ownLines.length, 1, result.err);
    assert.ok(
      ownLines[0]!.startsWith(`tacho: ${scheduler} does not say which nodes job ${id} has: only this`),
      ownLines[0],
    );
    assert.match(result.err, new RegExp(`^${id} `, 'm'));
  });
}

test('what may have been the wish to redact keeps arguments out', (t) => {
  const cases: [files: Record<string, string>, env: Record<string, string>, redacted: true | undefined][] = [
    [{}, { TACHO_REDACT: 'yess' }, true],
    [{ 'tacho.toml': 'redcat = true\n' }, {}, true],
    [{ 'tacho.toml': 'redact = "on"\n' }, {}, true],
    [{ 'tacho.toml': 'redact = true\ninterval = = 1\n' }, {}, true],
    [{}, { TACHO_CONFIG: 'none.toml' }, true],
    [{ 'tacho.toml': 'intervall = 5\n' }, {}, undefined],
  ];
  for (const [files, env, redacted] of cases) {
    const cwd = temporaryFolder(t);
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(cwd, name), text);
    const result = tacho(['run', '--no-report', '-o', 'r', '--', 'sh', '-c', 'exit 7', 'secret'], {
      cwd,
      env: outside(env),
    });
    assert.equal(result.code, 7);
    const { job } = openRecording(path.join(cwd, 'r'));
    assert.equal(job.redacted, redacted, result.err);
    assert.equal(JSON.stringify(job.command).includes('secret'), redacted === undefined);
    assert.equal(/arguments of commands are left out/.test(result.err), redacted === true);
  }
});

test('what is right in a configuration with a typo still counts', (t) => {
  const cwd = temporaryFolder(t);
  fs.writeFileSync(
    path.join(cwd, 'tacho.toml'),
    'interval = "0.2s"\nnonsense = 1\n[sources]\ndisable = ["nfs", "nonsense"]\n',
  );
  const result = tacho(['run', '--no-report', '-o', 'r', '--', ...COMMAND], { cwd, env: outside() });
  assertRan(result, /tacho.toml:2: unknown key "nonsense"[^\n]*: it is not used/);
  assert.match(result.err, /there is no table "nonsense"/);
  assert.equal(openRecording(path.join(cwd, 'r')).job.interval_seconds, 0.2);
});

test('a resubmitted job gets a folder of its own, and what was there stays', async (t) => {
  const cwd = temporaryFolder(t);
  const run = () => tacho(['run', '--no-report', '-o', 'sub/run7', '--', ...COMMAND], { cwd, env: outside() });
  assertRan(run(), /^$/);
  const before = fs.readFileSync(path.join(cwd, 'sub/run7/job.json'), 'utf8');
  assertRan(run(), /^tacho: sub\/run7 exists already: the recording is sub\/run7-2\n$/);
  assertRan(run(), /^tacho: sub\/run7 exists already: the recording is sub\/run7-3\n$/);
  assert.equal(fs.readFileSync(path.join(cwd, 'sub/run7/job.json'), 'utf8'), before);
  fs.writeFileSync(path.join(cwd, 'plain'), 'x');
  assertRan(tacho(['run', '--no-report', '-o', 'plain', '--', ...COMMAND], { cwd }), /the recording is plain-2\n/);
  assert.equal(fs.readFileSync(path.join(cwd, 'plain'), 'utf8'), 'x');
  const strict = tacho(['run', '--strict', '-o', 'sub/run7', '--', ...COMMAND], { cwd });
  assert.deepEqual([strict.code, strict.out], [1, '']);
  assert.match(strict.err, /sub\/run7 is a recording already/);
});

test('tasks of an array that begin at once in one folder get one each, be it there or not', async (t) => {
  const cwd = temporaryFolder(t);
  fs.mkdirSync(path.join(cwd, 'empty'));
  const all = ['new', 'new', 'new', 'empty', 'empty', 'empty'].map((name) =>
    spawn(TACHO, ['run', '--no-report', '-o', name, '--', 'true'], { cwd, env: outside(), stdio: 'ignore' }),
  );
  assert.deepEqual(await Promise.all(all.map(async (child) => (await once(child, 'exit'))[0])), [0, 0, 0, 0, 0, 0]);
  const made = fs
    .readdirSync(cwd)
    .filter((name) => name !== '.cache')
    .sort();
  assert.deepEqual(made, ['empty', 'empty-2', 'empty-3', 'new', 'new-2', 'new-3']);
  for (const name of made) assert.equal(openRecording(path.join(cwd, name)).job.exit_code, 0, name);
});

test('a disk without room, or that may not be written to', {
  skip: !isRoot && 'needs root to mount a small disk',
}, (t) => {
  for (const [size, ballast] of [
    ['48k', false],
    ['64k', true],
  ] as const) {
    const cwd = path.join(temporaryFolder(t), 'small');
    fs.mkdirSync(cwd);
    spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', cwd]);
    try {
      if (ballast) spawnSync('dd', ['if=/dev/zero', `of=${cwd}/ballast`, 'bs=1k'], { stdio: 'ignore' });
      const before = fs.readdirSync(cwd);
      const env = outside({ HOME: '/nonexistent' });
      assertRan(
        tacho(['run', '-o', 'rec', '--', ...COMMAND], { cwd, env }),
        /not recorded: cannot (record in|write) .*rec: no space left/,
      );
      assert.deepEqual(fs.readdirSync(cwd), before);
      assert.equal(tacho(['start'], { cwd, env }).code, 0);
      spawnSync('mount', ['-o', 'remount,ro', cwd]);
      assertRan(tacho(['run', '--', ...COMMAND], { cwd, env }), /not recorded: cannot write .*: read-only file system/);
    } finally {
      spawnSync('umount', [cwd]);
    }
  }
});

test('in a folder that was deleted below the user', () => {
  const script = `cd "$(mktemp -d)" && rmdir "$PWD" && exec "$0" run -- sh -c 'echo ran; exit 7'`;
  const done = spawnSync('sh', ['-c', script, TACHO], { encoding: 'utf8', env: outside() });
  assertRan(
    { code: done.status, signal: null, out: done.stdout, err: done.stderr },
    /the folder you are in is not there any more/,
  );
});

/** Where bundles are not made the TypeScript is run as it is. */
const BUNDLER = 'esbuild';

/**
 * A copy of this checkout that can be damaged, with bundles of its own. It only records, and has not what pages are made
 * of: bundling takes half the time then.
 */
function copy(
  t: TestContext,
  without: readonly string[] = [],
): { folder: string; run: (args: string[], env?: NodeJS.ProcessEnv) => Answer } {
  const folder = temporaryFolder(t, IN_MEMORY);
  for (const name of ['src', 'native', 'scripts'])
    fs.cpSync(path.join(HERE, name), path.join(folder, name), { recursive: true });
  for (const name of ['tacho', 'package.json', 'package-lock.json'])
    fs.copyFileSync(path.join(HERE, name), path.join(folder, name));
  fs.mkdirSync(path.join(folder, 'node_modules'));
  for (const name of fs.readdirSync(path.join(HERE, 'node_modules'))) {
    if (['.tacho', 'fastify', ...without].includes(name)) continue;
    fs.symlinkSync(path.join(HERE, 'node_modules', name), path.join(folder, 'node_modules', name));
  }
  for (const stamp of ['node_modules/.tacho-installed', 'native/build/stamp']) {
    if (without.includes(stamp)) continue;
    fs.rmSync(path.join(folder, stamp), { force: true });
    fs.writeFileSync(path.join(folder, stamp), '');
  }
  const cwd = path.join(folder, 'work');
  fs.mkdirSync(cwd);
  const run = (args: string[], env = outside({ HOME: cwd })): Answer => {
    const done = spawnSync(path.join(folder, 'tacho'), args, { cwd, env, encoding: 'utf8' });
    return { code: done.status, signal: done.signal, out: done.stdout, err: done.stderr };
  };
  return { folder, run };
}

const append = (folder: string, file: string, text: string): void => fs.appendFileSync(path.join(folder, file), text);

test('Tacho is damaged: the command runs all the same, and scripts go on', (t) => {
  const damages: [what: string, without: string[], damage: (folder: string) => void][] = [
    ['a package is missing', ['commander', BUNDLER], () => {}],
    ['a file is missing', [BUNDLER], (folder) => fs.rmSync(path.join(folder, 'src/agent/run/record.ts'))],
    ['a file is damaged', [], (folder) => append(folder, 'src/cli/run.ts', '\nconst = ;\n')],
    [
      'its own way of running commands, too',
      ['commander', BUNDLER],
      (folder) => fs.rmSync(path.join(folder, 'src/agent/run/command-first.ts')),
    ],
    [
      'an error where nobody expects one',
      [],
      (folder) => append(folder, 'src/jobs/schedulers/job-facts.ts', '\nthrow new Error("damaged");\n'),
    ],
  ];
  for (const [what, without, damage] of damages) {
    const { folder, run } = copy(t, without);
    damage(folder);
    for (const args of [
      ['--', ...COMMAND],
      ['-n', 'x', '--no-report', ...COMMAND],
    ])
      assertRan(run(['run', ...args]), NOT_RECORDED, what);
    assert.equal(run(['run', '--strict', '--', ...COMMAND]).out, '', what);
    if (!without.includes('commander')) continue;
    for (const args of [['start'], ['stop'], ['mark', 'begin', 'x'], ['fom', 'x=1']]) {
      const result = run(args);
      assert.equal(result.code, 0, `${what} ${args}: ${result.err}`);
      assert.match(result.err, /^tacho: .*internal error/);
      assert.equal(run([...args, '--strict']).code, 1);
    }
  }
});

test('Tacho fails while the command runs: it goes on, and its exit code counts', (t) => {
  const { folder, run } = copy(t);
  // once the recorder has been told of the command
  append(folder, 'src/agent/run/record.ts', '\nsetInterval(() => { throw new Error("damaged"); }, 500);\n');
  const result = run(['run', '--no-report', '-i', '0.1s', '-o', 'r', '--', 'sh', '-c', 'sleep 2; echo ran; exit 7']);
  assertRan(result, /^tacho: recording has failed, the command goes on: internal error: damaged[^\n]*\n/);
  assert.equal(result.err.match(/damaged/g)!.length, 1);
  // the rest of it has done its work
  assert.equal(openRecording(path.join(folder, 'work/r')).job.exit_code, 7);
});

/** An error that nobody can catch, and a promise that is late or never kept. */
const broken = (wait: string): string =>
  `setImmediate(() => { throw new Error("damaged"); }); await new Promise((late) => ${wait});`;

test('Tacho fails before the command is started: it runs, once', (t) => {
  const { folder, run } = copy(t, [BUNDLER]);
  const file = path.join(folder, 'src/agent/run/record.ts');
  const text = fs.readFileSync(file, 'utf8');
  const start = 'const node = await startNodeAgent({';
  assert.ok(text.includes(start));
  // the recorder gets ready while the command runs already
  fs.writeFileSync(file, text.replace(start, `${broken('setTimeout(late, 300)')} ${start}`));
  const result = run(['run', '--no-report', '--', 'sh', '-c', 'sleep 2; echo ran; exit 7']);
  assertRan(result, /^tacho: the command runs, but is not recorded: internal error: damaged[^\n]*\n$/);
  assert.deepEqual(
    fs.readdirSync(path.join(folder, 'work')).filter((name) => name.startsWith('tacho')),
    [],
  );
});

test('the report card fails in a way that nobody expects: the exit code is the command’s', (t) => {
  const { folder, run } = copy(t, [BUNDLER]);
  const file = path.join(folder, 'src/cli/run.ts');
  const text = fs.readFileSync(file, 'utf8');
  const card = 'const card = await reportCard(';
  assert.ok(text.includes(card));
  fs.writeFileSync(file, text.replace(card, `${broken('{}')} ${card}`));
  assertRan(run(['run', '--', ...COMMAND]), /internal error: damaged/);
});

test('a launcher that cannot be started, and koffi gone: only the usage is missing', (t) => {
  const { folder, run } = copy(t, ['koffi', BUNDLER]);
  fs.writeFileSync(path.join(folder, 'native/build/launch'), '\x7fELF of another machine', { mode: 0o755 });
  const result = run(['run', '--no-report', '-o', 'r', '--', ...COMMAND]);
  assertRan(result, /native\/build\/launch cannot be started: /);
  const { job } = openRecording(path.join(folder, 'work/r'));
  assert.deepEqual([job.exit_code, job.usage], [7, undefined]);
});

test('Tacho cannot be installed, or Node not be started: the launcher itself runs the command', (t) => {
  const { folder, run } = copy(t, ['node_modules/.tacho-installed', '.tacho-installed']);
  fs.writeFileSync(path.join(folder, 'scripts/install'), 'echo "tacho: no network" >&2; exit 1\n');
  assertRan(
    run(['run', '-o', 'r', '--', ...COMMAND]),
    /^tacho: no network\ntacho: the command runs, but is not recorded: Tacho could not install itself\n$/,
  );
  assert.deepEqual(
    [run(['run', '--strict', '--', ...COMMAND]), run(['report', 'x'])].map(({ code, out }) => [code, out]),
    [
      [1, ''],
      [1, ''],
    ],
  );
  assert.equal(run(['start']).code, 0);
  const env = run(['run', '--', 'env'], outside({ HOME: folder, NODE_OPTIONS: '--no-warnings' })).out;
  assert.match(env, /^NODE_OPTIONS=--no-warnings$/m);
  assert.doesNotMatch(env, /^TACHO_/m);
});

test('limits leave Node too little: the command runs below them', (t) => {
  const cwd = temporaryFolder(t);
  const below = (limit: string, ...who: string[]): Answer => {
    const limited = `ulimit ${limit}; ulimit -c unlimited; exec "$0" run -- sh -c 'echo ran; exit 7'`;
    const done = spawnSync('setpriv', [...who, 'bash', '-c', limited, TACHO], {
      encoding: 'utf8',
      // a variable for the job's Node is none for the one that is tried
      env: outside({ NODE_V8_COVERAGE: path.join(cwd, 'coverage'), OPENSSL_CONF: '/nonexistent' }),
      cwd,
      timeout: 120_000,
    });
    return { code: done.status, signal: null, out: done.stdout, err: done.stderr };
  };
  for (const limit of ['-v 300000', '-d 100000'])
    assertRan(below(limit), new RegExp(`^tacho: .* not recorded: Node does not start below ulimit ${limit}\n$`));
  for (const few of ['16', '30', '40'])
    assertRan(
      below(`-n ${few}`),
      new RegExp(`not recorded: recording takes 64 open files, and ulimit -n is ${few}\n$`),
    );
  // processes are counted for each user: it is one that has no others, where that one can see this clone
  const who = ['--reuid', '61234', '--regid', '61234', '--clear-groups'];
  if (isRoot && spawnSync('setpriv', [...who, 'test', '-x', TACHO]).status === 0)
    assertRan(below('-u 7', ...who), /^tacho: .* not recorded: Node does not start below ulimit -u 7\n$/);
  assert.deepEqual(fs.readdirSync(cwd), []);
});

const PIDS = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find((at) => fs.existsSync(path.join(at, 'cgroup.procs')));

test('a cgroup allows few processes: the command runs below that', {
  skip: (!isRoot || PIDS === undefined || !fs.existsSync('/proc/self/cgroup')) && 'needs root, and cgroups',
}, (t) => {
  const cwd = temporaryFolder(t);
  const cgroup = path.join(PIDS!, `tacho-few-${process.pid}`);
  fs.mkdirSync(cgroup);
  t.after(() => fs.rmdirSync(cgroup));
  if (!fs.existsSync(path.join(cgroup, 'pids.max'))) return t.skip('this machine counts no processes in cgroups');
  for (const most of [6, 9, 12]) {
    fs.writeFileSync(path.join(cgroup, 'pids.max'), String(most));
    const script = 'echo $$ >"$0/cgroup.procs"; exec "$1" run -- sh -c "echo ran; exit 7"';
    const args = ['-c', script, cgroup, TACHO];
    const done = spawnSync('sh', args, { encoding: 'utf8', env: outside(), cwd, timeout: 60_000 });
    const result = { code: done.status, signal: null, out: done.stdout, err: done.stderr };
    assertRan(result, /not recorded: recording takes 24 processes and threads, and the cgroup allows \d+ more\n$/);
  }
});

/** A release with a Node of one's own. */
function release(t: TestContext): { node: string; run: (args: string[]) => Answer } {
  const folder = temporaryFolder(t);
  for (const name of ['bin', 'lib', 'scripts']) fs.mkdirSync(path.join(folder, name));
  // they are a part of every release
  const [, bundleNames] = /\[('tacho', .*)\]\) fs\.copy/.exec(
    fs.readFileSync(path.join(HERE, 'scripts/release.ts'), 'utf8'),
  )!;
  for (const name of bundleNames!.replaceAll("'", '').split(', '))
    fs.copyFileSync(path.join(HERE, name), path.join(folder, name));
  fs.chmodSync(path.join(folder, 'tacho'), 0o755);
  const run = (args: string[]): Answer => {
    const done = spawnSync(path.join(folder, 'tacho'), args, { encoding: 'utf8', env: outside() });
    return { code: done.status, signal: done.signal, out: done.stdout, err: done.stderr };
  };
  return { node: path.join(folder, 'bin/node'), run };
}

test('a release whose Node is not there runs the command, too', (t) => {
  const { run } = release(t);
  assertRan(run(['run', '-o', 'r', '--', ...COMMAND]), /not recorded: there is no .*bin\/node\n$/);
  assert.deepEqual([run(['stop']).code, run(['list']).code, run([]).code], [0, 1, 1]);
});

test('a Node that does not load, as in a container of another system: the command runs', (t) => {
  const elsewhere = fs.readFileSync(process.execPath).subarray(0, 4096);
  elsewhere.writeUInt16LE(243, 18);
  const unloadable: Record<string, [file: string | Buffer, says: RegExp]> = {
    'of another architecture': [elsewhere, /Node does not start here: .*bin\/node/],
    'without its loader': ['#!/nonexistent/ld-linux.so.2\n', /Node does not start here: .*bin\/node: .*not found/],
    'with another C library': [
      '#!/bin/sh\necho "node: libc.so.6: version GLIBC_2.28 not found" >&2\nexit 1\n',
      /Node does not start here: node: libc\.so\.6: version GLIBC_2\.28 not found\n$/,
    ],
  };
  const { folder, run } = copy(t, ['.bin']);
  fs.mkdirSync(path.join(folder, 'node_modules/.bin'));
  for (const { node, run: start } of [{ node: path.join(folder, 'node_modules/.bin/node'), run }, release(t)]) {
    for (const [what, [file, says]] of Object.entries(unloadable)) {
      fs.writeFileSync(node, file, { mode: 0o755 });
      const result = start(['run', '-o', 'r', '--', ...COMMAND]);
      assertRan(result, says, `${what} ${node}`);
      assert.equal(result.err.trimEnd().split('\n').length, 1, result.err);
      for (const args of [['start'], ['stop'], ['mark', 'begin', 'x'], ['fom', 'x=1']]) {
        assert.equal(start(args).code, 0, `${what} ${args}`);
        assert.equal(start([...args, '--strict']).code, 1, `${what} ${args}`);
      }
      assert.deepEqual(start(['run', '--strict', '--', ...COMMAND]).out, '');
    }
  }
});

test('the command is found in the arguments of run in one way, whoever looks for it', async () => {
  const run = (await wholeProgram()).commands.find((each) => each.name() === 'run')!;
  const cases: string[][] = [['--'], [], ['--', '--'].slice(1), ['-n', 'x'], ['-nx', '-i0.5', '--'], ['--interval=1']];
  for (const { long, short, required } of run.options) {
    if (long === '--help') continue;
    for (const flag of [long, short])
      if (flag) cases.push([flag, ...(required ? ['value'] : [])], [flag, ...(required ? ['value'] : []), '--']);
  }
  for (const flags of cases) {
    assert.deepEqual(
      commandOfRun(['run', ...flags, 'printf', '%s', '--strict']),
      ['printf', '%s', '--strict'],
      flags.join(' '),
    );
    if (flags.includes('--strict')) continue;
    const script = path.join(HERE, 'scripts/unrecorded');
    const done = spawnSync('sh', [script, 'why', 'run', ...flags, 'printf', '%s', '--strict'], { encoding: 'utf8' });
    assert.equal(done.stdout, '--strict', `${flags.join(' ')} ${done.stderr}`);
  }
  for (const none of [['run'], ['run', '--help', 'x'], ['run', '--'], ['start', 'x']])
    assert.equal(commandOfRun(none), undefined);
});

test('signals of an unrecorded command are its own, and so are descriptors', async (t) => {
  const cwd = temporaryFolder(t);
  const script = `trap 'echo got >&5; exit 9' TERM; echo ready >&5; while :; do sleep 0.05; done`;
  const child = spawn('bash', ['-c', 'exec 5>log; exec "$0" run -o /proc/x -- bash -c "$1"', TACHO, script], {
    cwd,
    env: outside(),
    stdio: 'ignore',
  });
  const log = (): string =>
    fs.existsSync(path.join(cwd, 'log')) ? fs.readFileSync(path.join(cwd, 'log'), 'utf8') : '';
  await eventually(
    () => `ready in ${log()}`,
    () => log() === 'ready\n',
  );
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [9, null]);
  assert.equal(log(), 'ready\ngot\n');
});
