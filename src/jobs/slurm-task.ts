import * as os from 'node:os';
import type { Environment } from './command.ts';
import { known, type SchedulerFacts, whole } from './scheduler.ts';
import { slurm } from './slurm.ts';

/** One of several tasks that srun has started side by side. */
export interface Task {
  rank: number;
  tasks: number;
  step: string;
  /** As on a machine of its own: what the job was given is not this task's. */
  facts: SchedulerFacts;
}

/** Slurm's own steps (the batch script, an interactive shell) have the numbers from here on. */
const OWN_STEPS = 0xfffffff0;

/**
 * The task that this environment belongs to; undefined: it is not one of several. A `terminal` is a user who works in the
 * job (`srun --pty bash`), not a task of a program.
 */
export function taskOf(env: Environment, terminal: boolean): Task | undefined {
  const id = slurm.detect(env);
  const [step, rank, tasks] = [env.SLURM_STEP_ID, env.SLURM_PROCID, env.SLURM_STEP_NUM_TASKS].map(whole);
  if (terminal || id === undefined || step === undefined || rank === undefined || !(tasks! > 1)) return undefined;
  if (step >= OWN_STEPS) return undefined;
  const facts = {
    id,
    restart: whole(env.SLURM_RESTART_COUNT),
    nodes: [env.SLURMD_NODENAME || os.hostname()],
    asked: {},
  };
  return { rank, tasks: tasks!, step: String(step), facts: known(facts) };
}
