import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from './made/eventually.ts';
import { temporaryFolder } from './tacho.ts';

const RUNNER = path.join(import.meta.dirname, '../scripts/test.ts');
const HEAD = "import assert from 'node:assert/strict'; import { test } from 'node:test';\n";

function written(t: TestContext, files: Readonly<Record<string, string>>): string[] {
  const folder = temporaryFolder(t);
  return Object.entries(files).map(([name, text]) => {
    const file = path.join(folder, `${name}.test.ts`);
    fs.writeFileSync(file, HEAD + text);
    return file;
  });
}

function run(files: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const options = { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 120_000 } as const;
  const { status, stdout } = spawnSync(process.execPath, [RUNNER, ...files], options);
  return { status, lines: stdout.trimEnd().split('\n'), text: stdout };
}

test('a test that fails is shown with file, line, name and what was printed; the last line has the counts', (t) => {
  const [file] = written(t, {
    bad: `test('fine', () => {});
test('left out', { skip: 'no such machine' }, () => {});
test('wrong', () => {
  console.log('it said this');
  assert.equal(1, 2);
});
`,
  });
  const { status, text, lines } = run([file!]);
  assert.equal(status, 1);
  assert.match(text, /✗ \S*bad\.test\.ts:4 wrong\n {4}AssertionError.*\n(?:.*\n)*? +at .*bad\.test\.ts:6:10/);
  assert.match(
    text,
    /✗ \S*bad\.test\.ts: 1 passed, 1 failed, 1 skipped \(.* s, CPU .* s\)\n.*it printed:\n.*it said this/,
  );
  assert.match(text, /left out: 1 × no such machine/);
  assert.match(text, /failed:\n {2}\S*bad\.test\.ts: wrong\n/);
  assert.equal(lines.at(-1), '1 passed, 1 failed, 1 skipped');
});

test('a file that cannot be loaded, one that ends by itself, and an error after the end of a test fail', (t) => {
  const files = written(t, {
    broken: "import './nothing.ts';\n",
    gone: "process.on('exit', () => {});\ntest('ends', () => process.exit(0));\ntest('never comes', () => {});\n",
    late: "process.on('exit', () => {});\ntest('early', () => void setTimeout(() => { throw new Error('late'); }, 10));\n",
  });
  const results = files.map((file) => run([file]));
  for (const { status, text } of results) assert.equal(status, 1, text);
  assert.match(results[0]!.text, /Cannot find module/);
  assert.match(results[1]!.text, /gone\.test\.ts ended badly\n.*in \S*gone\.test\.ts:3 ends/);
  assert.match(results[2]!.text, /late\.test\.ts ended badly\n.*"Error: late"/);
});

test('a file that hangs is ended with all that it started, and named with its test', async (t) => {
  const [file] = written(t, {
    hangs: `import { spawn } from 'node:child_process'; import * as fs from 'node:fs';
test('waits for ever', async () => {
  fs.writeFileSync(import.meta.filename + '.pid', String(spawn('sleep', ['600']).pid));
  await new Promise(() => setInterval(() => {}, 1000));
});
`,
  });
  const { status, text } = run([file!], { TEST_LIMIT_MINUTES: '0.05' });
  assert.equal(status, 1);
  assert.match(
    text,
    /hangs\.test\.ts ended badly\n.*ended after 0\.05 minutes, in \S*hangs\.test\.ts:3 waits for ever/,
  );
  const pid = fs.readFileSync(`${file}.pid`, 'utf8');
  await eventually('the end of what it started', () => !fs.existsSync(`/proc/${pid}/cwd/.`));
});

test('in a process that files share, whoever leaves it changed is found', (t) => {
  const files = written(t, {
    a: "test('one', () => Object.assign(process['env'], { LEFT: 'here' }));\ntest('two', () => {});\n",
    b: "test('three', () => {});\n",
  });
  const { status, text, lines } = run(files);
  assert.equal(status, 1);
  assert.match(text, /a test before "two" left its mark on the process: process\.env\.LEFT/);
  assert.match(text, /2 files in one process/);
  assert.equal(lines.at(-1), '2 passed, 1 failed, 0 skipped');
});

test('a signal ends also what has left the process group of a test, and no further file is begun', async (t) => {
  const LEAVES = `import { spawn } from 'node:child_process'; import * as fs from 'node:fs';
process.on('exit', () => {});
test('leaves', async () => {
  const child = spawn('setsid', ['sh', '-c', 'sleep 600'], { stdio: 'ignore', detached: true });
  fs.writeFileSync(import.meta.filename + '.pid', String(child.pid));
  await new Promise(() => setInterval(() => {}, 1000));
});
`;
  const files = written(t, Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, LEAVES])));
  const child = spawn(process.execPath, [RUNNER, ...files], { stdio: 'ignore' });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const begun = (): string[] => files.filter((file) => fs.existsSync(`${file}.pid`));
  await eventually('the start of a test', () => begun().length > 0);
  child.kill('SIGTERM');
  assert.equal(await ended, 143);
  for (const file of begun()) {
    const pid = fs.readFileSync(`${file}.pid`, 'utf8');
    await eventually('the end of what it started', () => !fs.existsSync(`/proc/${pid}/cwd/.`));
  }
});

test('npm that is ended takes the run with it', async (t) => {
  const [file] = written(t, {
    goes: `import * as fs from 'node:fs';
process.on('exit', () => fs.writeFileSync(import.meta.filename + '.end', ''));
test('goes on', async () => {
  fs.writeFileSync(import.meta.filename + '.begin', '');
  await new Promise(() => setInterval(() => {}, 1000));
});
`,
  });
  // as npm does, with a shell in between
  const shell = spawn('sh', ['-c', '"$0" "$@"; true', process.execPath, RUNNER, file!], {
    stdio: 'ignore',
    env: { ...process.env, npm_lifecycle_event: 'test' },
  });
  await eventually('the start of the test', () => fs.existsSync(`${file}.begin`));
  shell.kill('SIGTERM');
  await eventually('the end of the test', () => fs.existsSync(`${file}.end`));
});

test('Ctrl-C: what tests have started is stopped in order', async (t) => {
  const [file] = written(t, {
    cleans: `import * as fs from 'node:fs';
process.on('exit', () => fs.writeFileSync(import.meta.filename + '.end', ''));
test('goes on', async () => {
  fs.writeFileSync(import.meta.filename + '.begin', '');
  await new Promise(() => setInterval(() => {}, 1000));
});
`,
  });
  const child = spawn(process.execPath, [RUNNER, file!], { stdio: 'ignore' });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  await eventually('the start of the test', () => fs.existsSync(`${file}.begin`));
  child.kill('SIGINT');
  assert.equal(await ended, 130);
  assert.ok(fs.existsSync(`${file}.end`));
});
