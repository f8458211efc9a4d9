import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { hooks } from '../../src/control/slurm-hooks.ts';
import { parseRank, rankText } from '../../src/sources/records/rank.ts';
import { build, type Recorded, recorded, rowsOf, skip, workshop } from './recorded.ts';

let folder: string;
let cases: string;
before(() => {
  folder = workshop();
  if (!skip) cases = build(folder, 'cases', 'cc', '-pthread');
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

const run = (name: string, ...args: string[]): Recorded => recorded([cases, name, ...args]);
const named = (recordedRun: Recorded, exename: string) => recordedRun.ends.filter((row) => row.exename === exename);

test('a process says who it is when it starts, and again with what it used when it ends', { skip }, () => {
  const began = Date.now() * 1000;
  const { starts, ends, threads, status } = recorded([cases, 'exit', '3'], {}, { cwd: folder });
  assert.equal(status, 3);
  const [start] = starts;
  const [end] = ends;
  assert.deepEqual([starts.length, ends.length], [1, 1]);
  assert.equal(start!.path, fs.realpathSync(cases));
  assert.equal(start!.exename, path.basename(cases));
  assert.equal(start!.args, 'exit 3');
  assert.equal(start!.directory, fs.realpathSync(folder));
  assert.equal(start!.ppid, process.pid);
  assert.equal(start!.uid, process.getuid!());
  assert.equal(start!.began, 'exec');
  assert.equal(start!.start, String(start!.time));
  assert.ok(start!.time >= began && end!.time >= start!.time && end!.time <= Date.now() * 1000);
  for (const same of ['pid', 'start', 'ppid', 'pgid', 'sid', 'uid', 'exename', 'path', 'args', 'directory']) {
    assert.equal(end![same], start![same], same);
  }
  assert.deepEqual([end!.ended, end!.exitcode, end!.exitsignal, end!.numtids], ['exit', 3, 0, 1]);
  // the only thread is the process
  assert.equal(threads.length, 1);
  assert.equal(threads[0]!.tid, end!.pid);
  assert.equal(threads[0]!.thread_start, Number(end!.start));
  for (const same of ['usertime', 'systemtime', 'minflt', 'rchar', 'time_oncpu', 'rssmax', 'starttime']) {
    assert.equal(threads[0]![same], end![same], same);
  }
});

test('every way of ending is told with its exit code', { skip }, () => {
  for (const how of ['exit', '_exit', 'quick_exit']) {
    const { ends, status } = run(how, '42');
    assert.equal(status, 42);
    assert.deepEqual([ends.length, ends[0]!.ended, ends[0]!.exitcode], [1, how, 42]);
  }
  assert.deepEqual(run('_Exit', '7').ends[0]!.exitcode, 7);
  assert.equal(run('exit', '511').ends[0]!.exitcode, 255, 'as its parent sees it');
});

test('what is killed, or leaves by a system call of its own, has a start and no end', { skip }, () => {
  for (const [name, word, signal] of [
    ['raise', String(os.constants.signals.SIGKILL), 'SIGKILL'],
    ['raise', String(os.constants.signals.SIGTERM), 'SIGTERM'],
    ['abort', '', 'SIGABRT'],
  ] as const) {
    const recordedRun = run(name, word);
    assert.equal(recordedRun.signal, signal);
    assert.deepEqual([recordedRun.starts.length, recordedRun.ends.length, recordedRun.threads.length], [1, 0, 0]);
  }
  const left = run('raw_exit', '6');
  assert.equal(left.status, 6);
  assert.deepEqual([left.starts.length, left.ends.length], [1, 0]);
  const byShell = recorded(['sh', '-c', `${cases} raw_exit 6; :`]).ends;
  assert.deepEqual(
    byShell.map((row) => [row.args, row.exitcode, row.told_by]).slice(0, 1),
    [['raw_exit 6', 6, 'parent']],
    'unless its parent tells',
  );
});

test('signals are recorded where that was asked for, and still end the process', { skip }, () => {
  for (const signal of ['SIGTERM', 'SIGABRT', 'SIGSEGV', 'SIGUSR1'] as const) {
    const recordedRun = recorded([cases, 'raise', String(os.constants.signals[signal])], { TACHO_RECORD_SIGNALS: '1' });
    assert.equal(recordedRun.signal, signal);
    const [end] = recordedRun.ends;
    assert.deepEqual([end!.ended, end!.exitsignal], ['signal', os.constants.signals[signal]]);
    assert.ok(Number.isNaN(end!.exitcode));
  }
});

test('CPU time is that of the process, its memory that of this image', { skip }, () => {
  const [end] = run('burn', '300').ends;
  const cpu = end!.usertime + end!.systemtime;
  assert.ok(cpu >= 300_000 && cpu < 400_000, `${cpu} µs`);
  assert.ok(Math.abs(end!.time_oncpu / 1000 - cpu) < 20_000);
  assert.equal(end!.PERF_COUNT_SW_CPU_CLOCK, end!.time_oncpu);
  assert.ok(end!.time - Number(end!.start) >= 295_000);
  assert.ok(end!.rdtsc_duration > 0);
  assert.ok(end!.timeslices > 0);
  // the small program that takes the place of a large one
  const recordedRun = run('memory', '300', 'true');
  const [large] = named(recordedRun, path.basename(cases));
  const [small] = named(recordedRun, 'true');
  assert.equal(large!.ended, 'exec');
  assert.ok(large!.rssmax > 300 * 1024 && large!.rssmax < 330 * 1024, `${large!.rssmax} kB`);
  assert.ok(small!.rssmax > 300 && small!.rssmax < 20 * 1024, `${small!.rssmax} kB`);
  assert.equal(small!.pid, large!.pid);
  assert.equal(small!.starttime, large!.starttime, 'the kernel sees one process');
  assert.ok(small!.minflt > large!.minflt, 'counters go on');
});

/** Node's own child writes a byte before it becomes the program: a shell in between keeps that out. */
const byShell = (name: string, word = ''): Recorded => recorded(['sh', '-c', `${cases} ${name} ${word}; exit 0`]);

test('what was read and written is counted, without what the library reads and writes', { skip }, () => {
  const [none] = named(byShell('exit', '0'), path.basename(cases));
  assert.equal(none!.wchar, 0);
  assert.equal(none!.syscw, 0);
  const [some] = named(byShell('write', path.join(folder, 'written')), path.basename(cases));
  assert.equal(some!.wchar, 100_000);
  assert.equal(some!.syscw, 100);
  assert.equal(some!.rchar - none!.rchar, 100_000);
  assert.equal(some!.syscr - none!.syscr, 201);
  // stdio writes it at the very end
  assert.equal(named(byShell('print'), path.basename(cases))[0]!.wchar, 3300);
});

test('the I/O of children is theirs', { skip }, () => {
  const recordedRun = byShell('write', path.join(folder, 'by-child'));
  assert.equal(named(recordedRun, path.basename(cases))[0]!.wchar, 100_000);
  const shell = recordedRun.ends.at(-1)!;
  assert.equal(shell.ppid, process.pid);
  assert.ok(shell.wchar <= 1 && shell.rchar < 50_000);
});

test('exit handlers belong to the process', { skip }, () => {
  const [end] = run('atexit').ends;
  assert.ok(end!.usertime + end!.systemtime >= 30_000);
});

test('a forked child is a process with its own numbers', { skip }, () => {
  const recordedRun = run('fork_exit');
  const [child, parent] = recordedRun.ends;
  assert.deepEqual([recordedRun.ends.length, recordedRun.starts.length], [2, 2]);
  assert.equal(child!.ppid, Number(parent!.pid));
  assert.equal(child!.exitcode, 9);
  assert.equal(recordedRun.starts.find((row) => row.pid === child!.pid)!.began, 'fork');
  const cpu = child!.usertime + child!.systemtime;
  assert.ok(cpu >= 20_000 && cpu < 60_000, `${cpu} µs`);
  assert.ok(parent!.usertime + parent!.systemtime < 20_000);
  assert.ok(Math.abs(parent!.cutime + parent!.cstime - cpu) < 5_000);
  assert.equal(child!.wchar, 0);
  assert.equal(run('fork__exit').ends[0]!.exitcode, 9);
});

test('a forked child that is killed has its start, and its end from its parent', { skip }, () => {
  const recordedRun = run('fork_killed');
  assert.deepEqual([recordedRun.starts.length, recordedRun.ends.length], [2, 2]);
  assert.equal(recordedRun.starts[1]!.ppid, Number(recordedRun.starts[0]!.pid));
  const [child] = recordedRun.ends;
  assert.deepEqual([child!.pid, child!.start], [recordedRun.starts[1]!.pid, recordedRun.starts[1]!.start]);
  assert.deepEqual([child!.ended, child!.exitsignal, child!.told_by], ['signal', 9, 'parent']);
});

test('fork and exec, vfork, spawn, system and popen: each program once, with its parent', { skip }, () => {
  for (const name of ['fork_exec', 'vfork_exec', 'spawn']) {
    const recordedRun = run(name);
    const [child, parent] = recordedRun.ends;
    assert.deepEqual([recordedRun.starts.length, recordedRun.ends.length], [2, 2], name);
    assert.deepEqual([child!.exename, child!.args, child!.exitcode], ['true', 'child', 0], name);
    assert.equal(child!.ppid, Number(parent!.pid), name);
  }
  const system = run('system');
  assert.deepEqual(system.ends.map((row) => row.args).slice(-2), ["-c '/bin/true child'", 'system']);
  const popen = run('popen');
  assert.deepEqual(popen.ends.map((row) => row.args).slice(-2), ["-c '/bin/echo child'", 'popen']);
  const borrowed = run('vfork_exit').ends;
  assert.deepEqual(
    borrowed.map((row) => [row.exitcode, row.told_by]),
    [
      [11, 'parent'],
      [0, 'itself'],
    ],
    'a child that borrows the memory leaves its parent alone',
  );
});

test('a shell that is killed under system or popen has its signal from who called them', { skip }, () => {
  const recordedRun = run('killed_shells');
  assert.equal(recordedRun.out, '9 9 15 default\n');
  const shells = recordedRun.ends.filter((row) => row.exename !== path.basename(cases));
  assert.deepEqual(
    shells.map((row) => [row.args, row.ended, row.exitsignal, row.told_by]),
    [
      ["-c 'kill -9 $$'", 'signal', 9, 'parent'],
      ["-c 'read line; kill -9 $$'", 'signal', 9, 'parent'],
      ["-c 'read line; kill -15 $$'", 'signal', 15, 'parent'],
    ],
  );
  assert.deepEqual([recordedRun.starts.length, recordedRun.ends.length], [4, 4]);
  assert.ok(shells[0]!.usertime + shells[0]!.systemtime > 0, 'system waits with what was used');
});

test('system answers as that of the C library, from several threads too', { skip }, () => {
  const bare = spawnSync(cases, ['system_answers'], { encoding: 'utf8' }).stdout;
  const { out, ends } = run('system_answers');
  assert.equal(out.split(' ').toSpliced(4, 1).join(' '), bare.split(' ').toSpliced(4, 1).join(' '));
  assert.deepEqual(
    ends
      .filter((row) => row.told_by === 'itself' && row.exename === 'sh')
      .map((row) => row.exitcode)
      .slice(-4),
    [5, 127, 127, 6],
  );
  // SIGINT reaches the process while one thread or another is in system: it is ignored until the last has left
  const together = run('systems_at_once');
  assert.deepEqual([together.status, together.ends.length], [12, 9]);
});

test('a child that worked before it became another program is told, too', { skip }, () => {
  const { starts, ends } = run('fork_work_exec');
  assert.deepEqual(
    ends.map((row) => [row.exename === 'true', row.ended]),
    [
      [false, 'exec'],
      [true, 'exit'],
      [false, 'exit'],
    ],
  );
  assert.equal(ends[0]!.pid, ends[1]!.pid);
  assert.ok(ends[0]!.usertime + ends[0]!.systemtime >= 30_000);
  assert.equal(starts.length, 3);
});

test('exec ends an image; if it fails the image lives on', { skip }, () => {
  const recordedRun = run('exec');
  assert.deepEqual(
    recordedRun.ends.map((row) => [row.exename, row.ended]),
    [
      [path.basename(cases), 'exec'],
      ['true', 'exit'],
    ],
  );
  assert.ok(Number.isNaN(recordedRun.ends[0]!.exitcode));
  assert.equal(recordedRun.ends[1]!.args, 'next');
  for (const [name, code] of [
    ['exec_missing', 13],
    ['exec_text', 14],
  ] as const) {
    const text = path.join(folder, 'text');
    fs.writeFileSync(text, '\0\0\0\0', { mode: 0o755 });
    const { ends, status } = run(name, text);
    assert.equal(status, code);
    assert.deepEqual(
      ends.map((row) => [row.ended, row.exitcode]),
      [['exit', code]],
      name,
    );
  }
});

test('the library stays when a program starts others with another environment, which they see as it was given', {
  skip,
}, () => {
  const { ends, status } = run('execle');
  assert.equal(status, 0);
  assert.deepEqual(
    ends.map((row) => [row.ended, row.args]),
    [
      ['exec', 'execle'],
      ['exit', 'next'],
    ],
  );
  const empty = recorded([
    'sh',
    '-c',
    'env -i /usr/bin/env; env -i LD_PRELOAD= X=1 /usr/bin/env; env -i sh -c /usr/bin/env; :',
  ]);
  assert.equal(empty.out.replaceAll(/^(PWD|SHLVL|_|OLDPWD)=.*\n/gm, ''), 'LD_PRELOAD=\nX=1\n');
  // each env is two images, and the shell in between is the first of two
  assert.equal(named(empty, 'env').filter((row) => row.ended !== 'exec').length, 3);
  const other = recorded(['sh', '-c', 'LD_PRELOAD=/no/such.so /bin/sh -c \'echo "<$LD_PRELOAD>"; /bin/true a\'; :']);
  assert.equal(other.out, '</no/such.so>\n');
  assert.deepEqual(
    named(other, 'true').map((row) => row.args),
    ['a'],
  );
  const settings = recorded(['env', '-i', cases, 'many_threads', '20'], { TACHO_RECORD_THREAD_MS: '5000' });
  assert.equal(settings.ends.at(-1)!.threads_counted, 20);
});

test('TACHO_RECORD_OFF leaves out what follows, and Tacho is not part of a job', { skip }, () => {
  for (const shell of ['dash', 'bash']) {
    const script = `/bin/true a; export TACHO_RECORD_OFF=1; /bin/true b; env -i /bin/true c; unset TACHO_RECORD_OFF
      TACHO_OWN=1 sh -c '/bin/true d; :'; /bin/true e; :`;
    const recordedRun = recorded([shell, '-c', script]);
    assert.deepEqual(
      recordedRun.ends.map((row) => row.args).filter((args) => args.length === 1),
      ['a', 'e'],
      shell,
    );
    assert.deepEqual([recordedRun.starts.length, recordedRun.ends.length], [3, 3], shell);
  }
});

test("Tacho's task prolog is no process of a job, nor is what it starts; another with its name is", { skip }, () => {
  // it finds no place for the job: it waits some milliseconds for one
  const [jobs, records] = ['jobs', 'records'].map((name) => path.join(folder, 'prolog', name));
  for (const each of [jobs!, records!]) fs.mkdirSync(each, { recursive: true });
  const prolog = path.join(folder, 'prolog', 'tacho-task-prolog.sh');
  const user = {
    SLURM_JOB_ID: '5',
    SLURM_SCRIPT_CONTEXT: 'prolog_task',
    TACHO_SERVICE_JOBS: jobs,
    TACHO_TAGS: 'op:one',
  };
  for (const shell of ['dash', 'bash']) {
    fs.writeFileSync(prolog, hooks()['task-prolog'], { mode: 0o755 });
    const recordedRun = recorded([shell, '-c', `${prolog}; /bin/true a; :`], user);
    assert.equal(recordedRun.out, `export TACHO_SERVICE_JOBS=${jobs}\n`);
    assert.deepEqual(
      [recordedRun.ends.map((row) => row.args).slice(0, -1), recordedRun.starts.length],
      [['a'], 2],
      shell,
    );
    fs.writeFileSync(prolog, '#!/bin/sh\n/bin/true b; :\n');
    const another = recorded([shell, '-c', `${prolog}; /bin/true a; :`], user);
    assert.deepEqual(another.ends.map((row) => row.args).slice(0, -1), ['b', prolog, 'a'], shell);
  }
});

test('programs that say nothing are told by whoever starts them and waits for them', { skip }, (t) => {
  let mute: string;
  try {
    mute = build(folder, 'cases', 'cc', '-static', '-pthread');
  } catch {
    return t.skip('needs a static C library');
  }
  const long = 'x€y\\n'.repeat(5000);
  for (const name of ['fork_exec_this', 'vfork_exec_this', 'spawn_this', 'spawnp_this']) {
    const recordedRun = run(name, mute, 'burn_and_exit', '30', '7', long);
    const child = recordedRun.ends.find((row) => row.path === mute)!;
    const parent = recordedRun.ends.find((row) => row.path === cases)!;
    assert.equal(recordedRun.ends.length, 2, name);
    assert.deepEqual(
      [child.exename, child.argv0, child.args, child.directory],
      [path.basename(mute), mute, `burn_and_exit 30 7 '${long}'`, process.cwd()],
      name,
    );
    assert.deepEqual([child.ended, child.exitcode, child.exitsignal, child.told_by], ['exit', 7, 0, 'parent'], name);
    assert.equal(child.ppid, Number(parent.pid), name);
    assert.ok(child.usertime + child.systemtime >= 30_000 && child.usertime + child.systemtime < 90_000, name);
    assert.equal(parent.told_by, 'itself');
    const [start] = recordedRun.starts.filter((row) => row.path === mute);
    assert.deepEqual([start!.began, start!.start, recordedRun.starts.length], ['told', child.start, 2], name);
  }
  // from a shell, under the name in its folder
  const relative = recorded(
    ['sh', '-c', `./${path.basename(mute)} exit 4; TACHO_TAGS=op:b ./${path.basename(mute)} abort; :`],
    {},
    { cwd: folder },
  );
  assert.deepEqual(
    relative.ends
      .filter((row) => row.told_by === 'parent')
      .map((row) => [row.path, row.ended, row.exitcode, row.exitsignal, row.tags]),
    [
      [fs.realpathSync(mute), 'exit', 4, 0, ''],
      [fs.realpathSync(mute), 'signal', Number.NaN, os.constants.signals.SIGABRT, 'op:b'],
    ],
  );
});

test('what a parent says of a child is without what its children used', { skip }, (t) => {
  let mute: string;
  try {
    mute = build(folder, 'cases', 'cc', '-static', '-pthread');
  } catch {
    return t.skip('needs a static C library');
  }
  // sh -c : the static program starts a shell that starts a program that burns
  const recordedRun = run('spawn_this', mute, 'system_this', `${cases} burn 100; :`);
  const [child] = recordedRun.ends.filter((row) => row.told_by === 'parent');
  assert.equal(child!.path, mute);
  assert.ok(child!.usertime + child!.systemtime < 30_000, `${child!.usertime + child!.systemtime} µs`);
  assert.ok(Number.isNaN(child!.minflt), 'nobody knows which of them are its own');
});

test('a wait of every kind tells how a child ended, and leaves the answer as it is', { skip }, () => {
  for (const how of ['wait', 'waitpid', 'wait3', 'wait4', 'waitid']) {
    const recordedRun = run('wait_for_killed', how);
    assert.equal(recordedRun.status, 9, how);
    const [child] = recordedRun.ends.filter((row) => row.told_by === 'parent');
    assert.deepEqual(
      [child!.ended, child!.exitsignal, child!.ppid],
      ['signal', 9, Number(recordedRun.ends.at(-1)!.pid)],
      how,
    );
    assert.ok(Number.isNaN(child!.exitcode), how);
    assert.ok(child!.usertime + child!.systemtime >= 20_000, how);
    assert.equal(recordedRun.ends.length, 2, how);
  }
});

test('the name that a program was called by is kept where it is one of its file', { skip }, () => {
  const link = path.join(folder, 'mpif90');
  const hard = path.join(folder, 'mpicc');
  const script = path.join(folder, 'by-link.sh');
  const shell = path.join(folder, 'myshell');
  if (!fs.existsSync(link)) fs.symlinkSync(cases, link);
  if (!fs.existsSync(hard)) fs.linkSync(cases, hard);
  if (!fs.existsSync(shell)) fs.symlinkSync(fs.realpathSync('/bin/sh'), shell);
  fs.writeFileSync(script, `#!${shell}\n:\n`, { mode: 0o755 });
  const of = (...command: string[]) => {
    const [end] = recorded(command, {}, { cwd: folder }).ends;
    return [end!.exename, end!.argv0, path.basename(end!.path)];
  };
  const file = path.basename(cases);
  assert.deepEqual(of('./mpif90', 'exit', '0'), ['mpif90', './mpif90', file]);
  assert.deepEqual(of(hard, 'exit', '0').slice(0, 2), ['mpicc', hard]);
  assert.deepEqual(of('bash', '-c', `exec -a other ${cases} exit 0`).slice(0, 2), ['bash', 'bash']);
  const other = recorded(['bash', '-c', `exec -a other ${cases} exit 0`]).ends.at(-1)!;
  assert.deepEqual([other.exename, other.argv0], [file, 'other'], 'any word is no name of the file');
  assert.deepEqual(of(script), ['myshell', shell, path.basename(fs.realpathSync('/bin/sh'))]);
  const login = recorded(['bash', '-c', `exec -l ${link} exit 0`]).ends.at(-1)!;
  assert.deepEqual([login.exename, login.argv0], ['mpif90', `-${link}`]);
});

test('daemons and orphans are recorded with the parent that started them', { skip }, () => {
  for (const [name, code] of [
    ['daemon', 15],
    ['daemon_closing', 16],
    ['orphan', 12],
  ] as const) {
    const { ends, starts } = recorded([cases, name], {}, { ends: 2 });
    const [first, second] = starts;
    const parent = ends.find((row) => row.pid === first!.pid);
    const child = ends.find((row) => row.pid === second!.pid);
    assert.equal(parent!.exitcode, 0, name);
    assert.equal(child!.exitcode, code, name);
    assert.equal(child!.ppid, Number(first!.pid), name);
    if (name !== 'orphan') assert.equal(child!.sid, Number(child!.pid), name);
  }
});

test('a child by clone without the C library leaves its parent as it is, which tells of its end', { skip }, () => {
  const { starts, ends } = run('clone');
  assert.deepEqual([starts.length, ends.length], [1, 2]);
  const [child, parent] = ends;
  assert.deepEqual([child!.exitcode, child!.told_by, child!.exename], [7, 'parent', path.basename(cases)]);
  assert.deepEqual([child!.ppid, parent!.told_by], [Number(parent!.pid), 'itself']);
});

test('errno, descriptors and limits of the program are untouched', { skip }, () => {
  assert.equal(run('errno').status, 0);
  assert.equal(run('first_descriptor').status, 3);
  for (const events of ['', 'task-clock,page-faults']) {
    const recordedRun = recorded([cases, 'reuse_descriptors'], { TACHO_RECORD_EVENTS: events });
    assert.equal(recordedRun.status, 0);
    // when every descriptor is in use there is none to write a line with
    assert.equal(recordedRun.starts.length, 1);
  }
  const limited = run('file_limit');
  assert.deepEqual([limited.status, limited.signal], [0, null]);
  assert.equal(limited.ends.length, 0, 'the line would have gone over the limit');
});

test('a program that locks itself in is not killed for the sake of a line', { skip }, (t) => {
  const recordedRun = recorded([build(folder, 'sandbox', 'cc')]);
  if (recordedRun.status === 20) return t.skip('the kernel has no seccomp filters');
  assert.deepEqual([recordedRun.status, recordedRun.starts.length, recordedRun.ends.length], [19, 1, 0]);
});

test('a program that closes its standard streams has nothing written there', { skip }, () => {
  const file = path.join(folder, 'streams');
  const recordedRun = recorded(['sh', '-c', `exec 0<&- 1<&- 2<&-; ${cases} exit 5`]);
  assert.equal(recordedRun.ends.find((row) => row.args === 'exit 5')!.exitcode, 5);
  assert.equal(recorded(['sh', '-c', `${cases} exit 5 0<>${file} 1>&0 2>&0`]).status, 5);
  assert.equal(fs.readFileSync(file, 'utf8'), '');
});

test('tags, ranks and steps come from the environment at the start', { skip }, () => {
  const tagged = recorded(['sh', '-c', `${cases} exit 1; TACHO_TAGS="op:b;seq:2" ${cases} exit 2; exit 0`], {
    TACHO_TAGS: 'op:a',
    PAPIEX_TAGS: 'not:this',
    SLURM_PROCID: '3',
    SLURM_STEP_ID: '2',
  });
  assert.deepEqual(
    named(tagged, path.basename(cases)).map((row) => [row.args, row.tags, row.rank, row.step]),
    [
      ['exit 1', 'op:a', '3', '2'],
      ['exit 2', 'op:b;seq:2', '3', '2'],
    ],
  );
  const ranks = { PMIX_RANK: '5', OMPI_COMM_WORLD_RANK: '6' };
  const [old] = recorded([cases, 'exit', '0'], { PAPIEX_TAGS: 'op:x', ...ranks, SLURM_STEPID: '7' }).ends;
  assert.deepEqual([old!.tags, old!.rank, old!.step], ['op:x', '5', '7']);
});

test('ranks come with how many there are and what their launcher calls them', { skip }, () => {
  const long = 'x'.repeat(65);
  const launchers: [variables: Record<string, string>, rank: string, ranks: number, world: string][] = [
    [{ PMIX_RANK: '5', OMPI_COMM_WORLD_SIZE: '8', PMIX_NAMESPACE: '1452605441' }, '5', 8, '1452605441'],
    [{ PMIX_RANK: '1', SLURM_STEP_NUM_TASKS: '2', PMIX_NAMESPACE: 'slurm.pmix.4.0' }, '1', 2, 'slurm.pmix.4.0'],
    [{ PMI_RANK: '3', PMI_SIZE: '4', SLURM_PROCID: '0', SLURM_STEP_NUM_TASKS: '2' }, '3', 4, ''],
    [{ SLURM_PROCID: '1', SLURM_STEP_NUM_TASKS: '3' }, '1', 3, ''],
    [{ SLURM_PROCID: '0', SLURM_NTASKS: '3' }, '0', Number.NaN, ''],
    [{ PMI_RANK: 'first', PMI_SIZE: '4' }, 'first', Number.NaN, ''],
    [{ PMI_RANK: '1', PMI_SIZE: '4x' }, '1', Number.NaN, ''],
    [{ PMIX_RANK: '1', OMPI_COMM_WORLD_SIZE: '2', PMIX_NAMESPACE: long }, '1', 2, ''],
  ];
  for (const [variables, ...expected] of launchers) {
    const [own] = recorded([cases, 'exit', '0'], variables).ends;
    assert.deepEqual([own!.rank, own!.ranks, own!.world], expected, JSON.stringify(variables));
    const { rank, ranks, world } = parseRank(rankText(variables));
    assert.deepEqual([rank, ranks, world], expected, 'the same of the first process');
  }
});

test('arguments of any kind and length survive', { skip }, () => {
  const hard = [
    '',
    'a b',
    "it's",
    '"q"',
    'new\nline',
    'tab\there',
    'back\\slash',
    'percent%d',
    'a:b;c',
    'ümläut €',
    '',
  ];
  const [end] = recorded([cases, 'exit', '0', ...hard]).ends;
  assert.equal(
    end!.args,
    `exit 0 '' 'a b' 'it'\\''s' '"q"' 'new\nline' 'tab\there' 'back\\slash' percent%d 'a:b;c' 'ümläut €' ''`,
  );
  for (const length of [1000, 2500, 4096, 100_000, 120_000]) {
    const long = 'x€y\n'.repeat(length).slice(0, length - 1);
    // one argument must not be longer than 128 KiB
    const args = [long.slice(0, 60_000), long.slice(60_000)].filter((word) => word !== '');
    const { starts, ends, lines } = recorded([cases, 'exit', '0', ...args]);
    const expected = `exit 0 ${args.map((word) => `'${word}'`).join(' ')}`;
    assert.equal(starts[0]!.args, expected, `start, ${length}`);
    assert.equal(ends[0]!.args, expected, `end, ${length}`);
    assert.ok(Math.max(...lines.map((line) => line.length)) < 4096);
  }
  const binary = Buffer.from([0x66, 0xff, 0xfe, 0x80, 0x67, 0x1b, 0x7f]);
  const script = path.join(folder, 'binary.sh');
  fs.writeFileSync(script, Buffer.concat([Buffer.from(`exec ${cases} exit 0 '`), binary, Buffer.from("'\n")]));
  const recordedRun = recorded(['sh', script]);
  assert.equal(recordedRun.ends.at(-1)!.args, "exit 0 $'f\\xff\\xfe\\x80g\x1b\x7f'");
});

test('long folders, tags and many empty arguments survive', { skip }, () => {
  const deep = path.join(folder, ...Array.from({ length: 12 }, (_, i) => `${i}`.repeat(120)));
  fs.mkdirSync(deep, { recursive: true });
  const tags = Array.from({ length: 400 }, (_, i) => `key${i}:value${i}`).join(';');
  const [end] = recorded([cases, 'exit', '0'], { TACHO_TAGS: tags }, { cwd: deep }).ends;
  assert.equal(end!.directory, fs.realpathSync(deep));
  assert.equal(end!.tags, tags);
  const empty = recorded([cases, 'exit', '0', ...Array.from({ length: 9000 }, () => ''), 'x']).ends[0]!;
  assert.equal(empty.args, `exit 0 ${"'' ".repeat(9000)}x`);
  // where each begins is kept, from who executes and from who waits
  for (const args of [['one two', 'three'], ['one', 'two', 'three'], ['one', ''], ['one']]) {
    const quoted = args.map((word) => (/^\w+$/.test(word) ? word : `'${word}'`)).join(' ');
    assert.deepEqual(
      recorded(['sh', '-c', `${cases} raw_exit 0 "$@"; ${cases} exit 0 "$@"; :`, 'sh', ...args])
        .ends.slice(0, 2)
        .map((row) => row.args),
      [`raw_exit 0 ${quoted}`, `exit 0 ${quoted}`],
    );
  }
});

test('many arguments go ahead in few lines, which are not what the program wrote', { skip }, () => {
  const args = Array.from({ length: 9000 }, (_, i) => `${i}`);
  const own = recorded([cases, 'exit', '0', ...args]);
  assert.equal(own.ends[0]!.args, `exit 0 ${args.join(' ')}`);
  assert.ok(own.lines.length < 20, `${own.lines.length} lines`);
  for (const name of ['fork_exec_this', 'vfork_exec_this', 'spawn_this', 'spawnp_this']) {
    const { starts, ends, lines } = run(name, cases, 'exit', '0', ...args);
    const child = ends.find((row) => row.args.startsWith('exit 0 0 1 '))!;
    assert.deepEqual([starts.length, ends.length, child.args], [2, 2, own.ends[0]!.args], name);
    assert.deepEqual([child.wchar, child.syscw], [0, 0], name);
    // as the parent's, as told, and as the child's own
    assert.ok(lines.length < 100, `${name}: ${lines.length} lines`);
  }
});

test('six writers at once: every line is whole', { skip }, () => {
  const loop = `i=0; while [ $i -lt 100 ]; do /bin/true $1 $i ${'x'.repeat(1500)}; i=$((i+1)); done`;
  const script = `for w in 1 2 3 4 5 6; do sh -c '${loop}' loop $w & done; wait`;
  const { starts, ends, torn } = recorded(['sh', '-c', script]);
  assert.equal(torn, 0);
  const trues = ends.filter((row) => row.exename === 'true');
  assert.equal(trues.length, 600);
  assert.equal(new Set(trues.map((row) => row.args)).size, 600);
  assert.equal(starts.filter((row) => row.exename === 'true').length, 600);
});

test('a file whose folder has gone, or that is not named well, costs nothing and says nothing', { skip }, () => {
  for (const file of ['/no/such/folder/events', 'relative/events', '', '/']) {
    const recordedRun = recorded([cases, 'exit', '4'], { TACHO_RECORD: file });
    assert.deepEqual([recordedRun.status, recordedRun.out, recordedRun.err], [4, '', '']);
  }
});

test('a job may be recorded by several: each has every line, and one that is over disturbs nobody', { skip }, (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-several-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const files = [path.join(folder, 'a'), '/no/such/folder/events', 'relative', path.join(folder, 'b')];
  const { status } = recorded(['sh', '-c', '/bin/true x; env -i /bin/true y; exit 4'], {
    TACHO_RECORD: files.join(':'),
  });
  assert.equal(status, 4);
  const [a, b] = ['a', 'b'].map((name) => fs.readFileSync(path.join(folder, name)));
  assert.deepEqual(a, b);
  assert.deepEqual(
    rowsOf(a!)
      .ends.map((row) => row.args)
      .filter((args) => /^[xy]$/.test(args)),
    ['x', 'y'],
  );
});

test('perf events are counted by name; what is not to be had is missing', { skip }, () => {
  const events = 'page-faults,PERF_COUNT_SW_TASK_CLOCK,no-such-event';
  const [end] = recorded([cases, 'burn', '50'], { TACHO_RECORD_EVENTS: events }).ends;
  assert.ok(!('no-such-event' in end!));
  // seccomp or perf_event_paranoid may forbid it
  if (Number.isNaN(end!.PERF_COUNT_SW_TASK_CLOCK)) return;
  // nanoseconds; of a virtual machine they go on while the host lets it wait, but are never more than the process lived
  const clock = end!.PERF_COUNT_SW_TASK_CLOCK;
  const lifetimeMicroseconds = (end!.time - Number(end!.start)) * 1000;
  assert.ok(clock >= 50e6 && clock <= lifetimeMicroseconds + 20e6, `${clock} ns of ${lifetimeMicroseconds}`);
  assert.ok(end!.PERF_COUNT_SW_PAGE_FAULTS > 0 && end!.PERF_COUNT_SW_PAGE_FAULTS <= end!.minflt + end!.majflt);
});

test('events that happen in the kernel are counted there, or missing, but never 0', { skip }, () => {
  const [end] = recorded([cases, 'many_threads', '200'], {
    TACHO_RECORD_EVENTS: 'context-switches,cpu-migrations',
  }).ends;
  const [switches, moves] = [end!.PERF_COUNT_SW_CONTEXT_SWITCHES, end!.PERF_COUNT_SW_CPU_MIGRATIONS];
  assert.equal(Number.isNaN(switches), Number.isNaN(moves));
  if (Number.isNaN(switches)) return;
  assert.ok(switches > 0 && switches <= end!.vol_ctxsw + end!.invol_ctxsw, `${switches}`);
});

test('lines that were cut off are counted, the next one is whole', { skip }, () => {
  const { lines } = run('exit', '0');
  const [start, end] = lines as [string, string];
  const bytes = Buffer.from(`\n${start.slice(0, 40)}\n${start}\n\n${end.slice(0, -2)}\n${end}\n`, 'latin1');
  const recordedRun = rowsOf(bytes);
  assert.deepEqual([recordedRun.starts.length, recordedRun.ends.length, recordedRun.torn], [1, 1, 2]);
});
