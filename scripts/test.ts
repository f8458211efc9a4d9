import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { run } from 'node:test';
import { inspect } from 'node:util';

/** Type check, lint, then every test file; the last line says how it went: `N passed, N failed, N skipped`. */

const HERE = path.join(import.meta.dirname, '..');
const CONCURRENCY = 2;
const FILE_MINUTES = 20;
const SLOWEST = 5;

const counts = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
const skips = new Map<string, number>();
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;

process.chdir(HERE);
// the user's own configuration must not decide how tests end
const empty = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-test-'));
process.on('exit', () => fs.rmSync(empty, { recursive: true, force: true }));
process.env.XDG_CONFIG_HOME = empty;
for (const name of Object.keys(process.env))
  if (name.startsWith('TACHO_') && name !== 'TACHO_UNDER_TEST') delete process.env[name];

const words = process.argv.slice(2);
const started = Date.now();
if (words.length === 0) {
  await Promise.all([
    check('type check', ['node_modules/typescript/bin/tsc', '--noEmit', '-p', '.']),
    check('lint', ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']),
  ]);
}
await tests(testFiles(words));
summary();

/** Tests that start whole programs take longest: they go first. */
function testFiles(wanted: readonly string[]): string[] {
  const folders = ['test', 'bench', 'src', 'scripts', 'native', 'web', 'python'];
  const files = folders.flatMap((folder) => fs.globSync(`${folder}/**/*.test.ts`).sort());
  return wanted.length === 0 ? files : files.filter((file) => wanted.some((word) => file.includes(word)));
}

async function check(name: string, command: readonly string[]): Promise<void> {
  const began = Date.now();
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] });
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
}

async function tests(files: readonly string[]): Promise<void> {
  const output = new Map<string, string>();
  const durations: [string, number][] = [];
  const nameOf = (file: string | undefined): string => path.relative(HERE, file ?? '');
  const keep = ({ file, message }: { file?: string | undefined; message: string }): void => {
    output.set(nameOf(file), (output.get(nameOf(file)) ?? '') + message);
  };
  const printed = (file: string): string => `it printed:\n${output.get(file)?.trimEnd() ?? '(nothing)'}`;
  const stream = run({ files: [...files], concurrency: CONCURRENCY, timeout: FILE_MINUTES * 60_000 });
  stream.on('test:stdout', keep).on('test:stderr', keep);
  stream.on('test:fail', (event) => {
    // a suite fails because a test in it did: that one has been shown
    const { failureType, cause } = event.details.error as { failureType?: string; cause?: unknown };
    if (failureType === 'subtestsFailed' || event.todo !== undefined) return;
    const file = nameOf(event.file);
    failures.push(`${file}: ${event.name}`);
    if (path.resolve(event.name) === event.file) say(`✗ ${file} ended badly\n${indent(printed(file))}`);
    else say(`✗ ${file}:${event.line ?? ''} ${event.name}\n${indent(inspect(cause ?? event.details.error))}`);
  });
  stream.on('test:pass', ({ skip }) => {
    if (typeof skip === 'string') skips.set(skip, (skips.get(skip) ?? 0) + 1);
  });
  stream.on('test:summary', (event) => {
    const { passed, failed, cancelled, skipped, todo } = event.counts as typeof event.counts & { failed: number };
    if (event.file === undefined) {
      counts.passed += passed;
      counts.failed += failed + cancelled;
      counts.skipped += skipped + todo;
      return;
    }
    const file = nameOf(event.file);
    durations.push([file, event.duration_ms]);
    const parts = [`${passed} passed`];
    if (failed + cancelled > 0) parts.push(`${failed + cancelled} failed`);
    if (skipped + todo > 0) parts.push(`${skipped + todo} skipped`);
    say(`${event.success ? '✓' : '✗'} ${file}: ${parts.join(', ')} (${seconds(event.duration_ms)})`);
    if (!event.success) say(indent(printed(file)));
  });
  stream.resume();
  await new Promise((resolve) => stream.on('end', resolve));
  const slowest = durations.sort((a, b) => b[1] - a[1]).slice(0, SLOWEST);
  if (files.length > SLOWEST) say(`\nslowest: ${slowest.map(([file, time]) => `${file} ${seconds(time)}`).join(', ')}`);
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}

function summary(): void {
  for (const [why, times] of skips) say(`left out: ${times} × ${why}`);
  if (failures.length > 0) say(`\nfailed:\n${failures.map((name) => `  ${name}`).join('\n')}`);
  say(`${seconds(Date.now() - started)} in all`);
  say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  process.exitCode = counts.failed > 0 ? 1 : 0;
}
