import * as fs from 'node:fs';
import { formatDuration } from '../../base/duration.ts';
import { parseBytes } from '../../base/size.ts';
import { stated } from '../../base/stated.ts';
import type { Job, JobState } from '../../recording/folder/job.ts';
import { defined, type Environment, type Run } from './command.ts';
import { type Ending, jobId, type Scheduler, type SchedulerFacts, signalName, whole } from './scheduler.ts';
import { slurmSeconds } from './slurm.ts';

/** The parts of `qstat -f -F json` that are used. */
interface PbsJob {
  Job_Name?: string;
  Job_Owner?: string;
  Account_Name?: string;
  queue?: string;
  server?: string;
  job_state?: string;
  exec_host?: string;
  exec_vnode?: string;
  Resource_List?: Record<string, string | number>;
  Variable_List?: Record<string, string>;
  qtime?: string;
  ctime?: string;
  obittime?: string;
  mtime?: string;
  run_count?: number;
  Exit_status?: number;
  comment?: string;
}

export const pbs: Scheduler = {
  name: 'pbs',

  /** "4711.server" or "4711[3].server": the number is what people use. */
  detect: (env) => jobId(env.PBS_JOBID)?.split('.')[0],

  async facts(run, env, reportTrouble) {
    const id = pbs.detect(env)!;
    const { job, trouble } = await query(run, id);
    if (job === undefined) reportTrouble('what PBS gave to the job', `${trouble}; the environment alone was used`);
    return merge(id, env, job ?? {});
  },

  /** pbsdsh takes a line of the node file, in which a node may appear many times: its first line is meant. */
  launch(plan) {
    const lines = nodeLines(plan.env);
    return plan.nodes.map((node) => ({
      command: 'pbsdsh',
      args: ['-n', String(Math.max(0, lines.indexOf(node))), '--', ...plan.on(node)],
      nodes: [node],
      env: defined(plan.env),
    }));
  },

  // pbsdsh passes SIGTERM on to what it started: ending the launcher is the way
  stop: async () => 'signal the launcher',

  async state(run, job, reportTrouble) {
    const { job: about, trouble } = await query(run, job.id);
    if (about === undefined) reportTrouble('how the job ended', trouble);
    return about === undefined ? undefined : ending(about);
  },
};

async function query(run: Run, id: string): Promise<{ job?: PbsJob; trouble: string }> {
  // -x: also when it has ended
  const { stdout, trouble } = await run('qstat', ['-x', '-f', '-F', 'json', id]);
  if (trouble !== undefined) return { trouble };
  try {
    const job = Object.values((JSON.parse(stdout) as { Jobs?: Record<string, PbsJob> }).Jobs ?? {})[0];
    return job === undefined ? { trouble: `PBS does not know job ${id}` } : { job, trouble: '' };
  } catch {
    return { trouble: 'qstat gave an answer that is not JSON' };
  }
}

function nodeLines(env: Environment): string[] {
  try {
    return fs
      .readFileSync(env.PBS_NODEFILE ?? '', 'utf8')
      .split('\n')
      .filter(Boolean);
  } catch {
    return [];
  }
}

function merge(id: string, env: Environment, job: PbsJob): SchedulerFacts {
  const asked = job.Resource_List ?? {};
  const shares = sharesOf(job.exec_vnode);
  const listed = [...new Set(nodeLines(env))];
  const hosts = (job.exec_host ?? '').split('+').flatMap((hostText) => hostText.split('/')[0] || []);
  const nodes = listed.length > 0 ? listed : [...new Set(hosts)];
  return stated({
    id,
    restart: job.run_count === undefined ? undefined : Math.max(0, job.run_count - 1),
    cluster: job.server ?? env.PBS_JOBID?.split('.')[1],
    name: job.Job_Name ?? env.PBS_JOBNAME,
    user: job.Job_Owner?.split('@')[0] ?? env.PBS_O_LOGNAME,
    account: job.Account_Name ?? env.PBS_ACCOUNT,
    partition: job.queue ?? env.PBS_QUEUE,
    directory: job.Variable_List?.PBS_O_WORKDIR ?? env.PBS_O_WORKDIR,
    nodes,
    asked: stated({
      nodes: whole(asked.nodect) ?? (nodes.length || undefined),
      cpus: whole(asked.ncpus) ?? whole(env.NCPUS),
      memory_bytes: pbsBytes(asked.mem),
      gpus: whole(asked.ngpus),
      time_limit_seconds: slurmSeconds(String(asked.walltime ?? '')),
    }),
    per_node: shares,
    submit: moment(job.qtime ?? job.ctime),
  }) as SchedulerFacts;
}

/** "(n1:ncpus=4:mem=8gb:ngpus=1)+(n2[0]:ncpus=2+n2[1]:ncpus=2)": parts of one node add up. */
function sharesOf(vnodes: string | undefined): NonNullable<Job['per_node']> | undefined {
  const shares: NonNullable<Job['per_node']> = {};
  for (const chunk of (vnodes ?? '').replaceAll(/[()]/g, '').split('+')) {
    const [vnode, ...resourceTexts] = chunk.split(':');
    if (vnode === undefined || vnode === '') continue;
    const values = Object.fromEntries(resourceTexts.map((resourceText) => resourceText.split('=') as [string, string]));
    const node = vnode.replace(/\[\d+\]$/, '');
    shares[node] ??= {};
    const share = shares[node];
    const add = (key: 'cpus' | 'gpus' | 'memory_bytes', value: number | undefined): void => {
      if (value !== undefined) share[key] = (share[key] ?? 0) + value;
    };
    add('cpus', whole(values.ncpus));
    add('gpus', whole(values.ngpus));
    add('memory_bytes', pbsBytes(values.mem));
  }
  return Object.keys(shares).length > 0 ? shares : undefined;
}

function pbsBytes(size: string | number | undefined): number | undefined {
  const text = String(size ?? '');
  return /^\d+[kmgtp]?b?$/i.test(text) ? parseBytes(text) : undefined;
}

/** "Sun Nov 15 20:49:12 2026", local time. */
function moment(text: string | undefined): number | undefined {
  const parsed = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(parsed) ? undefined : parsed * 1000;
}

/** Exit_status below 0: PBS itself ended the job. */
const KILLED: Record<number, [JobState, string]> = {
  [-25]: ['failed', 'it used more CPUs than it was given, and was killed'],
  [-26]: ['out_of_memory', 'it used more virtual memory than it was given, and was killed'],
  [-27]: ['out_of_memory', 'it used more memory than it was given, and was killed'],
  [-28]: ['timeout', 'limit of CPU time reached'],
  [-29]: ['timeout', 'time limit reached'],
};

function ending(job: PbsJob): Ending {
  if (!['F', 'X'].includes(job.job_state ?? '')) return { state: 'running' };
  const end = moment(job.obittime ?? job.mtime);
  const status = job.Exit_status;
  if (status === undefined) return stated({ state: 'unknown' as const, end, reason: job.comment }) as Ending;
  const killed = KILLED[status];
  if (killed !== undefined) {
    const limit = slurmSeconds(String(job.Resource_List?.walltime ?? ''));
    const reasonText =
      status === -29 && limit !== undefined ? `time limit of ${formatDuration(limit)} reached` : killed[1];
    return stated({ state: killed[0], end, reason: reasonText }) as Ending;
  }
  // 256 + n: ended by signal n; SIGTERM and SIGKILL are what qdel sends
  if (status > 256) {
    const signal = signalName(status - 256);
    const state = signal === 'SIGTERM' || signal === 'SIGKILL' ? 'cancelled' : 'failed';
    return stated({ state, end, signal, reason: job.comment }) as Ending;
  }
  if (status < 0)
    return stated({ state: 'failed' as const, end, reason: job.comment ?? `PBS gave exit status ${status}` }) as Ending;
  return stated({
    state: status === 0 ? ('completed' as const) : ('failed' as const),
    end,
    exit_code: status,
  }) as Ending;
}
