import { commandLine } from '../../base/quote.ts';
import { figure } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import type { NodeReport, Report } from '../report-schema.ts';
import { waitedShare } from '../rules/shared/cpu-waiting.ts';
import { weightedMean } from '../use/recorded-time.ts';

/** What the size of a run is counted in; `tag:ranks` is a tag of the job with a number. */
export type SizeBy = 'cores' | 'nodes' | 'gpus' | `tag:${string}`;

/** One run of a scaling study. What is not known is not there. */
export interface ScaleRun {
  job: string;
  recording: string;
  name: string;
  program: string;
  command?: string;
  size: number;
  /** Who says so, in words. */
  size_source: string;
  wall_seconds: number;
  cpu_seconds?: number;
  /** Of the time in which its threads wanted a CPU, the share in which they had none: others had it, or there were too many. */
  waited?: number;
  nodes: number;
  /** Of the size, where cores are counted; else of the allocation. */
  core_hours?: number;
  gpu_hours?: number;
  node_hours?: number;
  energy_joules?: number;
  /** How much work it did, by a tag or a figure of merit. */
  work?: number;
  /** Work in a second by a figure of merit. */
  rate?: number;
}

/** A run that cannot be part of the study, and why. */
export interface LeftOut {
  job: string;
  recording: string;
  why: string;
}

export interface RunOptions {
  by: SizeBy;
  /** The program that the job is about. */
  program?: string;
  /** The figure of merit that says how much was done in a second: more is better. */
  figure?: string;
  /** The tag or figure of merit with the work of the run. */
  work?: string;
}

/** The tag that says on how many cores a run is; `tacho scale run` sets it. */
export const CORES_TAG = 'cores';

/** A report as a run of a study, or why it is none. */
export function runOf(report: Report, options: RunOptions): ScaleRun | LeftOut {
  const { job, summary, recording } = report;
  const about = { job: job.id, recording };
  const no = (why: string): LeftOut => ({ ...about, why });
  if (job.state !== 'completed')
    return no(job.state === 'running' ? 'it still runs' : `it did not end well (${job.state.replaceAll('_', ' ')})`);
  if (!(summary.wall_seconds > 0)) return no('how long it ran is not known');
  const size = sizeOf(report, options.by);
  if ('why' in size) return no(size.why);
  const rate = options.figure === undefined ? undefined : lastFigure(report, options.figure);
  if (options.figure !== undefined && !(rate! > 0)) return no(`it has no figure of merit "${options.figure}" above 0`);
  const work = options.work === undefined ? undefined : workOf(report, options.work);
  if (options.work !== undefined && !(work! > 0))
    return no(`it has no tag or figure of merit "${options.work}" above 0`);
  const hours = summary.wall_seconds / 3600;
  const isCores = options.by === 'cores';
  return {
    ...about,
    name: job.name,
    program: options.program ?? job.name,
    size: size.size,
    size_source: size.source,
    wall_seconds: summary.wall_seconds,
    nodes: summary.nodes,
    ...stated({
      command: job.command && commandLine(job.command),
      cpu_seconds: summary.cpu_seconds,
      waited: weightedMean(report.nodes.map((n) => [waitedShare(n), n.cpu_seconds])),
      core_hours: isCores ? size.size * hours : summary.cpus_source === 'machine' ? undefined : summary.core_hours,
      gpu_hours: summary.gpu_hours,
      node_hours: Number.isFinite(summary.node_hours) ? summary.node_hours : undefined,
      energy_joules: summary.energy_joules,
      work,
      rate,
    }),
  };
}

type Size = { size: number; source: string } | { why: string };

const positive = (text: string | undefined): number | undefined => {
  const number = Number(text?.trim() || Number.NaN);
  return number > 0 && Number.isFinite(number) ? number : undefined;
};

export function sizeOf(report: Report, by: SizeBy): Size {
  const { job, summary } = report;
  if (by.startsWith('tag:')) {
    const tag = by.slice('tag:'.length);
    const size = positive(job.tags[tag]);
    return size === undefined ? { why: `it has no tag ${tag} with a number` } : { size, source: `tag ${tag}` };
  }
  if (by === 'nodes') return { size: summary.nodes, source: 'nodes of the job' };
  if (by === 'gpus')
    return summary.gpus === undefined ? { why: 'it had no GPUs' } : { size: summary.gpus, source: 'GPUs of the job' };
  return coresOf(report);
}

/** Cores that a run could use. A tag that says more than it was given is a contradiction. */
function coresOf({ job, summary, nodes }: Report): Size {
  const given = job.tags[CORES_TAG];
  const stated = positive(given);
  if (given !== undefined && stated === undefined) return { why: `its tag ${CORES_TAG} is no number: "${given}"` };
  const bound = boundCpus(nodes);
  const allocated = bound ?? summary.cpus;
  if (stated !== undefined) {
    if (allocated !== undefined && stated > allocated)
      return {
        why: `its tag ${CORES_TAG} says ${figure(stated)}, but it could run on ${figure(allocated)} ${allocated === 1 ? 'CPU' : 'CPUs'}`,
      };
    return { size: stated, source: `tag ${CORES_TAG}` };
  }
  if (bound !== undefined) return { size: bound, source: 'CPUs that its processes may run on' };
  if (summary.cpus !== undefined && summary.cpus_source !== 'machine')
    return { size: summary.cpus, source: summary.cpus_source === 'asked' ? 'CPUs asked for' : 'CPUs of its cgroup' };
  const threads = positive(job.environment.OMP_NUM_THREADS);
  if (threads !== undefined && summary.nodes === 1) return { size: threads, source: 'OMP_NUM_THREADS' };
  return { why: 'on how many cores it ran is not known' };
}

/** CPUs that its processes were bound to, where these are fewer than the job had; undefined: they were not. */
function boundCpus(nodes: readonly NodeReport[]): number | undefined {
  if (nodes.every((n) => n.allowed_cpus === undefined)) return undefined;
  const all = nodes.map((n) => n.allowed_cpus ?? n.cpus);
  return all.includes(undefined) ? undefined : all.reduce<number>((sum, cpus) => sum + cpus!, 0);
}

const lastFigure = ({ figures }: Report, name: string): number | undefined => {
  const last = figures.findLast((one) => one.name === name && typeof one.value === 'number');
  return last?.value as number | undefined;
};

const workOf = (report: Report, name: string): number | undefined =>
  positive(report.job.tags[name]) ?? lastFigure(report, name);
