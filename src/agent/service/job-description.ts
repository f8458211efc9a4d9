import { setTimeout as sleep } from 'node:timers/promises';
import { stated } from '../../base/stated.ts';
import { VERSION } from '../../base/version.ts';
import type { NodeJob, NodeJobEnd } from '../../jobs/on-node/job-file.ts';
import { keptEnvironment } from '../../jobs/schedulers/environment.ts';
import { schedulerNamed } from '../../jobs/schedulers/job-facts.ts';
import { type Ending, type SchedulerFacts, signalName, type Tell } from '../../jobs/schedulers/scheduler.ts';
import { FORMAT, type Job } from '../../recording/folder/job.ts';
import { userNames } from '../../sources/host/user-names.ts';
import type { Host } from '../../sources/host.ts';
import type { Common } from './common.ts';

/** What a job file says of a job. */
export function newJob(nodeJob: NodeJob, intervalSeconds: number, common: Common, host: Host): Job {
  const now = common.clock.now();
  const { restart, cluster, account, partition, directory } = nodeJob;
  return {
    format: FORMAT,
    tacho: VERSION,
    id: nodeJob.id,
    ...stated({ restart, cluster, account, partition, directory }),
    scheduler: nodeJob.scheduler,
    name: nodeJob.name ?? nodeJob.id,
    user: nodeJob.user ?? (nodeJob.uid === undefined ? '' : userNames(host)(nodeJob.uid)),
    uid: nodeJob.uid ?? -1,
    asked: nodeJob.nodes.length === 0 ? {} : { nodes: nodeJob.nodes.length },
    nodes: nodeJob.nodes.length === 0 ? [common.node] : nodeJob.nodes,
    interval_seconds: intervalSeconds,
    start: nodeJob.begin !== undefined && nodeJob.begin <= now ? nodeJob.begin : now,
    state: 'running',
    tags: nodeJob.tags,
    environment: keptEnvironment(nodeJob.environment),
    ...(common.redact ? { redacted: true } : {}),
  };
}

/** It was taken for ended, and is not. */
export function goesOn(job: Job): Job {
  const { end: _, exit_code: __, signal: ___, reason: ____, ...rest } = job;
  return { ...rest, state: 'running' };
}

/** As far as an epilog knows: what ended by a signal may have been cancelled, which only the scheduler can say. */
export function outcome({ exitCode, signal }: NodeJobEnd): Pick<Job, 'state'> & Partial<Job> {
  if (signal !== undefined)
    return { state: 'failed', signal: signalName(signal), reason: `ended by ${signalName(signal)}` };
  if (exitCode === undefined) return { state: 'unknown' };
  return { state: exitCode === 0 ? 'completed' : 'failed', exit_code: exitCode };
}

/** The scheduler is asked again so much later while it still calls the job running: epilogs are a part of it. */
const ASK_AGAIN_MS = [300, 700, 1500, 3000];

/** What a scheduler can be asked of a job; undefined: this is not the node that asks, or there is nobody to ask. */
export function schedulerQuestions({ nodes, scheduler: name }: Job, { node, run, redact }: Common) {
  const isFirst = nodes.length === 0 || nodes[0] === node;
  if (!isFirst || (name !== 'slurm' && name !== 'pbs')) return undefined;
  const scheduler = schedulerNamed(name);
  return {
    /** The job with what the scheduler knows of it. */
    async facts(job: () => Job, nodeJob: NodeJob, reportTrouble: Tell): Promise<Job> {
      // a task of an array is asked for by its own number
      const { SLURM_ARRAY_JOB_ID: _, SLURM_ARRAY_TASK_ID: __, ...environment } = nodeJob.environment;
      return withFacts(await scheduler.facts(run, environment, reportTrouble), job(), redact);
    },
    /** How it ended; undefined: the scheduler does not say. */
    async ending(job: Job): Promise<Ending | undefined> {
      for (const pause of ASK_AGAIN_MS) {
        let trouble = false;
        const ending = await scheduler.state(run, { ...job }, () => {
          trouble = true;
        });
        if (ending !== undefined && ending.state !== 'running') return ending;
        if (trouble) return undefined;
        await sleep(pause);
      }
      return undefined;
    },
  };
}

function withFacts(facts: SchedulerFacts, job: Job, redact: boolean): Job {
  const { name, account, partition, directory, asked, per_node, submit, nodes, command, array, het } = facts;
  return {
    ...job,
    ...stated({ name, account, partition, directory, per_node, submit, command: redact ? undefined : command }),
    asked: { ...job.asked, ...asked },
    tags: {
      ...(array === undefined ? {} : { array_job: array.job, array_task: array.task }),
      ...(het === undefined ? {} : { het_job: het.job, het_component: het.component }),
      ...job.tags,
    },
    nodes: nodes.length > job.nodes.length ? nodes : job.nodes,
  };
}
