import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { fixture, frozen } from '../../../test/frozen.ts';
import { cgroupJobs, isOlderThan } from './cgroup-jobs.ts';

const V2_MOUNT = '34 25 0:29 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n';
const SCOPE = '/sys/fs/cgroup/system.slice/slurmstepd.scope';

test('version 1: the job, and its user by the path', () => {
  const jobs = cgroupJobs(fixture('cgroup-v1'), 'c1');
  const jobsFound = jobs.look();
  assert.deepEqual([...jobsFound.keys()], ['17']);
  const job = jobsFound.get('17')!;
  assert.equal(job.path, '/slurm_c1/uid_1000/job_17');
  assert.equal(jobs.outline(job).uid, 1000);
});

test('version 2: the job without its user', () => {
  const jobs = cgroupJobs(fixture('cgroup-v2'), 'c1');
  const job = jobs.look().get('17')!;
  assert.equal(job.path, '/system.slice/slurmstepd.scope/job_17');
  assert.equal(jobs.outline(job).uid, undefined);
});

test('jobs come and go, and their processes say more of them', (t) => {
  const machine = frozen(t, { '/proc/self/mountinfo': V2_MOUNT, '/etc/passwd': `ada:x:${process.getuid!()}:0::/:\n` });
  const jobs = cgroupJobs(machine.host, 'c1');
  assert.equal(jobs.look().size, 0);
  machine.write(`${SCOPE}/job_18/step_extern/user/task_special/cgroup.procs`, '5\n');
  machine.write('/proc/5/environ', 'HOME=/\0');
  machine.write(`${SCOPE}/job_9/cgroup.procs`, '');
  const jobsFound = jobs.look();
  assert.deepEqual([...jobsFound.keys()].sort(), ['18', '9']);
  const job = jobsFound.get('18')!;
  assert.equal(jobs.describe(job), undefined, 'the extern step says nothing');
  machine.write(`${SCOPE}/job_18/step_batch/user/task_0/cgroup.procs`, '4\n6\n');
  machine.write('/proc/4/environ', 'SLURM_JOB_ID=17\0SLURM_RESTART_COUNT=9\0');
  machine.write(
    '/proc/6/environ',
    'SLURM_JOB_ID=18\0SLURM_RESTART_COUNT=2\0SLURM_JOB_NODELIST=c[1-2]\0SLURM_JOB_USER=root\0SLURM_JOB_UID=0\0',
  );
  const described = jobs.describe(job)!;
  assert.deepEqual(
    [described.id, described.restart, described.nodes, described.user, described.uid],
    ['18', 2, ['c1', 'c2'], 'ada', process.getuid!()],
    'whose it is, the kernel says, not the process',
  );
  machine.remove(`${SCOPE}/job_18`);
  assert.deepEqual([...jobs.look().keys()], ['9']);
});

test('of several nodes on one machine only the cgroups of this one count', (t) => {
  const machine = frozen(t, {
    '/proc/self/mountinfo': `${V2_MOUNT}40 30 0:40 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n`,
  });
  for (const node of ['c1', 'c2']) {
    machine.write(`/sys/fs/cgroup/system.slice/${node}_slurmstepd.scope/job_18/cgroup.procs`, '');
    machine.write(`/sys/fs/cgroup/freezer/slurm_${node}/uid_1001/job_19/cgroup.procs`, '');
  }
  const paths = (node: string) => [...cgroupJobs(machine.host, node).look().values()].map(({ path }) => path).sort();
  assert.deepEqual(paths('c2'), ['/slurm_c2/uid_1001/job_19', '/system.slice/c2_slurmstepd.scope/job_18']);
});

test('a cgroup that an earlier job with the id has left is older than the job, also when a step was made in it since', (t) => {
  const machine = frozen(t, {
    '/proc/self/mountinfo':
      '40 30 0:40 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n41 30 0:41 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n',
  });
  const job = '/slurm/uid_1001/job_17';
  const made = (controller: string, seconds: number, procs = seconds): void => {
    const folder = `/sys/fs/cgroup/${controller}${job}`;
    machine.write(`${folder}/cgroup.procs`, '');
    fs.utimesSync(machine.host.path(`${folder}/cgroup.procs`), procs, procs);
    fs.utimesSync(machine.host.path(folder), seconds, seconds);
  };
  assert.equal(isOlderThan(machine.host, job, 1000e6), false, 'there is none');
  made('freezer', 999);
  assert.equal(isOlderThan(machine.host, job, 1000e6), false, 'the start of the job was noted a moment later');
  made('cpuacct', 1001, 990);
  assert.equal(isOlderThan(machine.host, job, 1000e6), true);
  made('cpuacct', 1001);
  assert.equal(isOlderThan(machine.host, job, 1000e6), false);
  made('freezer', 997);
  assert.equal(isOlderThan(machine.host, job, 1000e6), true);
});
