import { expandHostlist } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import type { Job, JobState } from '../../recording/folder/job.ts';
import { defined, type Environment, type Run } from './command.ts';
import { type Ending, jobId, type Scheduler, type SchedulerFacts, signalName, whole } from './scheduler.ts';

/** The parts of `flux jobs --json` that are used. Times and durations are seconds. */
interface FluxJob {
  name?: string;
  username?: string;
  queue?: string;
  bank?: string;
  cwd?: string;
  nnodes?: number;
  ncores?: number;
  nodelist?: string;
  duration?: number;
  t_submit?: number;
  t_cleanup?: number;
  t_inactive?: number;
  result?: string;
  returncode?: number;
  waitstatus?: number;
  exception?: { occurred?: boolean; type?: string; note?: string };
}

export const flux: Scheduler = {
  name: 'flux',

  /**
   * A batch script runs in an instance of its own, whose job is the enclosing one; a plain `flux run` task has its own id.
   * A container may have nothing but the id.
   */
  detect(env) {
    const id = jobId(env.FLUX_ENCLOSING_ID) ?? jobId(env.FLUX_JOB_ID);
    if (id !== undefined || env.FLUX_URI === undefined) return id;
    return /([^/]+)\/local[^/]*$/.exec(env.FLUX_URI)?.[1] ?? 'flux';
  },

  async facts(run, env, reportTrouble) {
    const id = flux.detect(env)!;
    const [about, resources, hosts] = await Promise.all([
      jobInfo(run, env, id),
      run('flux', [...parent(env), 'job', 'info', id, 'R']),
      run('flux', ['getattr', 'hostlist']),
    ]);
    const trouble = about.trouble ?? resources.trouble;
    if (trouble !== undefined) reportTrouble('what Flux gave to the job', trouble);
    return merge(id, env, about.job, resources.stdout, hosts.stdout.trim());
  },

  launch(plan, jobId) {
    const own = plan.env.FLUX_ENCLOSING_ID === undefined && plan.env.FLUX_JOB_ID === jobId;
    const all = plan.nodes.length === plan.jobNodes.length;
    const ranks = all ? 'all' : plan.nodes.map((node) => plan.jobNodes.indexOf(node)).join(',');
    const args = ['exec', '--noinput', '--label-io', `--rank=${ranks}`];
    if (own) args.push(`--jobid=${jobId}`);
    return [
      {
        command: 'flux',
        args: [...args, ...plan.everywhere('$(hostname -s)')],
        nodes: [...plan.nodes],
        env: defined(plan.env),
      },
    ];
  },

  // flux exec passes SIGTERM on to what it started: ending the launcher is the way
  stop: async () => 'signal the launcher',

  async state(run, job, reportTrouble) {
    const { job: about, trouble } = await jobInfo(run, process.env, job.id);
    if (about === undefined) reportTrouble('how the job ended', trouble ?? `Flux does not know job ${job.id}`);
    return about === undefined ? undefined : ending(about);
  },
};

/** Inside a batch job's own instance the job itself is known to the instance around it. */
const parent = (env: Environment): string[] => (env.FLUX_ENCLOSING_ID === undefined ? [] : ['--parent']);

async function jobInfo(run: Run, env: Environment, id: string): Promise<{ job?: FluxJob; trouble?: string }> {
  const { stdout, trouble } = await run('flux', [...parent(env), 'jobs', '-a', '--json', id]);
  if (trouble !== undefined) return { trouble };
  try {
    const parsed = JSON.parse(stdout) as FluxJob & { jobs?: FluxJob[] };
    // older versions give a list even for one id
    const job = parsed.jobs === undefined ? parsed : parsed.jobs[0];
    return job === undefined ? {} : { job };
  } catch {
    return { trouble: 'flux jobs gave an answer that is not JSON' };
  }
}

function merge(
  id: string,
  env: Environment,
  job: FluxJob | undefined,
  resources: string,
  hostlist: string,
): SchedulerFacts {
  const given = allocation(resources);
  const nodes = given?.nodes ?? expandHostlist(job?.nodelist ?? hostlist);
  const total = (totalOf: 'cpus' | 'gpus'): number | undefined => {
    const values = Object.values(given?.shares ?? {}).flatMap((share) => share[totalOf] ?? []);
    return values.length === 0 ? undefined : values.reduce((a, b) => a + b, 0);
  };
  return stated({
    id,
    name: job?.name,
    user: job?.username ?? env.USER,
    account: job?.bank || undefined,
    partition: job?.queue || undefined,
    directory: job?.cwd,
    nodes,
    asked: stated({
      nodes: job?.nnodes ?? whole(env.FLUX_JOB_NNODES) ?? (nodes.length || undefined),
      cpus: total('cpus') ?? job?.ncores,
      gpus: total('gpus'),
      time_limit_seconds: job?.duration || undefined,
    }),
    per_node: given?.shares,
    submit: micro(job?.t_submit),
  }) as SchedulerFacts;
}

/** R: `{"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-3","gpu":"0"}}],"nodelist":["c[1-2]"]}}` */
function allocation(text: string): { nodes: string[]; shares: NonNullable<Job['per_node']> } | undefined {
  try {
    const { execution } = JSON.parse(text) as {
      execution: { R_lite: { rank: string; children: { core?: string; gpu?: string } }[]; nodelist?: string[] };
    };
    if (execution.nodelist === undefined) return undefined;
    const nodes = expandHostlist(execution.nodelist.join(','));
    const shares: NonNullable<Job['per_node']> = {};
    let at = 0;
    for (const { rank, children } of execution.R_lite) {
      for (const _ of expandHostlist(`[${rank}]`)) {
        const node = nodes[at++];
        if (node !== undefined) shares[node] = stated({ cpus: count(children.core), gpus: count(children.gpu) });
      }
    }
    return { nodes, shares };
  } catch {
    return undefined;
  }
}

const count = (ids: string | undefined): number | undefined =>
  ids === undefined ? undefined : expandHostlist(`[${ids}]`).length;

const micro = (seconds: number | undefined): number | undefined =>
  seconds === undefined || seconds === 0 ? undefined : Math.round(seconds * 1e6);

const RESULTS: Record<string, JobState> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELED: 'cancelled',
  TIMEOUT: 'timeout',
};

function ending(job: FluxJob): Ending {
  if (job.result === undefined || job.result === '') return { state: 'running' };
  const state = RESULTS[job.result] ?? 'unknown';
  const note = job.exception?.occurred
    ? [job.exception.type, job.exception.note].filter(Boolean).join(': ')
    : undefined;
  const signal = (job.waitstatus ?? 0) & 0x7f;
  return stated({
    state,
    end: micro(job.t_cleanup ?? job.t_inactive),
    exit_code: job.returncode !== undefined && job.returncode >= 0 ? job.returncode : undefined,
    signal: signal === 0 ? undefined : signalName(signal),
    reason: state === 'timeout' ? 'time limit reached' : note || undefined,
  }) as Ending;
}
