import type { JobState } from '../../recording/folder/job.ts';

/** A step of a job, as accounting knows it. Times are epoch microseconds. */
export interface SacctStep {
  /** 0, batch, extern, interactive. */
  id: string;
  start?: number;
  end?: number;
  tasks?: number;
  nodes?: number;
  cpu_seconds?: number;
  /** Of its largest task, as sampled: Slurm's MaxRSS. */
  task_memory_bytes?: number;
  /** The highest of every task, added up. */
  tasks_memory_bytes?: number;
  gpu_memory_bytes?: number;
  /** The highest that was sampled of any task, 0 to 1. */
  gpu_use_max?: number;
  read_bytes?: number;
  written_bytes?: number;
}

/** A run of a job, or of a component of a heterogeneous job, as accounting knows it. What it does not say is not there. */
export interface SacctJob {
  /** 4711, 4711_3; of tasks of an array that wait together 4711_[5-9]. */
  id: string;
  array?: string;
  /** Number of the component of a heterogeneous job. */
  component?: number;
  cluster?: string;
  user: string;
  account?: string;
  partition?: string;
  name?: string;
  directory?: string;
  /** As it was submitted. */
  command?: string;
  state: JobState | 'pending' | 'resizing';
  exit_code?: number;
  signal?: string;
  reason?: string;
  restart?: number;
  submit?: number;
  start?: number;
  end?: number;
  wall_seconds?: number;
  nodes: string[];
  node_count?: number;
  cpus?: number;
  memory_bytes?: number;
  gpus?: number;
  gpu_model?: string;
  asked: { nodes?: number; cpus?: number; memory_bytes?: number; gpus?: number; time_limit_seconds?: number };
  cpu_seconds?: number;
  energy_joules?: number;
  /** AdminComment, where jobstats files what it measured. */
  comment?: string;
  steps: SacctStep[];
}

/** What a file, or `sacct` itself, says. */
export interface SacctOutput {
  /** Version of Slurm, where it is said. */
  version?: string;
  jobs: SacctJob[];
  /** What could not be read, or is missing, in words. */
  notes: string[];
}
