import { count, figure, listed } from '../base/readable.ts';
import { stated } from '../base/stated.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import { isCompleted } from './evidence.ts';
import { groupsOf, type JobGroup } from './group.ts';
import { cpuAdvice, gpuAdvice, memoryAdvice, nodeAdvice, type ResourceAdvice, timeAdvice } from './resources.ts';
import { BATCH_SYSTEMS, type BatchSystem, type Request, scriptLines } from './script.ts';

/** What these runs reserved and the advice would not have. */
export interface Savings {
  /** Of all runs that completed. */
  runs: number;
  core_hours?: number;
  gpu_hours?: number;
  memory_byte_hours?: number;
  /** Of what these runs reserved, 0 to 1. */
  core_share?: number;
  gpu_share?: number;
  memory_share?: number;
}

export interface Advice {
  user: string;
  cluster: string;
  name: string;
  program?: string;
  scheduler?: string;
  jobs: string[];
  /** Ids of arrays whose tasks are among them. */
  arrays: string[];
  runs: number;
  completed: number;
  /** By state, of those that did not complete. */
  not_completed: Record<string, number>;
  resources: ResourceAdvice[];
  request: Request;
  /** The head of a job script, for the scheduler of the jobs or the one that was chosen; none: it has no scheduler. */
  script: string[];
  script_for?: BatchSystem;
  savings: Savings;
  /** How far this can be trusted. */
  confidence: 'low' | 'medium' | 'high';
  uncertain: string[];
}

export interface AdviceOptions {
  /** For another scheduler than that of the jobs. */
  system?: BatchSystem;
}

/** What to ask for next time, for each kind of job among these; those with most core-hours first. */
export const adviceOf = (jobs: readonly JobSummary[], options: AdviceOptions = {}): Advice[] =>
  groupsOf(jobs).map((group) => adviceOn(group, options));

/** Fewer completed runs than this say little about the next one; so many say much. */
const FEW = 5;
const MANY = 20;

function adviceOn(group: JobGroup, options: AdviceOptions): Advice {
  const { jobs, newest } = group;
  const completed = jobs.filter(isCompleted);
  const cpus = cpuAdvice(group);
  const gpus = gpuAdvice(group);
  const nodes = nodeAdvice(group, cpus, gpus);
  const memory = memoryAdvice(group, nodes.advised);
  const time = timeAdvice(group);
  const resources = [time, memory, cpus, ...(gpus === undefined ? [] : [gpus]), nodes];
  const request = requestOf(resources, newest);
  const own = BATCH_SYSTEMS.find((system) => system === newest.scheduler);
  const system = options.system ?? own;
  const hasTail = resources.some(({ tail }) => tail.length > 0);
  const states = jobs.filter((job) => !isCompleted(job)).map((job) => job.state!);
  return {
    user: group.user,
    cluster: group.cluster,
    name: group.name,
    ...stated({ program: newest.program, scheduler: newest.scheduler }),
    jobs: jobs.map(({ job }) => job),
    arrays: group.arrays,
    runs: jobs.length,
    completed: completed.length,
    not_completed: Object.fromEntries(
      [...Map.groupBy(states, (state) => state)].map(([state, all]) => [state, all.length]),
    ),
    resources,
    request,
    script: system === undefined ? [] : scriptLines(request, system),
    ...stated({ script_for: system }),
    savings: savingsOf(completed, resources),
    confidence: completed.length >= MANY ? 'high' : completed.length >= FEW ? 'medium' : 'low',
    uncertain: [
      ...uncertainties(group, completed.length, hasTail),
      ...resources.flatMap((resource) => resource.uncertain),
    ],
  };
}

/** What is advised, and where nothing can be said, what was asked for. */
function requestOf(resources: readonly ResourceAdvice[], newest: JobSummary): Request {
  const of = (name: ResourceAdvice['resource']): number | undefined => {
    const adviceOfResource = resources.find(({ resource }) => resource === name);
    return adviceOfResource?.advised ?? adviceOfResource?.asked;
  };
  const ranks = (newest.ranks ?? 1) > 1 ? newest.ranks : undefined;
  return stated({
    nodes: of('nodes'),
    cpus: of('CPUs'),
    ranks,
    gpus: of('GPUs'),
    memory_bytes: of('memory'),
    time_seconds: of('time'),
  });
}

function savingsOf(completed: readonly JobSummary[], resources: readonly ResourceAdvice[]): Savings {
  const advised = (name: ResourceAdvice['resource']): number | undefined => {
    const adviceOfResource = resources.find(({ resource }) => resource === name);
    return adviceOfResource?.verdict === 'unknown' ? undefined : adviceOfResource?.advised;
  };
  const [cpus, gpus, memory, nodes] = [advised('CPUs'), advised('GPUs'), advised('memory'), advised('nodes')];
  const total = (of: (job: JobSummary) => number | undefined): number | undefined => {
    const values = completed.map(of);
    return values.length === 0 || values.includes(undefined)
      ? undefined
      : values.reduce<number>((sum, value) => sum + value!, 0);
  };
  const hours = ({ wall_seconds: wall }: JobSummary): number => (wall ?? Number.NaN) / 3600;
  const reserved = {
    core: total((job) => job.core_hours),
    gpu: total((job) => job.gpu_hours),
    memory: total((job) => job.memory_byte_hours),
  };
  const would = (each: number | undefined, of: (job: JobSummary) => number | undefined): number | undefined =>
    each === undefined ? undefined : total((job) => (of(job) === undefined ? undefined : each * hours(job)));
  const saved = (was: number | undefined, is: number | undefined): number | undefined =>
    was === undefined || is === undefined ? undefined : Math.max(0, was - is);
  const core = saved(
    reserved.core,
    would(cpus, (job) => job.core_hours),
  );
  const gpu = saved(
    reserved.gpu,
    would(gpus, (job) => job.gpu_hours),
  );
  const all = memory === undefined || nodes === undefined ? undefined : memory * nodes;
  const bytes = saved(
    reserved.memory,
    would(all, (job) => job.memory_byte_hours),
  );
  const share = (portion: number | undefined, whole: number | undefined): number | undefined =>
    portion === undefined || !whole ? undefined : portion / whole;
  return {
    runs: completed.length,
    ...stated({
      core_hours: core,
      gpu_hours: gpu,
      memory_byte_hours: bytes,
      core_share: share(core, reserved.core),
      gpu_share: share(gpu, reserved.gpu),
      memory_share: share(bytes, reserved.memory),
    }),
  };
}

function uncertainties({ jobs, arrays }: JobGroup, completed: number, hasTail: boolean): string[] {
  const reasons: string[] = [];
  if (completed === 0)
    reasons.push('No run completed: what they needed is not known, only that it was at least what they used.');
  else if (completed < MANY)
    reasons.push(
      `${count(completed, 'run')} completed: by that alone, one of ${figure(completed + 1)} further runs may use more than any of them. The margin is for that.`,
    );
  const others = jobs.length - completed;
  if (completed > 0 && others > 0)
    reasons.push(
      `${count(others, 'run')} did not complete: ${others === 1 ? 'it shows' : 'they show'} the least that was needed, not how much.`,
    );
  const poor = jobs.filter(({ quality }) => quality === 'C' || quality === 'D').map(({ job }) => job);
  if (poor.length > 0) reasons.push(`Poorly recorded, so that peaks may be missed: ${listed(poor, 4)}.`);
  const accounted = jobs.filter(({ origin }) => origin === 'accounting').length;
  if (accounted > 0)
    reasons.push(`${count(accounted, 'run')} of ${jobs.length} known from accounting only: no GPUs, no phases.`);
  if (arrays.length > 0 && hasTail)
    reasons.push('All tasks of an array get the same: put the few large ones into an array of their own.');
  return reasons;
}
