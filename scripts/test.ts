import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Forking, forkingServer } from '../test/forked/start.ts';
import { cpuSeconds, type Report } from './test-worker.ts';

/**
 * Type check, lint and every test file; the last line says how it went: `N passed, N failed, N skipped`. What starts the
 * program as a user does starts a release that is made of this checkout, unless WORDs choose some of the files.
 */

const HERE = path.join(import.meta.dirname, '..');
const WORKER = path.join(import.meta.dirname, 'test-worker.ts');
/** A file that takes longer hangs: it is ended, with all that it started. */
const LIMIT_MINUTES = Number(process.env.TEST_LIMIT_MINUTES ?? 20);
/** So many files at a time anyhow; more, up to the other number, while they leave a processor idle. */
const AT_ONCE = [2 * os.availableParallelism(), 6 * os.availableParallelism()] as const;
/** Unit tests share processes, of about so many files each. */
const SHARED_FILES = 40;
/** So long tests may take to stop what they have started, once they are told that the run is over. */
const ABORT_SECONDS = 20;
const SLOWEST = 5;
/** Test files that use the same server, in this order: they share a process, and with it the server. */
const SHARED_SERVERS = [
  ['slurm/accounting', 'slurm/advise', 'slurm/processes', 'slurm/ranks', 'slurm/slurm'],
  ['database-commands', 'database', 'history-database', 'same-answers', 'python', 'serve/collections'],
  ['kafka/sink', 'kafka/hub', 'kafka/own', 'kafka/access'],
].map((names) => names.map((name) => `test/${name}.test.ts`));
/** They take longest, in this order: what comes last must not run alone. */
const FIRST = [
  'slurm/cluster-mode',
  'slurm/slurm',
  'database-commands',
  'job-first',
  'start-stop',
  'causes/',
  'mpi/',
  'serve/page',
  'install',
  'clock-set',
  'release',
  'no-loss',
  'mutations',
  'victoria/',
].map((name) => `test/${name}`);

/** These start the program of the checkout in any case: how it installs itself, and a sample of all that it does. */
const CHECKOUT = /^test\/(install|cgroup-v2|doors|readme|run|exit-status|mark-sample|gpu-run|configuration)\.test\.ts$/;

/** Run only when they are named: what they need, or make, is large. */
const SECOND = /^test\/(spark\/|dask-versions\/|kafka\/|packages\.test)/;

/** A test file that changes what belongs to the process, or prepares something for all of its tests, has one of its own. */
const OWN_PROCESS =
  /process\.(env\b|chdir|umask|exit|set\w*[ug]id|on\(|once\(|std\w+\.\w+ =)|mock\.|^(before|after)(Each)?\(|fakeGpu\(/m;

interface Task {
  run(): Promise<unknown>;
  isReady(): boolean;
}

interface Used {
  milliseconds: number;
  cpuSeconds: number;
}

const counts = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
const skips = new Map<string, number>();
const used = new Map<string, Used>();
/** With the line that it, and all that it starts, has in its environment. */
const running = new Map<ChildProcess, string>();
let begun = 0;
let isAborted = false;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;
const indent = (text: string): string => text.replaceAll(/^/gm, '    ');

process.chdir(HERE);
// the user's own configuration must not decide how tests end
const empty = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-test-'));
process.on('exit', () => fs.rmSync(empty, { recursive: true, force: true }));
process.env.XDG_CONFIG_HOME = empty;
process.env.TEST_MEMORY_FOLDER = memoryFolder();
// what Node has compiled is kept also where a test has a home of its own: that is two thirds of a start
process.env.XDG_CACHE_HOME = path.join(HERE, 'node_modules/.cache');
fs.mkdirSync(process.env.XDG_CACHE_HOME, { recursive: true });
for (const name of Object.keys(process.env))
  if (name.startsWith('TACHO_') && name !== 'TACHO_UNDER_TEST') delete process.env[name];
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void abort(signal));
// npm that is ended ends its shell, and that one ends alone
const parent = process.ppid;
if (process.env.npm_lifecycle_event !== undefined)
  setInterval(() => process.ppid !== parent && !isAborted && void abort('SIGTERM'), 500).unref();

const commandArgs = process.argv.slice(2);
const started = Date.now();
const { execPath: node } = process;
/** The folder that it was made in; undefined: there is none. Unit tests do not wait for it. */
let release: string | undefined;
let isReleased = true;
/** Forks the release for what asks it (test/forked); undefined: there is no compiler, or no release. */
let forking: Forking | undefined;
const tasks: Task[] = shareProcesses(testFiles(commandArgs)).map((files) => ({
  run: () => runFiles(files),
  isReady: () => isReleased || !files[0]!.startsWith('test/'),
}));
if (commandArgs.length === 0) {
  const checks: [name: string, command: readonly string[]][] = [
    ['type check', typeCheck('.')],
    ['type check of the page', typeCheck('web')],
    ['lint', [node, 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']],
  ];
  tasks.unshift(...checks.map((each) => ({ run: () => check(...each), isReady: () => true })));
  isReleased = process.env.TACHO_UNDER_TEST !== undefined || spawnSync('cc', ['--version']).error !== undefined;
  if (!isReleased) tasks.unshift({ run: makeRelease, isReady: () => true });
}
const { TACHO_UNDER_TEST: given } = process.env;
if (given !== undefined) await startForking(path.dirname(given));
await runAll(tasks);
if (forking !== undefined) {
  add('forks of the release', { milliseconds: 0, cpuSeconds: cpuSeconds(forking.server.pid) });
  forking.server.kill('SIGKILL');
}
summary();

function testFiles(wanted: readonly string[]): string[] {
  const folders = ['test', 'bench', 'src', 'scripts', 'native', 'web', 'python'];
  const files = folders.flatMap((folder) => fs.globSync(`${folder}/**/*.test.ts`).sort());
  const rank = (file: string): number => {
    const at = FIRST.findIndex((name) => file.startsWith(name));
    return at < 0 ? FIRST.length : at;
  };
  return files
    .filter((file) => (wanted.length === 0 && !SECOND.test(file)) || wanted.some((word) => file.includes(word)))
    .sort((a, b) => rank(a) - rank(b))
    .concat(wanted.filter((word) => path.isAbsolute(word)));
}

/** For test/made/in-memory.ts; others may read what is made there, and PostgreSQL runs as somebody else. */
function memoryFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-memory-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', 'tacho-test', folder]).status === 0;
  fs.chmodSync(folder, 0o755);
  process.on('exit', () => {
    if (isMounted) spawnSync('umount', ['--lazy', folder]);
    fs.rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/**
 * What the last check saw is kept, and only what has changed since is checked. Other tests use the other processors:
 * several threads would check the same types, each for itself.
 */
function typeCheck(project: string): string[] {
  const buildInfo = path.join('node_modules/.cache', `tsc-${project === '.' ? 'all' : project}`);
  const options = ['--noEmit', '--singleThreaded', '--incremental', '--tsBuildInfoFile', buildInfo];
  // Go collects garbage half as often
  return ['env', 'GOGC=400', node, 'node_modules/typescript/bin/tsc', ...options, '-p', project];
}

/** The files of each process, in the order in which they are to be started: tests of whole programs first. */
function shareProcesses(files: readonly string[]): string[][] {
  const beside = files.filter((file) => !file.startsWith('test/'));
  const alone = beside.filter((file) => OWN_PROCESS.test(fs.readFileSync(file, 'utf8')));
  const sharing = beside.filter((file) => !alone.includes(file));
  const groups = Array.from({ length: Math.ceil(sharing.length / SHARED_FILES) }, (): string[] => []);
  for (const [i, file] of sharing.entries()) groups[i % groups.length]!.push(file);
  const whole = files.filter((file) => file.startsWith('test/'));
  const wholeProcesses = new Set<string[]>();
  const servers = SHARED_SERVERS.map((names) => names.filter((name) => whole.includes(name)));
  for (const file of whole) wholeProcesses.add(servers.find((names) => names.includes(file)) ?? [file]);
  return [...wholeProcesses, ...alone.map((file) => [file]), ...groups];
}

/** Its files belong to the user who tests, and others may read them. */
async function makeRelease(): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-release-'));
  fs.chmodSync(folder, 0o755);
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  if (await check('release', ['sh', 'scripts/release', folder, '--quick'])) {
    release = folder;
    await startForking(path.dirname(releasedProgram()));
  }
  isReleased = true;
}

function releasedProgram(): string {
  return fs.globSync(`${release}/*/tacho`)[0]!;
}

async function startForking(root: string): Promise<void> {
  const bundled = [path.join(root, 'bin/node'), path.join(root, 'lib/start.cjs')] as const;
  forking = await forkingServer(empty, bundled, begin);
  if (forking === undefined) say('the release cannot be forked: it is started every time');
}

/** Tells a test file which program it starts, and test/release which release there is already. */
function programOf(file: string): Record<string, string> {
  if (!file.startsWith('test/')) return {};
  const forks = forking === undefined ? {} : { FORKED_UNDER_TEST: forking.client };
  if (release === undefined) return forks;
  if (CHECKOUT.test(file)) return {};
  if (file === 'test/release.test.ts') return { RELEASE_UNDER_TEST: release };
  return { TACHO_UNDER_TEST: releasedProgram(), ...forks };
}

async function check(name: string, [program, ...args]: readonly string[]): Promise<boolean> {
  const began = Date.now();
  const child = begin((env) => spawn(program!, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true }));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const code = await new Promise((resolve) => child.on('close', resolve).on('error', () => resolve(-1)));
  if (code === 0) {
    counts.passed++;
    say(`✓ ${name} (${seconds(Date.now() - began)})`);
  } else {
    counts.failed++;
    failures.push(name);
    say(`✗ ${name}\n${output}`);
  }
  return code === 0;
}

/** Most tests wait for other programs: as long as a processor is idle, another file is begun. */
async function runAll(given: readonly Task[]): Promise<void> {
  const [least, most] = AT_ONCE;
  const waiting = [...given];
  const all = new Set<Promise<unknown>>();
  while (waiting.length > 0 && !isAborted) {
    const next = waiting.findIndex((task) => task.isReady());
    const idle = next < 0 ? 0 : all.size < least ? 1 : all.size < most ? await idleProcessors() : 0;
    if (idle < 0.3) {
      await Promise.race([...all, sleep(500)]);
      continue;
    }
    const [task] = waiting.splice(next, 1);
    const ended = task!.run().finally(() => all.delete(ended));
    all.add(ended);
  }
  await Promise.all(all);
}

/** Over half a second. */
async function idleProcessors(): Promise<number> {
  const idle = (): number => os.cpus().reduce((sum, { times }) => sum + times.idle, 0);
  const [before, began] = [idle(), Date.now()];
  await sleep(500);
  return (idle() - before) / (Date.now() - began);
}

/** Runs test files in a process of theirs. */
async function runFiles(files: readonly string[]): Promise<void> {
  const began = Date.now();
  const child = begin((env) =>
    fork(WORKER, [...files], {
      env: { ...env, ...programOf(files[0]!) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      serialization: 'advanced',
      detached: true,
    }),
  );
  const tally = new Map(files.map((file) => [file, { passed: 0, failed: 0, skipped: 0 }]));
  const troubles: string[] = [];
  let output = '';
  let last = 'nothing';
  let complete = false;
  let cpuSeconds: number | undefined;
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.on('message', (report: Report) => {
    if (report.kind === 'begun') last = `${report.file}:${report.line ?? ''} ${report.name}`;
    else if (report.kind === 'test') {
      tally.get(report.file)![report.state]++;
      if (report.why !== undefined) skips.set(report.why, (skips.get(report.why) ?? 0) + 1);
    } else if (report.kind === 'failure') {
      failures.push(`${report.file}: ${report.name}`);
      say(`✗ ${report.file}:${report.line ?? ''} ${report.name}\n${indent(report.text)}`);
    } else if (report.kind === 'diagnostic') troubles.push(report.text);
    else if (report.kind === 'over') ({ complete, cpuSeconds } = report);
    else if (files.length > 1) add(report.file, report);
  });
  const limit = setTimeout(() => {
    troubles.push(`it was ended after ${LIMIT_MINUTES} minutes, in ${last}`);
    const mark = running.get(child);
    if (mark !== undefined) kill(child, mark);
  }, LIMIT_MINUTES * 60_000);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.once('close', (...how) => resolve(how)),
  );
  clearTimeout(limit);

  const wall = Date.now() - began;
  const [first] = files;
  if (files.length === 1) add(first!, { milliseconds: wall, cpuSeconds: cpuSeconds ?? 0 });
  const failed = [...tally.values()].some((each) => each.failed > 0);
  if (troubles.length > 0 || !complete || (code !== 0 && !failed)) {
    if (troubles.length === 0) troubles.push(`it ended with ${signal ?? `exit code ${code}`}, in ${last}`);
    counts.failed++;
    failures.push(`${first}: ended badly`);
    say(`✗ ${files.join(', ')} ended badly\n${indent(troubles.join('\n'))}`);
  }
  for (const [file, each] of tally) {
    for (const state of ['passed', 'failed', 'skipped'] as const) counts[state] += each[state];
    const tallyTexts = [`${each.passed} passed`];
    if (each.failed > 0) tallyTexts.push(`${each.failed} failed`);
    if (each.skipped > 0) tallyTexts.push(`${each.skipped} skipped`);
    const { milliseconds, cpuSeconds: cpu } = used.get(file) ?? { milliseconds: 0, cpuSeconds: 0 };
    const cost = `${seconds(milliseconds)}, CPU ${cpu.toFixed(1)} s`;
    say(`${each.failed > 0 ? '✗' : '✓'} ${file}: ${tallyTexts.join(', ')} (${cost})`);
  }
  if (failed || code !== 0) say(indent(`it printed:\n${output.trimEnd() || '(nothing)'}`));
  if (files.length > 1)
    say(`  (${files.length} files in one process: ${seconds(wall)}, CPU ${cpuSeconds?.toFixed(1)} s)`);
}

function add(file: string, { milliseconds, cpuSeconds }: Used): void {
  const before = used.get(file) ?? { milliseconds: 0, cpuSeconds: 0 };
  used.set(file, {
    milliseconds: before.milliseconds + milliseconds,
    cpuSeconds: before.cpuSeconds + cpuSeconds,
  });
}

/** A process that is not in our process group: Ctrl-C ends all of them in order (abort). */
function begin<T extends ChildProcess>(start: (env: NodeJS.ProcessEnv) => T): T {
  const mark = `${process.pid}.${++begun}`;
  const child = start({ ...process.env, TEST_PROCESS: mark });
  running.set(child, `TEST_PROCESS=${mark}`);
  // not `close`, which does not come once we have left the channel
  child.once('exit', () => running.delete(child)).once('error', () => running.delete(child));
  return child;
}

/** With all that it started: its process group, and what has left that, as the nodes of a test cluster do. */
function kill(child: ChildProcess, mark: string): void {
  if (child.pid !== undefined) end(-child.pid);
  // who is found may have started another one meanwhile
  for (let i = 0; i < 10; i++) {
    const left = processesWith(mark);
    if (left.length === 0) break;
    left.forEach(end);
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it is over
  }
}

function processesWith(line: string): number[] {
  const has = (pid: string): boolean => {
    try {
      return fs.readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(line);
    } catch {
      return false;
    }
  };
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && has(name))
    .map(Number);
}

/** Tests that are told that we are gone stop what they have started; what they leave is ended. */
async function abort(signal: NodeJS.Signals): Promise<void> {
  isAborted = true;
  const all = [...running];
  for (const [child] of all) {
    if (child.connected) child.disconnect();
    else child.kill(signal);
  }
  for (let i = 0; i < 10 * ABORT_SECONDS && running.size > 0; i++) await sleep(100);
  for (const [child, mark] of all) kill(child, mark);
  process.exit(128 + os.constants.signals[signal]);
}

function summary(): void {
  const slowest = [...used].sort(([, a], [, b]) => b.milliseconds - a.milliseconds).slice(0, SLOWEST);
  const all = [...used.values()].reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  if (used.size > SLOWEST)
    say(`\nslowest: ${slowest.map(([file, { milliseconds }]) => `${file} ${seconds(milliseconds)}`).join(', ')}`);
  for (const [why, times] of skips) say(`left out: ${times} × ${why}`);
  if (failures.length > 0) say(`\nfailed:\n${failures.map((name) => `  ${name}`).join('\n')}`);
  say(`${seconds(Date.now() - started)} in all, CPU ${all.toFixed(0)} s`);
  say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  process.exitCode = counts.failed > 0 ? 1 : 0;
}
