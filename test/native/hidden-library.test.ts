import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { openRecording } from '../../src/recording/folder/open.ts';
import { tacho, temporaryFolder } from '../tacho.ts';
import { has, skip } from './recorded.ts';

/** Where the library cannot be seen, no program hears of it: the loader would complain on the job's standard error. */

const isRoot = process.getuid?.() === 0;

/** A root with a dynamic shell and nothing else. */
function otherRoot(t: TestContext): string {
  const root = path.join(temporaryFolder(t), 'root');
  for (const program of ['/bin/sh', '/usr/bin/env', '/bin/true']) {
    const libraries = spawnSync('ldd', [program], { encoding: 'utf8' }).stdout.match(/\/\S+/g)!;
    for (const file of [program, ...libraries]) {
      fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
      fs.copyFileSync(file, path.join(root, file));
    }
  }
  return root;
}

/** Programs that start programs, and what each of them has of the variable. */
const SCRIPT = '/bin/true && /usr/bin/env; exit 7';
const preloaded = (environment: string): string[] => environment.match(/^LD_PRELOAD=.*$/gm) ?? [];

test('chroot: programs there do not hear of it, those outside still do', {
  skip: skip || (!isRoot && 'needs root'),
}, (t) => {
  const root = otherRoot(t);
  const cwd = temporaryFolder(t);
  const inside = tacho(['run', '--no-report', '-o', 'r', '--', 'chroot', root, '/bin/sh', '-c', SCRIPT], { cwd });
  assert.deepEqual([inside.code, inside.err, preloaded(inside.out)], [7, '', []]);
  assert.match(inside.out, /^TACHO_RECORDING=/m);
  const line = `chroot ${root} /usr/bin/env >in; /usr/bin/env >out; sh -c 'exit 7'`;
  const both = tacho(['run', '--no-report', '-o', 's', '--', 'sh', '-c', line], { cwd });
  assert.deepEqual([both.code, both.err], [7, '']);
  const read = (name: string): string[] => preloaded(fs.readFileSync(path.join(cwd, name), 'utf8'));
  assert.deepEqual(read('in'), []);
  assert.match(read('out')[0]!, /libtacho-record\.so$/);
  assert.equal(openRecording(path.join(cwd, 's')).job.exit_code, 7);
});

test('what others preload stays, in its order, wherever ours stands', {
  skip: skip || (!isRoot && 'needs root'),
}, (t) => {
  const root = otherRoot(t);
  const cwd = temporaryFolder(t);
  // one that has nothing to do with starting programs
  const library = spawnSync('ldd', ['/bin/true'], { encoding: 'utf8' })
    .stdout.match(/\/\S+libc\.so\.6/)![0]
    .replace('libc.so', 'libm.so');
  fs.copyFileSync(library, path.join(root, library));
  for (const [before, after] of [
    [library, ''],
    ['', library],
    [library, library],
  ]) {
    // the shell puts its own behind ours
    const line = `export LD_PRELOAD="$LD_PRELOAD${after === '' ? '' : `:${after}`}"; exec chroot ${root} /usr/bin/env`;
    const env = { ...process.env, ...(before === '' ? {} : { LD_PRELOAD: before }) };
    const result = tacho(['run', '--no-report', '--', 'sh', '-c', line], { cwd, env });
    assert.deepEqual([result.code, result.err], [0, '']);
    assert.deepEqual(preloaded(result.out), [`LD_PRELOAD=${[before, after].filter(Boolean).join(':')}`]);
  }
});

test('a mount namespace with another root', {
  skip: skip || (!isRoot && 'needs root') || (!has('unshare') && 'needs unshare'),
}, (t) => {
  const root = otherRoot(t);
  const line = `mount --bind ${root} ${root} && cd ${root} && mkdir -p old && pivot_root . old && cd / && exec /bin/sh -c '${SCRIPT}'`;
  // the loader of what is executed last is the other root's
  const result = tacho(['run', '--no-report', '--', 'unshare', '-m', 'sh', '-c', line], { cwd: temporaryFolder(t) });
  assert.deepEqual([result.code, result.err, preloaded(result.out)], [7, '', []]);
});

/** Executes in another root as Go does: by a system call, with the environment that lies where the kernel put it. */
const LAUNCHER = `#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **arguments, char **environment)
{
    if (chroot(arguments[1]) != 0 || chdir("/") != 0)
        return 3;
    return (int)syscall(SYS_execve, arguments[2], arguments + 2, environment);
}
`;

test('a container launcher that asks no C library', { skip: skip || (!isRoot && 'needs root') }, (t) => {
  const root = otherRoot(t);
  const cwd = temporaryFolder(t);
  fs.writeFileSync(path.join(cwd, 'launcher.c'), LAUNCHER);
  assert.equal(spawnSync('cc', ['-o', 'other', 'launcher.c'], { cwd }).status, 0);
  const libm = spawnSync('ldd', ['/usr/bin/env'], { encoding: 'utf8' })
    .stdout.match(/\/\S+libc\.so\.6/)![0]
    .replace('libc.so', 'libm.so');
  fs.copyFileSync(libm, path.join(root, libm));
  const into = (name: string, env = process.env) => {
    if (name !== 'other') fs.copyFileSync(path.join(cwd, 'other'), path.join(cwd, name));
    const command = [path.join(cwd, name), root, '/bin/sh', '-c', SCRIPT];
    return tacho(['run', '--no-report', '--', ...command], { cwd, env });
  };
  assert.match(into('other').err, /cannot be preloaded/, 'this is what it is about');
  for (const name of ['apptainer', 'singularity']) {
    const result = into(name);
    assert.deepEqual([result.code, result.err, preloaded(result.out)], [7, '', []], name);
    assert.match(result.out, /^TACHO_RECORDING=/m);
    const others = into(name, { ...process.env, LD_PRELOAD: libm });
    assert.deepEqual([others.code, others.err, preloaded(others.out)], [7, '', [`LD_PRELOAD=${libm}`]], name);
  }
});

test('bubblewrap', { skip: skip || (!has('bwrap') && 'needs bwrap') }, (t) => {
  const root = otherRoot(t);
  const into = ['--bind', root, '/', '--proc', '/proc', '--dev', '/dev'];
  const works = spawnSync('bwrap', [...into, '/bin/true']).status === 0;
  if (!works) return t.skip('bwrap may not be used here');
  for (const more of [[], ['--unshare-pid'], ['--unshare-user', '--uid', '0']]) {
    const command = ['bwrap', ...into, ...more, '/bin/sh', '-c', SCRIPT];
    const result = tacho(['run', '--no-report', '--', ...command], { cwd: temporaryFolder(t) });
    assert.deepEqual([result.code, result.err, preloaded(result.out)], [7, '', []], more.join(' '));
  }
});

test('a user who may not read it', {
  skip: skip || (!isRoot && 'needs root') || (!has('setpriv') && 'needs setpriv'),
}, (t) => {
  const folder = temporaryFolder(t);
  const library = path.join(folder, 'private/libtacho-record.so');
  fs.mkdirSync(path.dirname(library), { mode: 0o700 });
  fs.copyFileSync(path.join(import.meta.dirname, '../../native/build/libtacho-record.so'), library);
  const env = { ...process.env, TACHO_RECORD_LIBRARY: library };
  const command = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '/bin/sh', '-c', SCRIPT];
  const result = tacho(['run', '--no-report', '--', ...command], { cwd: folder, env });
  assert.deepEqual([result.code, result.err, preloaded(result.out)], [7, '', []]);
});
