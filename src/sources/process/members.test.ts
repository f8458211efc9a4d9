import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Frozen, fixture, frozen } from '../../../test/frozen.ts';
import { type FrozenProcess, nodeFiles, processFiles } from '../../../test/frozen-process.ts';
import { eventually } from '../../../test/made/eventually.ts';
import { ours } from '../../base/ours.ts';
import { Host } from '../host.ts';
import type { Members, Scope } from '../scope.ts';
import { MemberWatch } from './members.ts';

const OWN = process.getuid!();

function scope(members: Members, more: Partial<Scope> = {}): Scope {
  return { members, exclude: [], redact: false, ...more };
}

function machine(t: TestContext, processes: FrozenProcess[]): Frozen {
  const newest = Math.max(...processes.map((p) => p.pid));
  const uptime = { '/proc/uptime': `${(Date.now() - 1_700_000_000_000) / 1000} 1.00\n` };
  return frozen(t, Object.assign(nodeFiles(newest), uptime, ...processes.map(processFiles)));
}

/** Starts and ends processes between two ticks. */
function change(m: Frozen, newest: number, born: FrozenProcess[], died: number[] = []): void {
  for (const pid of died) m.remove(`/proc/${pid}`);
  for (const p of born) for (const [path, text] of Object.entries(processFiles(p))) m.write(path, text);
  m.write('/proc/loadavg', nodeFiles(newest)['/proc/loadavg']!);
}

function pids(watch: MemberWatch): number[] {
  watch.update();
  return [...watch.members.keys()].sort((a, b) => a - b);
}

test('a tree: children and theirs, not those of the shell that started it', (t) => {
  const m = machine(t, [
    { pid: 1, parent: 0 },
    { pid: 50, session: 50 },
    { pid: 60, parent: 50, session: 50 },
    { pid: 100, parent: 50, group: 100, session: 50 },
    { pid: 101, parent: 100, group: 100, session: 50 },
    { pid: 90, parent: 101, group: 100, session: 50 },
  ]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  assert.deepEqual(pids(watch), [90, 100, 101]);
  watch.close();
});

test('who was a member stays one when its parent has died, and so do its later children', (t) => {
  const m = machine(t, [{ pid: 100 }, { pid: 101, parent: 100, group: 100, session: 100 }]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  assert.deepEqual(pids(watch), [100, 101]);
  change(
    m,
    103,
    [
      { pid: 101, parent: 1, group: 100, session: 100 },
      { pid: 102, parent: 101, group: 102, session: 102 },
      // its parent lived and died between two ticks: the session tells
      { pid: 103, parent: 1, group: 103, session: 100 },
    ],
    [100],
  );
  assert.deepEqual(pids(watch), [101, 102, 103]);
  // the session that member 102 made outlives it
  change(m, 104, [{ pid: 104, parent: 1, group: 104, session: 102 }], [102]);
  assert.deepEqual(pids(watch), [101, 103, 104]);
  watch.close();
});

test('a pid that is used again is told by its start, for members and for strangers', (t) => {
  const m = machine(t, [{ pid: 100 }, { pid: 101, parent: 100, start: 6000 }, { pid: 40, parent: 1, start: 10 }]);
  const gone: number[] = [];
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }), {
    appeared: () => {},
    vanished: (member) => gone.push(member.start),
  });
  assert.deepEqual(pids(watch), [100, 101]);
  // the counter of pids went once around: 101 is a stranger's now, 40 the job's
  change(m, 102, [
    { pid: 101, parent: 1, group: 1, session: 1, start: 9000 },
    { pid: 40, parent: 100, start: 9001 },
  ]);
  assert.deepEqual(pids(watch), [100, 101], 'nothing is looked at that the counter has not passed');
  m.write('/proc/loadavg', nodeFiles(101)['/proc/loadavg']!);
  assert.deepEqual(pids(watch), [40, 100]);
  assert.deepEqual(gone, [6000]);
  assert.equal(watch.members.get(40)!.start, 9001);
  watch.close();
});

test('a root whose pid goes to somebody else is a stranger', (t) => {
  const m = machine(t, [{ pid: 100, start: 10 }]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  assert.deepEqual(pids(watch), [100]);
  change(m, 99, [{ pid: 100, start: 20, parent: 1, group: 1, session: 1 }]);
  watch.update();
  m.write('/proc/loadavg', nodeFiles(100)['/proc/loadavg']!);
  assert.deepEqual(pids(watch), []);
  watch.close();
});

test('what is excluded stays out with all its descendants, but not the command that it runs', (t) => {
  const processes = [
    { pid: 100, parent: 1 },
    { pid: 110, parent: 100, group: 100, session: 100 }, // Tacho
    { pid: 111, parent: 110, group: 100, session: 100 }, // its helper
    { pid: 112, parent: 111, group: 100, session: 100 },
    { pid: 120, parent: 110, group: 100, session: 100 }, // the command
    { pid: 121, parent: 120, group: 100, session: 100 },
  ];
  const m = machine(t, processes);
  for (const [how, expected] of [
    [scope({ by: 'node' }, { exclude: [110] }), [100]],
    [scope({ by: 'node' }, { exclude: [110], root: 120 }), [100, 120, 121]],
    [scope({ by: 'tree', pid: 120 }, { exclude: [110] }), [120, 121]],
    [scope({ by: 'tree', pid: 100 }, { exclude: [110] }), [100]],
  ] as const) {
    const watch = new MemberWatch(m.host, how);
    assert.deepEqual(pids(watch), expected, JSON.stringify(how));
    watch.close();
  }
});

test('by environment: PBS puts the name of its server behind the number', (t) => {
  const ids = ['4711.pbs1', '4711', '47112.pbs1', '4711[3].pbs1'];
  const m = machine(
    t,
    ids.map((PBS_JOBID, i) => ({ pid: 100 + i, environment: { PBS_JOBID } })),
  );
  const membersOf = (value: string): number[] => {
    const watch = new MemberWatch(m.host, scope({ by: 'environment', uid: OWN, variable: 'PBS_JOBID', value }));
    const all = pids(watch);
    watch.close();
    return all;
  };
  assert.deepEqual([membersOf('4711'), membersOf('4711.pbs1'), membersOf('4711[3]')], [[100, 101], [100], [103]]);
});

test('by environment: the job that is named, and children that lost the variable', (t) => {
  const job = { SLURM_JOB_ID: '17' };
  const m = machine(t, [
    { pid: 100, environment: { PATH: '/bin', ...job } },
    { pid: 101, parent: 100, environment: {} },
    { pid: 102, parent: 100, environment: { SLURM_JOB_ID: '18' } },
    { pid: 103, environment: { SLURM_JOB_ID: '171' } },
    { pid: 104, environment: { MY_SLURM_JOB_ID: '17' } },
    // born just now
    { pid: 105, environment: {}, start: Math.floor((Date.now() - 1_700_000_000_000) / 10) },
  ]);
  const watch = new MemberWatch(m.host, scope({ by: 'environment', uid: OWN, variable: 'SLURM_JOB_ID', value: '17' }));
  assert.deepEqual(pids(watch), [100, 101]);
  // a launcher's child becomes the job's when it has started the user's program
  m.write('/proc/105/environ', 'SLURM_JOB_ID=17\0');
  m.write('/proc/loadavg', nodeFiles(106)['/proc/loadavg']!);
  assert.deepEqual(pids(watch), [100, 101, 105]);
  watch.close();
  const foreign = new MemberWatch(
    m.host,
    scope({ by: 'environment', uid: OWN + 1, variable: 'SLURM_JOB_ID', value: '17' }),
  );
  assert.deepEqual(pids(foreign), []);
  foreign.close();
});

test('by environment: a child that is born after the clock was set is as young as any', (t) => {
  const m = machine(t, [{ pid: 100, environment: { SLURM_JOB_ID: '17' } }]);
  const watch = new MemberWatch(m.host, scope({ by: 'environment', uid: OWN, variable: 'SLURM_JOB_ID', value: '17' }));
  assert.deepEqual(pids(watch), [100]);
  const start = Math.floor((Date.now() - 1_700_000_000_000) / 10);
  const set = Date.now() + 3_600_000;
  t.mock.method(Date, 'now', () => set);
  change(m, 101, [{ pid: 101, environment: {}, start }]);
  assert.deepEqual(pids(watch), [100]);
  change(m, 102, [{ pid: 101, environment: { SLURM_JOB_ID: '17' }, start }]);
  assert.deepEqual(pids(watch), [100, 101]);
  watch.close();
});

test('a tree with a mark: a daemon that parted from its ancestors between two ticks', (t) => {
  const mark = { variable: 'TACHO_RECORDING', value: '/home/ä/tacho-1' };
  const m = machine(t, [
    { pid: 20, environment: { TACHO_RECORDING: mark.value } },
    { pid: 100, parent: 20 },
    { pid: 110, environment: { TACHO_RECORDING: mark.value } },
    { pid: 111, environment: { TACHO_RECORDING: '/home/ä/tacho-12' } },
    // older than the command: whatever it says, the command did not start it
    { pid: 112, environment: { TACHO_RECORDING: mark.value }, start: 1 },
  ]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100, mark }, { exclude: [20] }));
  assert.deepEqual(pids(watch), [100, 110]);
  watch.close();
});

test('a tree that has just begun: only pids that were given since are looked at the first time', (t) => {
  const child = { parent: 100, group: 100, session: 100 };
  const m = machine(t, [{ pid: 100 }, { pid: 101, ...child }, { pid: 40, ...child }, { pid: 5, ...child }]);
  const mark = { variable: 'TACHO_RECORDING', value: '/r' };
  const first = (newest: number): number[] => {
    m.write('/proc/loadavg', nodeFiles(newest)['/proc/loadavg']!);
    const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100, mark }));
    const watchedPids = pids(watch);
    // from then on everybody
    m.write('/proc/loadavg', nodeFiles(newest + 1)['/proc/loadavg']!);
    assert.deepEqual(pids(watch), [5, 40, 100, 101]);
    watch.close();
    return watchedPids;
  };
  assert.deepEqual(first(101), [100, 101]);
  assert.deepEqual(first(6), [5, 100, 101], 'the kernel began again with small ones');
});

test('by cgroup: the job and all below it, version 1 and 2', (t) => {
  for (const [name, path] of [
    ['cgroup-v2', '/system.slice/slurmstepd.scope/job_17'],
    ['cgroup-v1', '/slurm_c1/uid_1000/job_17'],
  ] as const) {
    const m = machine(t, [{ pid: 1000 }, { pid: 1001 }, { pid: 1002, parent: 1001 }, { pid: 1003, parent: 1001 }]);
    // /proc from one frozen machine, cgroups from the other
    const source = fixture(name).text('/proc/self/mountinfo')!;
    m.write('/proc/self/mountinfo', source);
    const top = name === 'cgroup-v2' ? `/sys/fs/cgroup${path}` : `/sys/fs/cgroup/freezer${path}`;
    m.write(`${top}/cgroup.procs`, '');
    m.write(`${top}/step_0/user/cgroup.procs`, '1001\n1002\n0\n');
    const watch = new MemberWatch(m.host, scope({ by: 'cgroup', path }));
    assert.deepEqual(pids(watch), [1001, 1002], name);
    m.write(`${top}/step_0/user/cgroup.procs`, '1002\n1003\n');
    assert.deepEqual(pids(watch), [1002, 1003], name);
    watch.close();
    assert.throws(() => new MemberWatch(m.host, scope({ by: 'cgroup', path: '/elsewhere' })), { why: 'denied' });
  }
});

test('real processes: an orphan in a session of its own is still the job’s', async () => {
  const root = spawn('sh', ['-c', 'sh -c "setsid sleep 60 & wait" & wait'], { stdio: 'ignore' });
  const watch = new MemberWatch(new Host(), scope({ by: 'tree', pid: root.pid! }));
  const sleeping = (): number[] =>
    [...watch.members.keys()].filter((pid) => new Host().text(`/proc/${pid}/comm`) === 'sleep');
  try {
    await eventually('the process that sleeps', () => {
      watch.update();
      return sleeping().length > 0;
    });
    root.kill('SIGKILL');
    await once(root, 'exit');
    for (let i = 0; i < 12; i++) watch.update();
    assert.equal(sleeping().length, 1);
    assert.equal(watch.members.has(root.pid!), false);
  } finally {
    root.kill('SIGKILL');
    for (const pid of watch.members.keys()) process.kill(pid, 'SIGKILL');
    watch.close();
  }
});

test("Tacho's own processes in a job are not the job's, what they start is", (t) => {
  const job = { SLURM_JOB_ID: '17' };
  const m = machine(t, [
    { pid: 1, parent: 0 },
    { pid: 100, environment: job },
    { pid: 101, parent: 100, environment: { ...job, TACHO_OWN: '1' } },
    { pid: 102, parent: 101, environment: job },
  ]);
  const watch = new MemberWatch(m.host, scope({ by: 'environment', uid: OWN, variable: 'SLURM_JOB_ID', value: '17' }));
  assert.deepEqual(pids(watch), [100, 102]);
  watch.close();
});

test("Tacho's task prolog is not the job's, nor what it waits with, and the task after it is", (t) => {
  const job = { SLURM_JOB_ID: '17', SLURM_SCRIPT_CONTEXT: 'prolog_task' };
  const m = machine(t, [
    { pid: 1, parent: 0 },
    { pid: 100, name: 'tacho-task-prol', command: ['/bin/sh', '/etc/slurm/tacho-task-prolog.sh'], environment: job },
    { pid: 101, parent: 100, name: 'sleep', environment: { ...job, TACHO_OWN: '1' } },
    { pid: 102, name: 'my-task-prolog', command: ['/bin/sh', 'my-task-prolog'], environment: job },
  ]);
  m.write('/proc/100/comm', 'tacho-task-prol\n');
  m.write('/proc/102/comm', 'my-task-prolog\n');
  const watch = new MemberWatch(m.host, scope({ by: 'environment', uid: OWN, variable: 'SLURM_JOB_ID', value: '17' }));
  assert.deepEqual(pids(watch), [102]);
  change(m, 103, [{ pid: 103, environment: job }], [100, 101]);
  assert.deepEqual(pids(watch), [102, 103]);
  watch.close();
});

test("in a tree, commands of Tacho are not the job's, but what they run is", (t) => {
  const m = machine(t, [
    { pid: 100 },
    { pid: 101, parent: 100, session: 100, environment: { TACHO_OWN: '1' } },
    { pid: 102, parent: 101, group: 102, session: 102 },
    { pid: 103, parent: 102, group: 102, session: 102 },
  ]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  assert.deepEqual(pids(watch), [100, 102, 103]);
  // another is still the shell script that starts it
  change(m, 104, [{ pid: 104, parent: 100, session: 100 }]);
  assert.deepEqual(pids(watch), [100, 102, 103, 104]);
  change(m, 105, [
    { pid: 104, parent: 100, session: 100, environment: { TACHO_OWN: '1' } },
    { pid: 105, parent: 104, session: 100 },
  ]);
  assert.deepEqual(pids(watch), [100, 102, 103, 105]);
  watch.close();
});

test("who is just becoming another program is examined again, and is never taken for the job's before", (t) => {
  const m = machine(t, [{ pid: 100 }, { pid: 101, parent: 100, command: [] }, { pid: 102, parent: 100, command: [] }]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  assert.deepEqual(pids(watch), [100]);
  change(m, 102, [{ pid: 101, parent: 100, command: ['scancel', '17'], environment: { TACHO_OWN: '1' } }]);
  assert.deepEqual(pids(watch), [100, 102]);
  watch.close();
});

test('a member that turns out to be Tacho is none, however long its script took', (t) => {
  const m = machine(t, [{ pid: 100 }, { pid: 101, parent: 100 }]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  assert.deepEqual(pids(watch), [100, 101]);
  assert.equal(watch.judgeAgain(101), 'job');
  change(m, 101, [{ pid: 101, parent: 100, environment: { TACHO_OWN: '1' } }]);
  assert.deepEqual([watch.judgeAgain(101), watch.judgeAgain(100), [...watch.members.keys()]], ['own', 'job', [100]]);
  assert.deepEqual(pids(watch), [100]);
  watch.close();
});

test("Tacho's own that has ended, and is not collected yet, does not become the job's", (t) => {
  const own = { TACHO_OWN: '1' };
  const m = machine(t, [
    { pid: 100 },
    { pid: 101, parent: 100, name: 'MainThread', environment: own },
    { pid: 102, parent: 101, name: 'scancel', environment: own },
  ]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  assert.deepEqual(pids(watch), [100]);
  const ended = { command: [], state: 'Z' };
  // 103 was never seen alive, 104 neither: its parent is Tacho, 105 is anybody's
  change(m, 105, [
    { pid: 102, parent: 101, name: 'scancel', ...ended },
    { pid: 103, parent: 100, name: 'MainThread', ...ended },
    { pid: 104, parent: 101, name: 'sacct', ...ended },
    { pid: 105, parent: 100, name: 'sleep', ...ended },
  ]);
  // Linux does not even open it any more
  for (const pid of [102, 103, 104, 105]) m.remove(`/proc/${pid}/environ`);
  m.write('/proc/103/comm', 'MainThread\n');
  for (const expected of [[100], [100, 105], [100, 105]]) assert.deepEqual(pids(watch), expected);
  change(m, 106, [{ pid: 101, parent: 100, name: 'MainThread', ...ended }]);
  for (const expected of [
    [100, 105],
    [100, 105],
  ])
    assert.deepEqual(pids(watch), expected);
  watch.close();
});

test("a copy of a shell is examined again: it may become Tacho, or do the shell's work itself", (t) => {
  const shell = { name: 'bash', command: ['bash', 'job.sh'] };
  const m = machine(t, [{ pid: 100, ...shell }]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  const born = Math.floor((Date.now() - 1_700_000_000_000) / 10);
  const copy = (pid: number, more: Partial<FrozenProcess> = {}): FrozenProcess => {
    return { pid, parent: 100, session: 100, start: born, ...shell, ...more };
  };
  change(m, 104, [copy(101), copy(102), copy(103), copy(104, { user: 3 })]);
  assert.deepEqual(pids(watch), [100, 104]);
  change(m, 104, [
    copy(101, { environment: { TACHO_OWN: '1' } }),
    copy(102, { command: ['sleep', '9'] }),
    copy(103, { command: [] }),
  ]);
  assert.deepEqual(pids(watch), [100, 102, 104]);
  // just becoming another program is no time to judge
  assert.equal(watch.judgeAgain(103), 'between');
  change(m, 104, [copy(103, { command: ['node', 'main.ts'], environment: { TACHO_OWN: '1' } })]);
  assert.deepEqual(pids(watch), [100, 102, 104]);
  watch.close();
});

test('a root that executes Tacho is no member any more', (t) => {
  const m = machine(t, [{ pid: 100 }, { pid: 101, parent: 100 }]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  assert.deepEqual(pids(watch), [100, 101]);
  change(m, 102, [
    { pid: 100, environment: { TACHO_OWN: '1' } },
    { pid: 102, parent: 100, group: 100, session: 100 },
  ]);
  assert.equal(watch.judgeAgain(100), 'own');
  assert.deepEqual(pids(watch), [101, 102]);
  watch.close();
});

test('the command is a copy of what starts it, which is Tacho’s, until it has become itself', (t) => {
  const launcher = { command: ['launch', 'sleep', '9'], environment: { TACHO_OWN: '1' } };
  const m = machine(t, [
    { pid: 99, ...launcher },
    { pid: 100, parent: 99, ...launcher },
  ]);
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }, { exclude: [99] }));
  assert.deepEqual(pids(watch), [100]);
  assert.equal(watch.judgeAgain(100), 'between');
  change(m, 100, [{ pid: 100, parent: 99, command: ['sleep', '9'], environment: {} }]);
  assert.equal(watch.judgeAgain(100), 'job');
  assert.deepEqual(pids(watch), [100]);
  watch.close();
});

test('the script that starts Tacho is known before it has said so', (t) => {
  const m = machine(t, [
    { pid: 100 },
    { pid: 101, parent: 100, name: 'tacho', command: ['/bin/sh', './tacho', 'mark'] },
  ]);
  m.write('/proc/101/comm', 'tacho\n');
  fs.symlinkSync(path.dirname(ours('tacho')), m.host.path('/proc/101/cwd'));
  const watch = new MemberWatch(m.host, scope({ by: 'tree', pid: 100 }));
  assert.deepEqual(pids(watch), [100]);
  watch.close();
});

test("slurmstepd is not the job's, the program that it becomes is", { skip: OWN !== 0 && 'needs root' }, (t) => {
  const job = { SLURM_JOB_ID: '17' };
  const m = machine(t, [
    { pid: 100, name: 'slurmstepd', environment: job },
    { pid: 101, parent: 100, name: 'slurmstepd', environment: job },
    // long ago it was made, and has waited for the other tasks of its step
    { pid: 102, parent: 100, name: 'slurmstepd', environment: {} },
    { pid: 103, parent: 100, name: 'slurmstepd', environment: {} },
  ]);
  for (const pid of [100, 101, 102, 103]) m.write(`/proc/${pid}/comm`, 'slurmstepd\n');
  const watch = new MemberWatch(m.host, scope({ by: 'environment', uid: OWN, variable: 'SLURM_JOB_ID', value: '17' }));
  assert.deepEqual(pids(watch), []);
  m.write('/proc/101/comm', 'train\n');
  change(m, 104, []);
  assert.deepEqual(pids(watch), [101]);
  m.write('/proc/102/comm', 'train\n');
  m.write('/proc/102/environ', 'SLURM_JOB_ID=17\0');
  m.write('/proc/103/comm', 'other\n');
  m.write('/proc/103/environ', 'SLURM_JOB_ID=18\0');
  change(m, 105, []);
  assert.deepEqual(pids(watch), [101, 102]);
  watch.close();
});

test('components of a heterogeneous job are told by their steps', { skip: OWN !== 0 && 'needs root' }, (t) => {
  const environment = { SLURM_JOB_ID: '17', SLURM_HET_SIZE: '2' };
  const m = machine(t, [
    { pid: 100, command: ['slurmstepd: [17.batch]'] },
    { pid: 101, parent: 100, environment },
    { pid: 110, command: ['slurmstepd: [18.0]'] },
    { pid: 111, parent: 110, environment },
    { pid: 112, parent: 111, environment },
  ]);
  for (const pid of [100, 110]) m.write(`/proc/${pid}/comm`, 'slurmstepd\n');
  const component = (value: string) =>
    new MemberWatch(m.host, scope({ by: 'environment', uid: OWN, variable: 'SLURM_JOB_ID', value }));
  const [first, second] = [component('17'), component('18')];
  assert.deepEqual([pids(first), pids(second)], [[101], [111, 112]]);
  // what an orphan starts stays where the orphan was
  change(
    m,
    113,
    [
      { pid: 112, environment },
      { pid: 113, parent: 112, environment },
    ],
    [110, 111],
  );
  assert.deepEqual(pids(second), [112, 113]);
  first.close();
  second.close();
});
