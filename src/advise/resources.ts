import { formatDuration } from '../base/duration.ts';
import { count, figure, listed, percent } from '../base/readable.ts';
import { formatBytes } from '../base/size.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import { MARGIN } from '../judge/rules/shared/job-memory.ts';
import { roundedSeconds, roundedUp } from '../judge/rules/shared/request.ts';
import { type Evidence, evidenceOf, isCompleted, mostUsed, type RunUse } from './evidence.ts';
import type { JobGroup } from './group.ts';

export type ResourceName = 'time' | 'memory' | 'CPUs' | 'GPUs' | 'nodes';

export interface ResourceAdvice {
  resource: ResourceName;
  /** What the newest job asked for: seconds, bytes on each node, CPUs, GPUs and nodes of the whole job. */
  asked?: number;
  /** What to ask for; not there: nothing can be said, leave it. */
  advised?: number;
  verdict: 'less' | 'more' | 'keep' | 'unknown';
  why: string;
  evidence: Evidence;
  /** Runs that need so much more than most that they alone decide: without them `usual` would do. */
  tail: RunUse[];
  usual?: number;
  uncertain: string[];
}

/** Added to the time that was used. */
const TIME_MARGIN = 1.25;
/** A request that is larger by less than this is left as it is: nobody gains by the change. */
const WORTH = 0.15;
/** CPUs of which less than this was used are too many (as the rule cpu-underused has it). */
const LOW_CPU = 0.65;
/** Added to the CPUs that were busy. */
const CPU_MARGIN = 1.1;
/** One CPU busy, within this: a serial program. */
const SERIAL_BUSY = 1.05;

/** What is needed by most, and by all that is known. */
interface Need {
  usual: number;
  all: number;
}

interface Margin {
  margin: number;
  /** Up to what people write. */
  round: (value: number) => number;
  asked: number | undefined;
}

/** The 95th percentile and the margin; never below what any run used, completed or not. */
function needOf(evidence: Evidence, { margin, round, asked }: Margin): Need | undefined {
  const most = mostUsed(evidence);
  if (most === undefined) return undefined;
  // what fits into the request is no reason to ask for more, however coarse the steps are
  const rounded = (value: number): number =>
    asked !== undefined && value <= asked ? Math.min(round(value), asked) : round(value);
  const beyond = evidence.at_least.map(({ value }) => rounded(value * margin));
  const usual = evidence.p95 === undefined ? rounded(most * margin) : rounded(evidence.p95 * margin);
  return { usual, all: Math.max(usual, rounded(most), ...beyond.filter((value) => value > (evidence.max ?? 0))) };
}

interface Judged {
  resource: ResourceName;
  asked: number | undefined;
  evidence: Evidence;
  need: Need | undefined;
  format: (value: number) => string;
  /** How the need was found. */
  how: string;
  uncertain?: string[];
}

function judged(
  { resource, asked, evidence, need, format, how, uncertain = [] }: Judged,
  jobs: readonly JobSummary[],
): ResourceAdvice {
  const base = { resource, ...(asked === undefined ? {} : { asked }), evidence, uncertain };
  if (need === undefined) {
    const why = jobs.length === evidence.unmeasured || evidence.unmeasured > 0 ? 'it was not measured' : 'no run tells';
    return { ...base, verdict: 'unknown', why: `${why}: leave it as it is`, tail: [] };
  }
  const tail = tailOf(evidence, need, jobs, resource);
  const isTail = need.all > need.usual && tail.length > 0 && tail.length < evidence.runs;
  const extra = isTail ? { tail, usual: need.usual } : { tail: [] };
  const used = evidence.runs === 0 ? '' : usedWords(evidence, format);
  if (evidence.runs === 0) {
    const least = format(mostUsed(evidence)!);
    const why = `no run completed: at least ${least} is needed, how much more is not known`;
    const isMore = asked !== undefined && need.all > asked;
    return { ...base, ...extra, ...(isMore ? { advised: need.all } : {}), verdict: isMore ? 'more' : 'unknown', why };
  }
  if (asked === undefined) return { ...base, ...extra, advised: need.all, verdict: 'keep', why: `${used}, ${how}` };
  const bound = boundWords(evidence, need, format);
  if (need.all > asked) {
    const near = bound === undefined ? `: too near to ${format(asked)}` : bound;
    return { ...base, ...extra, advised: need.all, verdict: 'more', why: used + near };
  }
  if (need.all >= asked * (1 - WORTH))
    return { ...base, ...extra, advised: asked, verdict: 'keep', why: `${used}, ${how}` };
  return { ...base, ...extra, advised: need.all, verdict: 'less', why: `${used}, ${how}${bound ?? ''}` };
}

/** Where runs that did not complete decide: they show the least that is needed, not how much. */
function boundWords({ at_least, max }: Evidence, { all }: Need, format: (value: number) => string): string | undefined {
  const beyond = at_least.filter(({ value }) => value > (max ?? 0) && value <= all);
  if (beyond.length === 0) return undefined;
  const { job, value, why } = beyond.reduce((a, b) => (b.value > a.value ? b : a));
  return `; job ${job} was ${why} at ${format(value)}: it needed at least that, how much more is not known`;
}

const marginWords = (margin: number): string => `with a margin of ${percent(margin - 1)}`;

const usedWords = ({ runs, p95, max, max_job: job }: Evidence, format: (value: number) => string): string =>
  runs === 1
    ? `one run used ${format(max!)}`
    : `95 % of ${figure(runs)} runs used at most ${format(p95!)}, the most was ${format(max!)} (job ${job})`;

/** The runs beyond what is enough for most. */
function tailOf(evidence: Evidence, { usual }: Need, jobs: readonly JobSummary[], resource: ResourceName): RunUse[] {
  return jobs.filter(isCompleted).flatMap((job) => {
    const value = USED[resource](job);
    return value === undefined || value <= usual || evidence.max === undefined ? [] : [{ job: job.job, value }];
  });
}

/** CPUs that a job kept busy. */
const busyCpus = (job: JobSummary): number | undefined => job.cpus_busy;

/** GPUs that did something. */
function usedGpus({ gpus, gpus_unused: unused, gpu_use: use }: JobSummary): number | undefined {
  if (gpus === undefined) return undefined;
  if (unused !== undefined) return gpus - unused;
  return use === 0 ? 0 : undefined;
}

const USED: Readonly<Record<ResourceName, (job: JobSummary) => number | undefined>> = {
  time: (job) => job.wall_seconds,
  memory: (job) => job.memory_peak_bytes,
  CPUs: busyCpus,
  GPUs: usedGpus,
  nodes: (job) => job.nodes,
};

export function timeAdvice({ jobs, newest }: JobGroup): ResourceAdvice {
  // somebody stopped it, perhaps because it hung: its time shows no need
  const kept = jobs.filter(({ state }) => state !== 'cancelled');
  const evidence = evidenceOf(kept, USED.time, { state: 'timeout', limit: (job) => job.time_limit_seconds });
  const uncertain: string[] = [];
  const longer = jobs.filter(
    ({ state, wall_seconds: wall }) => state === 'cancelled' && wall! > (evidence.max ?? Number.POSITIVE_INFINITY),
  );
  if (longer.length > 0)
    uncertain.push(`${jobList(longer)} ran longer than any that completed, and was cancelled: that shows no need.`);
  const { p50, max } = evidence;
  if (p50 !== undefined && max! > 3 * p50)
    uncertain.push(`Times vary by a factor of ${figure(max! / p50)}: check whether these runs do the same work.`);
  return judged(
    {
      resource: 'time',
      asked: newest.time_limit_seconds,
      evidence,
      need: needOf(evidence, { margin: TIME_MARGIN, round: roundedSeconds, asked: newest.time_limit_seconds }),
      format: formatDuration,
      how: marginWords(TIME_MARGIN),
      uncertain,
    },
    kept,
  );
}

/** On each node, as schedulers count it. */
export function memoryAdvice({ jobs, newest }: JobGroup, nodes: number | undefined): ResourceAdvice {
  const before = newest.asked_nodes ?? newest.nodes ?? 1;
  const fewer = nodes !== undefined && nodes < before ? nodes : undefined;
  // on fewer nodes each of them has more
  const used =
    fewer === undefined
      ? USED.memory
      : (job: JobSummary) =>
          job.memory_peaks_bytes === undefined
            ? undefined
            : Math.max(job.memory_peak_bytes ?? 0, job.memory_peaks_bytes / fewer);
  const evidence = evidenceOf(jobs, used, {
    state: 'out_of_memory',
    limit: (job) => job.memory_limit_bytes ?? perNode(job),
  });
  const uncertain: string[] = [];
  const accounted = jobs.filter(
    (job) => isCompleted(job) && used(job) !== undefined && job.origin === 'accounting',
  ).length;
  if (accounted > 0)
    uncertain.push(
      `Of ${count(accounted, 'run')} the memory comes from accounting, which samples it: short peaks may be missed.`,
    );
  const advice = judged(
    {
      resource: 'memory',
      asked: perNode(newest),
      evidence,
      need: needOf(evidence, { margin: MARGIN, round: roundedUp, asked: perNode(newest) }),
      format: formatBytes,
      how: marginWords(MARGIN),
      uncertain,
    },
    jobs,
  );
  const isByUse = advice.verdict === 'more' && mostUsed(evidence) === evidence.max;
  if (!isByUse || evidence.max! > advice.asked!) return advice;
  // file cache fills any cgroup: whether the peak is a danger, the rules on memory have looked at
  const isDanger = jobs.some(({ origin, findings }) => origin !== 'recorded' || SHORT_OF_MEMORY.test(findings ?? ''));
  const cache = 'File cache may be part of the peak of memory: the report card says how much.';
  if (isDanger) return { ...advice, uncertain: [...advice.uncertain, cache] };
  const { asked } = advice;
  return {
    ...advice,
    advised: asked!,
    verdict: 'keep',
    why: `${advice.why}, but no run was short of memory`,
    uncertain: [cache],
  };
}

/** Findings that say that a job had too little memory, or nearly. */
const SHORT_OF_MEMORY = /(?:^|,)(?:memory-near-limit|memory-growing|out-of-memory|swap)(?:,|$)/;

const perNode = (job: JobSummary): number | undefined =>
  job.asked_memory_bytes === undefined ? undefined : job.asked_memory_bytes / (job.asked_nodes ?? job.nodes ?? 1);

/** Findings that say that a job wanted more CPUs than it got. */
const WANTED_MORE = /(?:^|,)(?:cpu-starved|cpu-oversubscribed|cpu-throttled|cpu-binding)(?:,|$)/;

export function cpuAdvice({ jobs, newest }: JobGroup): ResourceAdvice {
  const evidence = evidenceOf(jobs, busyCpus);
  const asked = newest.asked_cpus ?? newest.cpus;
  const base = { resource: 'CPUs' as const, evidence, tail: [], ...(asked === undefined ? {} : { asked }) };
  const need = needOf(evidence, { margin: CPU_MARGIN, round: Math.ceil, asked });
  if (evidence.runs === 0 || asked === undefined || need === undefined)
    return {
      ...base,
      verdict: 'unknown',
      why: 'the CPU time of no completed run is known: leave it as it is',
      uncertain: [],
    };
  const busy = mostUsed(evidence)!;
  const used = `${usedWords(evidence, (value) => count(Number(value < 0.1 ? value.toPrecision(1) : value.toFixed(1)), 'CPU'))} on average`;
  const why = `${used}, ${marginWords(CPU_MARGIN)}`;
  const keep = { ...base, advised: asked, verdict: 'keep' as const, why, uncertain: [] };
  const held = jobs.filter((job) => WANTED_MORE.test(job.findings ?? ''));
  if (held.length > 0)
    return {
      ...keep,
      why: `${used}; but threads waited for CPUs in ${count(held.length, 'run')}: see their findings first`,
    };
  if (busy >= LOW_CPU * asked) return { ...keep, why: `${why}: most of them were busy` };
  const isSerial = busy <= SERIAL_BUSY;
  const on = (cpus: number): number => Math.min(asked, evenly(cpus, jobs, newest.asked_nodes ?? newest.nodes ?? 1));
  const [advised, usual] = [on(isSerial ? 1 : need.all), on(need.usual)];
  if (advised >= asked) return keep;
  const tail = usual < advised ? tailOf(evidence, need, jobs, 'CPUs') : [];
  const gpu = (newest.asked_gpus ?? newest.gpus ?? 0) > 0;
  return {
    ...base,
    advised,
    ...(tail.length > 0 ? { tail, usual } : {}),
    verdict: 'less',
    why: isSerial ? `${used}: one CPU at a time is enough` : why,
    uncertain: [
      ...(isSerial
        ? []
        : ['CPUs busy are a mean: phases that use more CPUs at once get slower with fewer. Try one run.']),
      ...(gpu ? ['CPUs feed the GPUs: check that these stay as busy.'] : []),
    ],
  };
}

/** At least one CPU for each rank, and the same number for all of them; without ranks the same on every node. */
function evenly(cpus: number, jobs: readonly JobSummary[], nodes: number): number {
  const ranks = jobs.reduce((most, job) => Math.max(most, job.ranks ?? 1), 1);
  const among = ranks > 1 ? ranks : nodes;
  return Math.max(1, Math.ceil(cpus / among)) * among;
}

export function gpuAdvice({ jobs, newest }: JobGroup): ResourceAdvice | undefined {
  const asked = newest.asked_gpus ?? newest.gpus;
  if (asked === undefined || asked === 0) return undefined;
  const evidence = evidenceOf(jobs, usedGpus);
  const base = { resource: 'GPUs' as const, asked, evidence, tail: [], uncertain: [] as string[] };
  const most = mostUsed(evidence);
  if (most === undefined || evidence.runs === 0)
    return { ...base, verdict: 'unknown', why: 'whether they were used is not known: leave it as it is' };
  const busy = jobs.flatMap((job) => (isCompleted(job) ? (job.gpu_use ?? []) : []));
  const mean = busy.length === 0 ? undefined : busy.reduce((sum, use) => sum + use, 0) / busy.length;
  const usageText = mean === undefined ? '' : `, ${percent(mean)} busy on average`;
  if (most === 0)
    return {
      ...base,
      advised: 0,
      verdict: 'less',
      why: `no run used a GPU: ask for none, and for a partition without them`,
    };
  // the same number on each node, as schedulers give them
  const nodes = newest.asked_nodes ?? newest.nodes ?? 1;
  const even = Math.min(asked, Math.ceil(most / nodes) * nodes);
  if (most < asked && even === asked)
    return {
      ...base,
      advised: asked,
      verdict: 'keep',
      why: `${figure(asked - most)} of ${figure(asked)} did nothing${usageText}; each node has to have the same number`,
      uncertain: ['Find out why some GPUs did nothing: the report card names them.'],
    };
  if (most < asked)
    return {
      ...base,
      advised: even,
      verdict: 'less',
      why: `no run used more than ${figure(most)} of ${figure(asked)}${usageText}`,
    };
  const uncertain =
    mean !== undefined && mean < 0.15
      ? ['The GPUs were used very little: a smaller card, or a part of one (MIG), may do.']
      : [];
  return {
    ...base,
    advised: asked,
    verdict: 'keep',
    why: `${asked === 1 ? 'it was' : `all ${figure(asked)} were`} used${usageText}`,
    uncertain,
  };
}

/** Fewer nodes, where the CPUs and the memory that were used fit on fewer. */
export function nodeAdvice(
  { jobs, newest }: JobGroup,
  cpus: ResourceAdvice,
  gpus: ResourceAdvice | undefined,
): ResourceAdvice {
  const asked = newest.asked_nodes ?? newest.nodes;
  const evidence = evidenceOf(jobs, USED.nodes);
  const base = {
    resource: 'nodes' as const,
    evidence,
    tail: [],
    uncertain: [],
    ...(asked === undefined ? {} : { asked }),
  };
  if (asked === undefined) return { ...base, verdict: 'unknown', why: 'how many there were is not known' };
  if (asked <= 1) return { ...base, advised: asked, verdict: 'keep', why: 'one node' };
  const [cpuNeed, cpuAsked] = [cpus.advised ?? cpus.asked, cpus.asked];
  const memory = mostUsed(evidenceOf(jobs, (job) => job.memory_peaks_bytes));
  const limit = jobs.reduce(
    (least, job) => Math.min(least, job.memory_limit_bytes ?? Number.POSITIVE_INFINITY),
    Number.POSITIVE_INFINITY,
  );
  if (cpuNeed === undefined || cpuAsked === undefined || memory === undefined || !Number.isFinite(limit))
    return { ...base, verdict: 'unknown', why: 'what the nodes used is not known: leave it as it is' };
  const byGpu = gpus?.asked === undefined || gpus.asked === 0 ? 0 : ((gpus.advised ?? gpus.asked) / gpus.asked) * asked;
  const advised = Math.max(
    1,
    Math.ceil(cpuNeed / (cpuAsked / asked)),
    Math.ceil((memory * MARGIN) / limit),
    Math.ceil(byGpu),
  );
  if (advised >= asked) return { ...base, advised: asked, verdict: 'keep', why: 'what was used needs them' };
  return {
    ...base,
    advised,
    verdict: 'less',
    why: `${count(cpuNeed, 'CPU')} and ${formatBytes(memory)} of memory in total fit on ${count(advised, 'node')} of the same kind`,
    uncertain: ['Fewer nodes have less memory bandwidth and network: try one run.'],
  };
}

/** Ids of jobs for people. */
const jobList = (jobs: readonly { job: string }[]): string =>
  listed(
    jobs.map(({ job }) => job),
    4,
  );
