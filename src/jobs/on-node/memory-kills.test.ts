import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frozen } from '../../../test/frozen.ts';
import { countMemoryKills, isMemoryKill } from './memory-kills.ts';

const JOB = '/slurm/uid_1000/job_17';

test('version 1 counts kills where the process was: those of all steps are the job’s', (t) => {
  const { host } = frozen(t, {
    '/proc/self/mountinfo': '40 30 0:40 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n',
    '/proc/self/cgroup': `4:memory:${JOB}/step_batch\n`,
    [`/sys/fs/cgroup/memory${JOB}/memory.oom_control`]: 'oom_kill_disable 0\nunder_oom 0\noom_kill 0\n',
    [`/sys/fs/cgroup/memory${JOB}/step_batch/memory.oom_control`]: 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
    [`/sys/fs/cgroup/memory${JOB}/step_0/task_0/memory.oom_control`]: 'oom_kill_disable 0\nunder_oom 0\noom_kill 5\n',
    [`/sys/fs/cgroup/memory${JOB}/step_0/memory.oom_control`]: 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n',
  });
  assert.deepEqual(countMemoryKills(host), { cgroup: JOB, kills: 8 });
});

test('version 2 adds them up itself; where nobody counts them nothing is known', (t) => {
  const files = {
    '/proc/self/mountinfo': '34 25 0:29 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n',
    '/proc/self/cgroup': '0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0\n',
  };
  const job = '/system.slice/slurmstepd.scope/job_17';
  const events = { [`/sys/fs/cgroup${job}/memory.events`]: 'low 0\nhigh 0\nmax 90\noom 3\noom_kill 2\n' };
  assert.deepEqual(countMemoryKills(frozen(t, { ...files, ...events }).host), { cgroup: job, kills: 2 });
  assert.equal(countMemoryKills(frozen(t, files).host), undefined);
});

test('what launchers say of such a kill', () => {
  const logLines = [
    'slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.',
    'srun: error: c1: task 0: Out Of Memory',
    'tacho: c1: there is no /home/x here',
  ];
  assert.deepEqual(logLines.map(isMemoryKill), [true, true, false]);
});
