import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { frozen } from '../../../test/frozen.ts';
import type { Host } from '../../sources/host.ts';
import { taskOf } from './slurm-task.ts';

/** A machine with 16 CPUs and 32 GiB, of which nothing is Slurm's. */
const PLAIN = {
  '/proc/self/status': 'Name:\tnode\nPPid:\t1\nCpus_allowed_list:\t0-15\n',
  '/proc/self/cgroup': '0::/user.slice\n',
  '/proc/self/mountinfo': '34 25 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
  '/proc/meminfo': 'MemTotal:       33554432 kB\n',
};

const machine = (t: TestContext, files: Record<string, string> = {}): Host => frozen(t, { ...PLAIN, ...files }).host;

const BATCH = {
  SLURM_JOB_ID: '21',
  SLURM_PROCID: '0',
  SLURM_NTASKS: '4',
  SLURM_JOB_NUM_NODES: '2',
  SLURM_JOB_NODELIST: 'c[1-2]',
  SLURMD_NODENAME: 'c2',
};
const STEP = { ...BATCH, SLURM_STEP_ID: '0', SLURM_STEP_NUM_TASKS: '4', SLURM_PROCID: '3' };
const SINGLE = { ...STEP, SLURM_STEP_ID: '7', SLURM_STEP_NUM_TASKS: '1', SLURM_NTASKS: '1', SLURM_PROCID: '0' };

test('a task among several is told apart from a batch script and a shell', (t) => {
  const host = machine(t);
  assert.deepEqual(taskOf(STEP, false, host), {
    rank: 3,
    tasks: 4,
    step: '0',
    job: '21',
    facts: { id: '21.0.3', nodes: ['c2'], asked: {} },
  });
  const array = { ...STEP, SLURM_ARRAY_JOB_ID: '20', SLURM_ARRAY_TASK_ID: '1', SLURM_RESTART_COUNT: '2' };
  const task = taskOf(array, false, host)!;
  assert.deepEqual([task.job, task.facts.id, task.facts.restart], ['20_1', '20_1.0.3', 2]);
  assert.equal(taskOf(BATCH, false, host), undefined);
  assert.equal(
    taskOf({ ...STEP, SLURM_STEP_ID: '4294967290' }, false, host),
    undefined,
    'the interactive step of salloc',
  );
  assert.equal(taskOf(STEP, true, host), undefined, 'srun --pty bash');
  assert.equal(taskOf({ ...STEP, SLURM_JOB_ID: undefined }, false, host), undefined);
});

test('the one task of a step is itself, unless the step has all that the job has', (t) => {
  const host = machine(t);
  const task = taskOf(SINGLE, false, host)!;
  assert.deepEqual([task.facts.id, task.facts.nodes, task.tasks], ['21.7', ['c2'], 1]);
  const pty = machine(t, { '/proc/self/stat': '40 (a) b) S 30 40 40 34816 40 0' });
  assert.equal(taskOf(SINGLE, false, pty), undefined, 'in the background of srun --pty bash');
  assert.equal(taskOf(STEP, false, pty)?.facts.id, '21.0.3');
  assert.equal(taskOf(SINGLE, false, machine(t, { '/proc/self/stat': '40 (sh) S 30 40 40 0 -1 0' }))?.facts.id, '21.7');
  const alone = { ...SINGLE, SLURM_JOB_NUM_NODES: '1', SLURM_JOB_CPUS_PER_NODE: '4', SLURM_CPUS_ON_NODE: '4' };
  assert.equal(taskOf(alone, false, host), undefined, 'srun -n1 that made the job');
  assert.equal(taskOf({ ...alone, SLURM_CPUS_ON_NODE: '1' }, false, host)?.facts.id, '21.7', 'srun -n1 --exact');
});

test('a job that was submitted from a step of another is not that step', (t) => {
  const inherited = { ...SINGLE, SLURM_JOB_ID: '22' };
  const cgroup = (path: string): Host => machine(t, { '/proc/self/cgroup': `0::${path}\n` });
  const scope = '/system.slice/slurmstepd.scope';
  assert.equal(taskOf(inherited, false, cgroup(`${scope}/job_22/step_batch/user/task_0`)), undefined, 'sbatch');
  assert.equal(taskOf(inherited, false, cgroup(`${scope}/job_21/step_7/user/task_0`)), undefined, 'salloc');
  assert.equal(taskOf(SINGLE, false, cgroup(`${scope}/job_21/step_7/user/task_0`))?.facts.id, '21.7');
  assert.equal(
    taskOf(SINGLE, false, cgroup('/slurm_c2/uid_1000/job_21/step_8')),
    undefined,
    'srun -n1 --export=… inside',
  );
  // without cgroups it is told by the daemon that started it
  const below = (daemon: string): Host =>
    machine(t, {
      '/proc/self/status': 'PPid:\t40\n',
      '/proc/40/status': 'PPid:\t30\n',
      '/proc/40/cmdline': '/bin/bash\0job.sh\0',
      '/proc/30/status': 'PPid:\t1\n',
      '/proc/30/cmdline': `slurmstepd: ${daemon}   `,
    });
  assert.equal(taskOf(inherited, false, below('[22.batch]')), undefined);
  assert.equal(taskOf(SINGLE, false, below('[21.7]'))?.facts.id, '21.7');
  // where neither can be seen, sizes that differ tell
  const host = machine(t);
  assert.equal(taskOf({ ...inherited, SLURM_NTASKS: '2' }, false, host), undefined);
  const nodes = { SLURM_NNODES: '2', SLURM_STEP_NUM_NODES: '1' };
  assert.equal(taskOf({ ...inherited, ...nodes }, false, host), undefined);
});

test('components of a heterogeneous job have numbers of their own', (t) => {
  const host = machine(t, { '/proc/self/cgroup': '4:memory:/slurm_c2/uid_1000/job_22/step_0/task_3\n' });
  assert.equal(taskOf(STEP, false, host), undefined);
  const het = { SLURM_HET_SIZE: '2', SLURM_JOB_ID_PACK_GROUP_0: '21', SLURM_JOB_ID_PACK_GROUP_1: '22' };
  assert.equal(taskOf({ ...STEP, ...het }, false, host)?.facts.id, '21.0.3');
});

test('a task has its own CPUs, and its share of the memory on its node', (t) => {
  const asked = (env: Record<string, string>, host = machine(t)) =>
    taskOf({ ...STEP, ...env }, false, host)!.facts.asked;
  const [GiB, two] = [1024 ** 3, { SLURM_GTIDS: '2,3' }];
  assert.deepEqual(
    asked({ ...two, SLURM_CPUS_PER_TASK: '3', SLURM_MEM_PER_CPU: '1G', SLURM_GPUS_PER_TASK: 'a100:2' }),
    {
      cpus: 3,
      memory_bytes: 3 * GiB,
      gpus: 2,
    },
  );
  assert.deepEqual(asked({ ...two, SLURM_CPUS_ON_NODE: '8', SLURM_MEM_PER_NODE: '4G', SLURM_GPUS_ON_NODE: '4' }), {
    cpus: 4,
    memory_bytes: 2 * GiB,
  });
  assert.deepEqual(asked({ SLURM_GTIDS: '3', SLURM_MEM_PER_NODE: '0', SLURM_GPUS_ON_NODE: '4' }), { gpus: 4 });
  // srun was given less than the job, which only the kernel says
  const path = '/system.slice/slurmstepd.scope/job_21/step_0/user/task_3';
  const host = machine(t, {
    '/proc/self/cgroup': `0::${path}\n`,
    '/proc/self/status': 'PPid:\t1\nCpus_allowed_list:\t4-5\n',
    [`/sys/fs/cgroup${path}/memory.max`]: 'max\n',
    '/sys/fs/cgroup/system.slice/slurmstepd.scope/job_21/step_0/memory.max': `${GiB}\n`,
    '/sys/fs/cgroup/system.slice/slurmstepd.scope/job_21/memory.max': `${8 * GiB}\n`,
  });
  assert.deepEqual(asked({ ...two, SLURM_CPUS_PER_TASK: '4', SLURM_MEM_PER_NODE: '8G' }, host), {
    cpus: 2,
    memory_bytes: GiB / 2,
  });
});
