import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fixture, frozen } from '../../../test/frozen.ts';
import { cgroup } from '../../sources/cgroup/cgroup.ts';
import { cgroupTable } from '../../sources/cgroup/table.ts';
import type { Host } from '../../sources/host.ts';
import { Frame } from '../../table/frame.ts';
import { allowance, findScope, type ScopeRequest } from './scope.ts';

const REQUEST: ScopeRequest = { uid: 1000, exclude: [], redact: false, environment: {} };

const V2_MOUNT = '34 25 0:29 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n';
const V1_MOUNTS = ['memory', 'freezer', 'cpuset']
  .map((c, i) => `${40 + i} 30 0:${40 + i} / /sys/fs/cgroup/${c} rw - cgroup cgroup rw,${c}\n`)
  .join('');

const v2 = (t: TestContext, own: string, files: Record<string, string> = {}): Host =>
  frozen(t, {
    '/proc/self/mountinfo': V2_MOUNT,
    '/proc/self/cgroup': `0::${own}\n`,
    [`/sys/fs/cgroup${own === '/' ? '' : own}/cgroup.procs`]: '',
    ...files,
  }).host;

test('a job’s cgroup is known by its name, from any step or task of it', (t) => {
  for (const [scheduler, own, job] of [
    ['slurm', '/system.slice/slurmstepd.scope/job_17/step_1/user/task_0', '/system.slice/slurmstepd.scope/job_17'],
    ['slurm', '/system.slice/c1_slurmstepd.scope/job_17/step_batch', '/system.slice/c1_slurmstepd.scope/job_17'],
    ['slurm', '/slurm/uid_1000/job_17/step_0', '/slurm/uid_1000/job_17'],
    ['pbs', '/pbs_jobs.service/jobid/17.server', '/pbs_jobs.service/jobid/17.server'],
    ['pbs', '/pbspro.slice/pbspro-17.server.slice', '/pbspro.slice/pbspro-17.server.slice'],
    ['pbs', '/torque/17.server', '/torque/17.server'],
    ['lsf', '/lsf/cluster1/job.17.4242.1700000000', '/lsf/cluster1/job.17.4242.1700000000'],
    [
      'flux',
      '/user.slice/user-500.slice/user@500.service/imp-shell-0-f2WXyz.service',
      '/user.slice/user-500.slice/user@500.service/imp-shell-0-f2WXyz.service',
    ],
  ] as const) {
    const scope = findScope(v2(t, own), { ...REQUEST, jobId: '17', scheduler });
    assert.deepEqual(scope.members, { by: 'cgroup', path: job });
    assert.deepEqual(scope.cgroup, { path: job, shared: false, agent: true });
  }
});

test('version 1: the job is in some hierarchies only', () => {
  const scope = findScope(fixture('cgroup-v1'), { ...REQUEST, jobId: '17', scheduler: 'slurm', exclude: [5] });
  assert.deepEqual(scope, {
    members: { by: 'cgroup', path: '/slurm_c1/uid_1000/job_17' },
    cgroup: { path: '/slurm_c1/uid_1000/job_17', shared: false, agent: true },
    exclude: [5],
    redact: false,
  });
});

test('from outside of the job its cgroup is found by the id', (t) => {
  const job = '/system.slice/slurmstepd.scope/job_17';
  const file = `/sys/fs/cgroup${job}/cgroup.procs`;
  const host = v2(t, '/user.slice/session-3.scope', { [file]: '', [file.replace('job_17', 'job_17/step_0')]: '44\n' });
  const request = { ...REQUEST, jobId: '17', scheduler: 'slurm' };
  assert.deepEqual(findScope(host, request).members, { by: 'cgroup', path: job });
  const byEnvironment = { by: 'environment', uid: 1000, variable: 'SLURM_JOB_ID' };
  assert.deepEqual(findScope(host, { ...request, jobId: '1' }).members, { ...byEnvironment, value: '1' });
  // nobody is in it: it was left behind by another job
  const leftOver = v2(t, '/user.slice/session-3.scope', { [file]: '' });
  assert.deepEqual(findScope(leftOver, request).members, { ...byEnvironment, value: '17' });
});

test('a Slurm without cgroups: members by environment, with the id that the processes have', (t) => {
  const host = v2(t, '/system.slice/slurmd.service');
  const scope = findScope(host, {
    ...REQUEST,
    jobId: '170_3',
    scheduler: 'slurm',
    rootPid: 44,
    environment: { SLURM_JOB_ID: '173' },
  });
  assert.deepEqual(scope.members, { by: 'environment', uid: 1000, variable: 'SLURM_JOB_ID', value: '173' });
  assert.deepEqual(scope.cgroup, { path: '/system.slice/slurmd.service', shared: true });
  assert.equal(scope.root, 44);
});

test('a command on a laptop: its tree; the login session is shared', (t) => {
  const session = '/user.slice/user-1000.slice/session-3.scope';
  const files = {
    [`/sys/fs/cgroup${session}/cgroup.procs`]: '10\n20\n30\n31\n99\n',
    '/proc/20/status': 'Name:\ttacho\nPPid:\t10\n',
    '/proc/30/status': 'Name:\tsleep\nPPid:\t20\n',
    '/proc/31/status': 'Name:\tsleep\nPPid:\t30\n',
    '/proc/10/status': 'Name:\tbash\nPPid:\t1\n',
    '/proc/99/status': 'Name:\teditor\nPPid:\t1\n',
  };
  const request = { ...REQUEST, rootPid: 30, exclude: [20] };
  const scope = findScope(v2(t, session, files), request);
  assert.deepEqual(scope.members, { by: 'tree', pid: 30 });
  assert.deepEqual(scope.cgroup, { path: session, shared: true });
  // with nobody else in it, it is the command's own
  files[`/sys/fs/cgroup${session}/cgroup.procs`] = '10\n20\n30\n31\n';
  assert.equal(findScope(v2(t, session, files), request).cgroup!.shared, false);
});

test('in a container its cgroup is the scope, whether it is seen as / or by its name', (t) => {
  const events = { '/sys/fs/cgroup/cgroup.events': 'populated 1\n' };
  assert.deepEqual(findScope(v2(t, '/', events), REQUEST).members, { by: 'cgroup', path: '/' });
  const pod = '/kubepods.slice/kubepods-burstable.slice/cri-containerd-0123456789abcdef.scope';
  assert.deepEqual(findScope(v2(t, pod), REQUEST).cgroup, { path: pod, shared: false, agent: true });
  const named = frozen(t, {
    '/proc/self/mountinfo': V1_MOUNTS.replaceAll(' / /sys', ' /docker/0123456789abcdef /sys'),
    '/proc/self/cgroup': '4:memory:/docker/0123456789abcdef\n',
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': '1073741824\n',
    '/proc/meminfo': 'MemTotal:       8000000 kB\n',
  }).host;
  const scope = findScope(named, REQUEST);
  assert.deepEqual(scope.cgroup, { path: '/docker/0123456789abcdef', shared: false, agent: true });
  assert.equal(allowance(named, scope).memory_bytes, 1073741824);
});

test('on the bare machine there is no cgroup, and without a command all of the node is meant', (t) => {
  const scope = findScope(v2(t, '/'), REQUEST);
  assert.deepEqual(scope, { members: { by: 'node' }, exclude: [], redact: false });
});

test('the allowance: cpuset, quota and memory of the job or anything above it', () => {
  const host = fixture('cgroup-v2');
  const scope = findScope(host, { ...REQUEST, jobId: '17', scheduler: 'slurm' });
  assert.deepEqual(allowance(host, scope), { cpus: 2.5, memory_bytes: 8589934592 });
  const old = fixture('cgroup-v1');
  const oldScope = findScope(old, { ...REQUEST, jobId: '17', scheduler: 'slurm' });
  assert.deepEqual(allowance(old, oldScope), { cpus: 4, memory_bytes: 4294967296 });
});

test('version 1: the CPU quota around a command is its cpu controller’s, wherever its memory is counted', (t) => {
  const mounts = ['memory', 'cpu'].map(
    (c, i) => `${40 + i} 30 0:4${i} / /sys/fs/cgroup/${c} rw - cgroup cgroup rw,${c}\n`,
  );
  const host = frozen(t, {
    '/proc/self/mountinfo': mounts.join(''),
    '/proc/self/cgroup': '4:memory:/session\n1:cpu:/accq\n',
    '/sys/fs/cgroup/memory/session/memory.limit_in_bytes': '1073741824\n',
    '/sys/fs/cgroup/cpu/accq/cpu.cfs_quota_us': '20000\n',
    '/sys/fs/cgroup/cpu/accq/cpu.cfs_period_us': '100000\n',
    '/sys/fs/cgroup/cpu/accq/cpu.stat': 'nr_periods 343\nnr_throttled 311\nthrottled_time 5000\n',
  }).host;
  const scope = findScope(host, { ...REQUEST, rootPid: 30 });
  assert.deepEqual(allowance(host, scope), { cpus: 0.2, memory_bytes: 1073741824 });
  const source = cgroup.open(host, scope);
  const frame = new Frame(source.table);
  frame.clear(1);
  source.read(frame);
  const { cpu_limit, periods, throttled_periods, memory_limit_bytes } = cgroupTable.col;
  assert.deepEqual(
    [cpu_limit, periods, throttled_periods, memory_limit_bytes].map(({ index }) => frame.numbers[index]),
    [0.2, 343, 311, 1073741824],
  );
});

test('the allowance: an agent’s own binding is not the job’s, a command’s is; limits above the node are none', (t) => {
  const job = '/system.slice/slurmstepd.scope/job_17';
  const host = v2(t, `${job}/step_1`, {
    [`/sys/fs/cgroup${job}/cpuset.cpus.effective`]: '0-7,16-23\n',
    [`/sys/fs/cgroup${job}/memory.max`]: '9000000000000\n',
    [`/sys/fs/cgroup${job}/cpu.max`]: 'max 100000\n',
    '/proc/meminfo': 'MemTotal:       8000000 kB\n',
    '/proc/self/status': 'Name:\tnode\nCpus_allowed_list:\t3\n',
    '/proc/44/status': 'Name:\tsim\nPPid:\t1\nCpus_allowed_list:\t0-1\n',
  });
  assert.deepEqual(allowance(host, findScope(host, { ...REQUEST, jobId: '17', scheduler: 'slurm' })), { cpus: 16 });
  assert.deepEqual(allowance(host, findScope(host, { ...REQUEST, rootPid: 44 })), { cpus: 2 });
});
