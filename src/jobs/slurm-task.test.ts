import assert from 'node:assert/strict';
import { test } from 'node:test';
import { taskOf } from './slurm-task.ts';

test('a task among several is told apart from a batch script, a single task and a shell', () => {
  const batch = { SLURM_JOB_ID: '21', SLURM_PROCID: '0', SLURM_NTASKS: '4', SLURMD_NODENAME: 'c2' };
  const task = { ...batch, SLURM_STEP_ID: '0', SLURM_STEP_NUM_TASKS: '4', SLURM_PROCID: '3' };
  const found = { rank: 3, tasks: 4, step: '0', facts: { id: '21', nodes: ['c2'], asked: {} } };
  assert.deepEqual(taskOf(task, false), found);
  const array = { ...task, SLURM_ARRAY_JOB_ID: '20', SLURM_ARRAY_TASK_ID: '1', SLURM_RESTART_COUNT: '2' };
  assert.deepEqual(taskOf(array, false)?.facts, { id: '20_1', restart: 2, nodes: ['c2'], asked: {} });
  assert.equal(taskOf(batch, false), undefined);
  assert.equal(taskOf({ ...task, SLURM_STEP_NUM_TASKS: '1' }, false), undefined);
  assert.equal(taskOf({ ...task, SLURM_STEP_ID: '4294967290' }, false), undefined, 'the interactive step of salloc');
  assert.equal(taskOf(task, true), undefined, 'srun --pty bash');
  assert.equal(taskOf({ ...task, SLURM_JOB_ID: undefined }, false), undefined);
});
