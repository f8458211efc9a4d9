import * as os from 'node:os';
import { stated } from '../../base/stated.ts';
import { Host } from '../../sources/host.ts';
import { WHOLE_NODE } from '../../sources/scope.ts';
import { innermostCgroup } from '../on-node/own-cgroup.ts';
import { allowance } from '../on-node/scope.ts';
import type { Environment } from './command.ts';
import { type SchedulerFacts, whole } from './scheduler.ts';
import { slurm, slurmBytes } from './slurm.ts';
import { isOwnStep } from './slurm-step.ts';

/** A task that srun has started: one of several side by side, or the only one of a step that is a part of its job. */
export interface Task {
  rank: number;
  tasks: number;
  step: string;
  /** The job that it is a part of. */
  job: string;
  /** As on a machine of its own: what the job was given is not this task's. */
  facts: SchedulerFacts;
}

/** Slurm's own steps (the batch script, an interactive shell) have the numbers from here on. */
const OWN_STEPS = 0xfffffff0;

/**
 * The task that this environment belongs to; undefined: it is the job's, as a batch script is. A `terminal` is a user who
 * works in the job (`srun --pty bash`), not a task of a program.
 */
export function taskOf(env: Environment, terminal: boolean, host = new Host()): Task | undefined {
  const job = slurm.detect(env);
  const [step, rank, tasks] = [env.SLURM_STEP_ID, env.SLURM_PROCID, env.SLURM_STEP_NUM_TASKS].map(whole);
  if (terminal || job === undefined || step === undefined || rank === undefined || tasks === undefined)
    return undefined;
  if (step >= OWN_STEPS || tasks < 1 || !isOwnStep(env, host)) return undefined;
  if (tasks === 1 && (isWholeJob(env) || hasTerminal(host))) return undefined;
  const facts = {
    // as Slurm calls a step, and then the task in it
    id: tasks === 1 ? `${job}.${step}` : `${job}.${step}.${rank}`,
    restart: whole(env.SLURM_RESTART_COUNT),
    cluster: env.SLURM_CLUSTER_NAME,
    account: env.SLURM_JOB_ACCOUNT,
    partition: env.SLURM_JOB_PARTITION,
    nodes: [env.SLURMD_NODENAME || os.hostname()],
    asked: given(env, host),
  };
  return { rank, tasks, step: String(step), job, facts: stated(facts) };
}

/** The step has all that the job has: `srun -n1` outside of any job, which makes one. */
function isWholeJob(env: Environment): boolean {
  return env.SLURM_JOB_NUM_NODES === '1' && env.SLURM_JOB_CPUS_PER_NODE === env.SLURM_CPUS_ON_NODE;
}

/** Something that a user started from a terminal, wherever its input comes from: `nohup … < /dev/null &` in `srun --pty bash`. */
function hasTerminal(host: Host): boolean {
  const stat = host.text('/proc/self/stat') ?? '';
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[4] ?? 0) !== 0;
}

/** What this one task has: it shares what its step was given on the node with the other tasks of the step there. */
function given(env: Environment, host: Host): SchedulerFacts['asked'] {
  const here = env.SLURM_GTIDS?.split(',').length ?? (env.SLURM_STEP_NUM_TASKS === '1' ? 1 : Number.NaN);
  // a step may have been given less than the variables say, which are often the job's
  const limit = limits(host);
  const statedCpus = whole(env.SLURM_CPUS_PER_TASK) ?? (whole(env.SLURM_CPUS_ON_NODE) ?? Number.NaN) / here;
  const cpus = Number.isFinite(statedCpus) ? least(statedCpus, limit.cpus) : undefined;
  const perCpu = slurmBytes(env.SLURM_MEM_PER_CPU);
  const gpus = /(\d+)$/.exec(env.SLURM_GPUS_PER_TASK ?? '')?.[1] ?? (here === 1 ? env.SLURM_GPUS_ON_NODE : undefined);
  return stated({
    cpus,
    memory_bytes: least(
      perCpu === undefined || cpus === undefined ? undefined : perCpu * cpus,
      (slurmBytes(env.SLURM_MEM_PER_NODE) ?? Number.NaN) / here,
      (limit.memory_bytes ?? Number.NaN) / here,
    ),
    gpus: whole(gpus),
  });
}

/** What the kernel holds this process to: the CPUs that it may run on, and the memory of its step. */
function limits(host: Host): ReturnType<typeof allowance> {
  const path = innermostCgroup(host);
  const cgroup = path === undefined ? {} : { cgroup: { path, shared: true } };
  const { cpus, memory_bytes } = allowance(host, { ...WHOLE_NODE, ...cgroup });
  return stated({ cpus, memory_bytes: path === undefined ? undefined : memory_bytes });
}

function least(...values: (number | undefined)[]): number | undefined {
  const some = values.filter((value) => value !== undefined && Number.isFinite(value)) as number[];
  return some.length === 0 ? undefined : Math.min(...some);
}
