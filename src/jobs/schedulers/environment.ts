import type { Environment } from './command.ts';

/** Values that explain how a program ran and are never secret: sizes, bindings, threads, devices, paths of modules. */
const NAMES = new Set([
  'CUDA_VISIBLE_DEVICES',
  'NVIDIA_VISIBLE_DEVICES',
  'ROCR_VISIBLE_DEVICES',
  'HIP_VISIBLE_DEVICES',
  'GPU_DEVICE_ORDINAL',
  'ZE_AFFINITY_MASK',
  'CUDA_DEVICE_ORDER',
  'CUDA_MPS_ACTIVE_THREAD_PERCENTAGE',
  'MKL_NUM_THREADS',
  'OPENBLAS_NUM_THREADS',
  'NUMEXPR_NUM_THREADS',
  'VECLIB_MAXIMUM_THREADS',
  'RAYON_NUM_THREADS',
  'JULIA_NUM_THREADS',
  'GOMAXPROCS',
  'MALLOC_ARENA_MAX',
  'LOADEDMODULES',
  'WORLD_SIZE',
  'NCCL_DEBUG',
  'NCCL_SOCKET_IFNAME',
  'NCCL_IB_DISABLE',
  'NCCL_P2P_DISABLE',
  'NCCL_ALGO',
  'NCCL_PROTO',
  'FLUX_JOB_ID',
  'FLUX_ENCLOSING_ID',
  'FLUX_JOB_NNODES',
  'FLUX_JOB_SIZE',
  'PBS_JOBID',
  'PBS_QUEUE',
  'PBS_JOBNAME',
  'PBS_ENVIRONMENT',
  'NCPUS',
]);

const OMP = /^(OMP|KMP|GOMP)_[A-Z_]+$/;

/** Slurm's numbers, lists and names of what was given; not its addresses, ports and paths. */
const SLURM =
  /^SLURM_((JOB_)?(NUM_NODES|NODELIST|NTASKS|CPUS_PER_NODE|PARTITION|ACCOUNT|QOS|RESERVATION)|JOB_(ID|NAME|GPUS|CONSTRAINT)|ARRAY_(JOB_ID|TASK_ID|TASK_COUNT|TASK_MIN|TASK_MAX|TASK_STEP)|N(NODES|PROCS|TASKS_PER_(NODE|CORE|SOCKET|GPU))|CPUS_PER_(TASK|GPU)|MEM_PER_(NODE|CPU|GPU)|GPUS(_PER_(NODE|TASK|SOCKET)|_ON_NODE)?|GPU_BIND|CPU_BIND(_TYPE)?|DISTRIBUTION|HINT|THREADS_PER_CORE|TASKS_PER_NODE|CLUSTER_NAME|RESTART_COUNT|HET_SIZE|OVERCOMMIT|EXCLUSIVE)$/;

/** The values of the environment that a recording may keep, `also` by the user's wish. Everything that is not listed stays out. */
export function keptEnvironment(env: Environment, also: readonly string[] = []): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of Object.keys(env).sort()) {
    const value = env[name];
    if (value !== undefined && (NAMES.has(name) || OMP.test(name) || SLURM.test(name) || also.includes(name)))
      kept[name] = value.slice(0, 1000);
  }
  return kept;
}
