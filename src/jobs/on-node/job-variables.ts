import { execFileSync } from 'node:child_process';
import { compressHostlist } from '../../base/hostlist.ts';
import type { Environment } from '../schedulers/command.ts';
import { factsFromFile } from '../schedulers/file.ts';

/** What flags say of a job that begins, over what the environment says. */
export interface BeginFlags {
  jobId?: string;
  restart?: string;
  user?: string;
  uid?: string;
  nodes?: string;
  name?: string;
  cluster?: string;
  directory?: string;
  scheduler?: string;
  interval?: number;
  /** A JSON file with RMS_* keys. */
  jobFile?: string;
}

/** The variables of a job file, from the environment of a prolog, a file and flags; each goes over the one before. */
export function beginVariables(env: Environment, flags: BeginFlags): Environment {
  const facts = flags.jobFile === undefined ? undefined : factsFromFile(flags.jobFile);
  const user = flags.user ?? facts?.user ?? env.SLURM_JOB_USER;
  const sameUser = user === env.SLURM_JOB_USER;
  const { scheduler, interval } = flags;
  return {
    ...env,
    ...given({
      SLURM_JOB_ID: flags.jobId ?? facts?.id ?? env.SLURM_JOB_ID ?? env.SLURM_JOBID,
      // a prolog has another name for it than the job itself
      SLURM_RESTART_COUNT: flags.restart ?? env.SLURM_JOB_RESTART_COUNT,
      SLURM_JOB_USER: user,
      SLURM_NODELIST: flags.nodes ?? (facts && compressHostlist(facts.nodes)),
      SLURM_JOB_NAME: flags.name ?? facts?.name,
      SLURM_JOB_PARTITION: facts?.partition,
      SLURM_JOB_ACCOUNT: facts?.account,
      SLURM_CLUSTER_NAME: flags.cluster,
      SLURM_JOB_WORK_DIR: flags.directory,
      TACHO_SCHEDULER: scheduler,
      TACHO_INTERVAL: interval === undefined ? undefined : `${interval}`,
    }),
    SLURM_JOB_UID: flags.uid ?? (sameUser ? env.SLURM_JOB_UID : undefined) ?? uidOf(user),
    // the list that was named must not lose against an inherited one
    ...(flags.nodes === undefined && facts === undefined ? {} : { SLURM_JOB_NODELIST: undefined }),
  };
}

export function endVariables(
  env: Environment,
  flags: { jobId?: string; restart?: string; exitCode?: string },
): Environment {
  return {
    ...env,
    ...given({
      SLURM_JOB_ID: flags.jobId ?? env.SLURM_JOB_ID ?? env.SLURM_JOBID,
      SLURM_RESTART_COUNT: flags.restart,
      SLURM_JOB_EXIT_CODE2: flags.exitCode === undefined ? undefined : `${flags.exitCode}:0`,
    }),
  };
}

const given = (values: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== undefined));

function uidOf(user: string | undefined): string | undefined {
  if (user === undefined) return undefined;
  try {
    return execFileSync('id', ['-u', '--', user], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
