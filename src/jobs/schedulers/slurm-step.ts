import type { Host } from '../../sources/host.ts';
import type { Environment } from './command.ts';

/** A step of a job of Slurm's: 21.0, 21.batch. */
export interface SlurmStep {
  job: string;
  step: string;
}

/**
 * Whether the step that the environment names is the one that this process is in. A job that was submitted, or a shell of
 * salloc that was started, from a step of another job inherits the variables of that step.
 */
export function isOwnStep(env: Environment, host: Host): boolean {
  const own = stepOf(host);
  if (own !== undefined) return own.step === env.SLURM_STEP_ID && jobIds(env).includes(own.job);
  // nobody says so: then the sizes of the step, which srun sets anew as those of the job, have to be the same
  return (
    same(env.SLURM_NTASKS, env.SLURM_STEP_NUM_TASKS) &&
    same(env.SLURM_NNODES, env.SLURM_STEP_NUM_NODES) &&
    same(env.SLURM_TASKS_PER_NODE, env.SLURM_STEP_TASKS_PER_NODE)
  );
}

const same = (a: string | undefined, b: string | undefined): boolean => a === undefined || b === undefined || a === b;

/** The components of a heterogeneous job have numbers of their own. */
function jobIds(env: Environment): (string | undefined)[] {
  const components = Object.keys(env).filter((name) => /^SLURM_JOB_ID_(HET|PACK)_GROUP_\d+$/.test(name));
  return [
    env.SLURM_JOB_ID ?? env.SLURM_JOBID,
    ...(env.SLURM_HET_SIZE === undefined ? [] : components.map((c) => env[c])),
  ];
}

/** The step that this process is in, whatever its environment says: by its cgroup, else by the daemon that started it. */
function stepOf(host: Host): SlurmStep | undefined {
  const [, job, step] = /\/job_(\d+)\/step_(\w+)/.exec(host.text('/proc/self/cgroup') ?? '') ?? [];
  if (job !== undefined) return { job, step: step! };
  let pid = 'self';
  while (pid !== '0' && pid !== '1') {
    const parent = /^PPid:\s*(\d+)/m.exec(host.text(`/proc/${pid}/status`) ?? '')?.[1];
    if (parent === undefined) return undefined;
    const [, job, step] = /^slurmstepd: \[(\d+)\.(\w+)\]/.exec(host.text(`/proc/${parent}/cmdline`) ?? '') ?? [];
    if (job !== undefined) return { job, step: step! };
    pid = parent;
  }
  return undefined;
}
