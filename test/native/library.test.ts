import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { ours } from '../../src/base/ours.ts';
import { build, has, LIBRARY, type Recorded, recorded, rowsOf, skip, workshop } from './recorded.ts';

let folder: string;
before(() => {
  folder = workshop();
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

/** What programs may come to see of it. */
const EXPORTS = `_Exit _exit daemon execl execle execlp execv execve execvp execvpe fexecve posix_spawn posix_spawnp
  pclose popen pthread_create quick_exit system thrd_create wait wait3 wait4 waitid waitpid`.split(/\s+/);

interface Symbol {
  name: string;
  version: string;
  defined: boolean;
  weak: boolean;
}

function symbols(library: string, objdump = 'objdump'): Symbol[] {
  const table = execFileSync(objdump, ['-T', library], { encoding: 'utf8' });
  return table.split('\n').flatMap((line) => {
    const match = /^[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+\s+\(?(?:([\w.]+)\)?)?\s+(?:\.hidden )?(\S+)$/.exec(line);
    if (match === null || match[1]!.startsWith('l')) return [];
    return [{ name: match[4]!, version: match[3] ?? '', defined: match[2] !== '*UND*', weak: match[1]!.includes('w') }];
  });
}

/** GLIBC_2.2.5 is older than GLIBC_2.17. */
function isOlder(version: string): boolean {
  const [major, minor] = version.replace('GLIBC_', '').split('.').map(Number);
  return major! < 2 || (major === 2 && minor! <= 17);
}

function assertModest(library: string, objdump?: string): void {
  const all = symbols(library, objdump);
  const wanted = all.filter(({ version }) => version.startsWith('GLIBC_'));
  assert.ok(wanted.length > 10);
  assert.deepEqual(
    wanted.filter(({ version }) => !isOlder(version)),
    [],
  );
  const exported = all.filter(({ defined }) => defined).map(({ name }) => name);
  assert.deepEqual(exported.sort(), [...EXPORTS].sort());
  // musl has neither
  for (const name of ['on_exit', '__register_atfork']) assert.ok(all.find((each) => each.name === name)!.weak, name);
}

test('it needs nothing newer than glibc 2.17, no library but the C library, and exports only what it stands in for', {
  skip: skip || (!has('objdump') && 'needs objdump'),
}, () => {
  assertModest(LIBRARY);
  const needed = execFileSync('objdump', ['-p', LIBRARY], { encoding: 'utf8' }).match(/NEEDED\s+\S+/g);
  assert.deepEqual(
    needed?.map((line) => line.split(/\s+/)[1]),
    ['libc.so.6'],
  );
  assert.ok(fs.statSync(LIBRARY).size < 100_000);
});

const FLAGS = `-O2 -Wall -Wextra -Werror -shared -fPIC -std=gnu11 -fvisibility=hidden -ftls-model=initial-exec
  -fno-stack-protector -U_FORTIFY_SOURCE -Wl,-z,now -Wl,-Bsymbolic -Wl,--hash-style=gnu`.split(/\s+/);

function compile(compiler: string): string {
  const library = path.join(folder, `${compiler}.so`);
  const native = ours('native');
  const sources = fs.readdirSync(native).filter((name) => /^record-.*\.c$/.test(name));
  execFileSync(compiler, [...FLAGS, '-o', library, ...sources], { cwd: native });
  return library;
}

test('it compiles without a warning', { skip }, () => assert.ok(fs.existsSync(compile('cc'))));

const cross = 'aarch64-linux-gnu-gcc';
test('it works on 64-bit ARM', { skip: skip || (!has(cross) && `needs ${cross}`) }, (t) => {
  const library = compile(cross);
  assertModest(library, 'aarch64-linux-gnu-objdump');
  if (!has('qemu-aarch64')) return t.skip('needs qemu-user to run it');
  const program = build(folder, 'cases', cross, '-pthread');
  const file = path.join(folder, 'arm');
  for (const args of [['exit', '3'], ['fork_exit'], ['many_threads', '20']]) {
    const env = ['-E', `LD_PRELOAD=${library}`, '-E', `TACHO_RECORD=${file}`, '-E', 'TACHO_RECORD_THREAD_MS=5000'];
    spawnSync('qemu-aarch64', ['-L', '/usr/aarch64-linux-gnu', ...env, program, ...args], { timeout: 240_000 });
  }
  const { ends, torn } = rowsOf(fs.readFileSync(file));
  assert.deepEqual(
    ends.map((row) => [row.args, row.exitcode]),
    [
      ['exit 3', 3],
      ['fork_exit', 9],
      ['fork_exit', 0],
      ['many_threads 20', 0],
    ],
  );
  assert.ok(ends.every((row) => row.usertime + row.systemtime > 0 && row.rdtsc_duration > 0 && row.rssmax > 0));
  assert.equal(ends[3]!.threads_counted, 20);
  assert.equal(torn, 0);
});

test('programs made with musl record themselves, too', {
  skip: skip || (!has('musl-gcc') && 'needs musl-tools'),
}, () => {
  const program = build(folder, 'cases', 'musl-gcc', '-pthread');
  const run = (...args: string[]): Recorded => recorded([program, ...args]);
  const plain = run('exit', '3');
  assert.equal(plain.status, 3);
  assert.deepEqual([plain.starts.length, plain.ends.length, plain.ends[0]!.args], [1, 1, 'exit 3']);
  assert.ok(Number.isNaN(plain.ends[0]!.exitcode), 'musl does not tell');
  assert.equal(run('_exit', '4').ends[0]!.exitcode, 4);
  const burnt = run('burn', '100').ends[0]!;
  assert.ok(burnt.usertime + burnt.systemtime >= 100_000 && burnt.usertime + burnt.systemtime < 200_000);
  const endRow = recorded(['sh', '-c', `${program} exit 3; :`]).ends[0]!;
  assert.deepEqual([endRow.args, endRow.exitcode, endRow.told_by], ['exit 3', 3, 'itself'], 'its parent does');
  const forked = run('fork_exit');
  assert.equal(forked.ends[0]!.ppid, Number(forked.ends[1]!.pid));
  const many = recorded([program, 'many_threads', '500'], { TACHO_RECORD_THREAD_MS: '5000' }).ends[0]!;
  assert.deepEqual([many.numtids, many.threads_counted], [501, 500]);
  assert.equal(run('threads').threads.length, 5);
  assert.deepEqual(
    run('exec').ends.map((row) => [row.ended, row.exename === 'true']),
    [
      ['exec', false],
      ['exit', true],
    ],
  );
  for (const name of ['spawn', 'system', 'vfork_exec', 'cancel', 'first_leaves', 'detached', 'thread_exits']) {
    assert.ok(run(name).ends.length >= 1, name);
  }
});

test('a static program says nothing, its children do', { skip }, (t) => {
  let program: string;
  try {
    program = build(folder, 'cases', 'cc', '-static', '-pthread');
  } catch {
    return t.skip('needs a static C library');
  }
  const { starts, ends, status } = recorded([program, 'system']);
  assert.equal(status, 0);
  assert.deepEqual(
    ends.map((row) => row.args),
    ['child', "-c '/bin/true child'"],
  );
  assert.equal(starts.length, 2);
});

test('a program with the address sanitizer runs, and is recorded', { skip }, (t) => {
  let program: string;
  try {
    program = build(folder, 'cases', 'cc', '-pthread', '-fsanitize=address');
  } catch {
    return t.skip('needs libasan');
  }
  const { status, ends, err } = recorded([program, 'threads'], { ASAN_OPTIONS: 'verify_asan_link_order=0' });
  assert.equal(status, 0, err);
  assert.deepEqual([ends.length, ends[0]!.numtids], [1, 5]);
});

test('a library for another architecture is left out by the loader, and the program runs', {
  skip: skip || (!has(cross) && `needs ${cross}`),
}, () => {
  const program = build(folder, 'cases', 'cc', '-pthread');
  const { status, ends } = recorded([program, 'exit', '8'], {}, { library: compile(cross) });
  assert.deepEqual([status, ends.length], [8, 0]);
});
