import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mine } from './mine.ts';

const nvidia = (n: number) =>
  Array.from({ length: n }, (_, i) => ({ gpu: String(i), uuid: `GPU-${i}abc`, vendor: 'NVIDIA' }));

test('nothing is said when the environment says nothing', () => {
  assert.deepEqual(mine(nvidia(2), {}), ['', '']);
});

test('numbers in CUDA_VISIBLE_DEVICES and SLURM_JOB_GPUS', () => {
  assert.deepEqual(mine(nvidia(3), { CUDA_VISIBLE_DEVICES: '0,2' }), ['yes', 'no', 'yes']);
  assert.deepEqual(mine(nvidia(4), { SLURM_JOB_GPUS: '1-2', CUDA_VISIBLE_DEVICES: '0,1' }), ['no', 'yes', 'yes', 'no']);
});

test('a job that sees only its own GPUs owns them, whatever the node calls them', () => {
  assert.deepEqual(mine(nvidia(2), { SLURM_JOB_GPUS: '6,7' }), ['yes', 'yes']);
});

test('numbers that do not fit what is seen are not believed', () => {
  assert.deepEqual(mine(nvidia(2), { CUDA_VISIBLE_DEVICES: '5' }), ['', '']);
});

test('uuids, also shortened and of MIG instances', () => {
  assert.deepEqual(mine(nvidia(2), { CUDA_VISIBLE_DEVICES: 'GPU-1a' }), ['no', 'yes']);
  const cards = [...nvidia(1), { gpu: '0:mig-1', uuid: 'MIG-7', vendor: 'NVIDIA' }];
  assert.deepEqual(mine(cards, { CUDA_VISIBLE_DEVICES: 'MIG-7' }), ['no', 'yes']);
});

test('AMD has its own variable', () => {
  const cards = [
    { gpu: '0', uuid: 'GPU-aa', vendor: 'AMD' },
    { gpu: '1', uuid: 'GPU-bb', vendor: 'AMD' },
  ];
  assert.deepEqual(mine(cards, { ROCR_VISIBLE_DEVICES: 'GPU-bb', CUDA_VISIBLE_DEVICES: '0' }), ['no', 'yes']);
});
