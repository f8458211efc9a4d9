import type { Cause } from './cause.ts';

/** What is true of small jobs of Python on an idle or loaded machine, and no matter of Dask. */
const MAY = ['cpu-underused', 'cpu-serial', 'core-idle', 'slow-start', 'node-idle', 'recording-gaps', 'cpu-starved'];

const dask = (
  name: string,
  workflow: string,
  what: string,
  must: readonly string[],
  more: Partial<Cause> = {},
): Cause => ({
  name: `Dask: ${name}`,
  what,
  needs: ['dask-scheduler'],
  script: `dask-case ${workflow}`,
  must,
  may: [...MAY, ...(more.may ?? [])],
  ...(more.recorded && { recorded: more.recorded }),
  ...(more.quick && { quick: more.quick }),
  ...(more.healthy && { healthy: more.healthy }),
});

/** Workflows on a real LocalCluster, which the recorder notices by itself. */
export const daskCauses: readonly Cause[] = [
  dask('equal tasks', 'healthy', 'equal tasks on two workers', [], { healthy: true }),
  dask('idle workers', 'idle', 'one task at a time on four workers', ['dask-idle-workers']),
  dask('straggler', 'stragglers', 'one task of 5 s among 29 of 0.1 s', ['dask-stragglers']),
  dask('spilling', 'spilling', 'results of 384 MiB on a worker with a limit of 320 MB', ['dask-spilling'], {
    may: ['memory-growing', 'dask-recomputed'],
  }),
  dask('transfers', 'transfers', 'data of 64 MiB fetched from the other worker for every task', ['dask-transfers']),
  dask('tiny tasks in one graph', 'tiny', '3,000 tasks that do nothing', ['dask-tiny-tasks', 'dask-huge-graph'], {
    recorded: { rules: 'dask-huge-graph.tasks = 3000' },
  }),
  dask('recomputed', 'recomputed', 'the same results computed three times', ['dask-recomputed'], { quick: true }),
  dask('worker that dies', 'death', 'a task that ends its worker, and is computed again', ['dask-workers-died'], {
    may: ['failing-children', 'dask-recomputed'],
  }),
  dask('idle GPUs', 'idle', 'tasks on workers whose GPUs do nothing', ['dask-gpu-idle', 'dask-idle-workers'], {
    recorded: { gpus: 'cards 1\nset 0 use 0\nset 0 watts 60\nset 0 reasons 0\nset 0 memory 60000\n' },
    may: ['gpu-unused', 'gpu-low'],
  }),
];
