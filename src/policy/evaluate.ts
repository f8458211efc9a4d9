import type { JobSummary } from '../history/tables/summary.ts';
import { compares, holds } from './condition.ts';
import { type JobSurroundings, type MeasuredJob, type NumberFigure, numberFigure, totalFigure } from './figures.ts';
import type { Policy } from './policy.ts';

/** A job of a case, with the figures that the policy is about. */
export interface CaseJob {
  summary: JobSummary;
  figures: Readonly<Record<string, number | string>>;
  /** Whether it is exempt could not be said: what the exemption is about was not measured. */
  exemption_unknown?: boolean;
}

/** A user of whom a policy has something to say. */
export interface Case {
  user: string;
  jobs: CaseJob[];
  /** What these jobs cost, and what the policy is about, together. What was not measured is not there. */
  totals: Readonly<Record<string, number>>;
}

export interface Judged {
  /** Those who wasted most first. */
  cases: Case[];
  /** How many jobs were in scope. */
  jobs: number;
  exempt: { job: string; user: string; why: string }[];
  /** Jobs that could not be judged, and what was not measured of them. */
  unmeasured: { job: string; user: string; missing: string[] }[];
}

/** What every case says of its cost. */
const COST = ['core_hours', 'core_hours_wasted', 'gpu_hours', 'gpu_hours_wasted', 'memory_byte_hours_wasted'] as const;

const FIGURES_OF_COST: readonly NumberFigure[] = COST.map((name) => numberFigure(name)!);

/** Holds jobs against a policy. They are in its scope and window already. */
export function judge(
  policy: Policy,
  jobs: readonly JobSummary[],
  around: (job: JobSummary) => JobSurroundings = () => ({}),
): Judged {
  const judged: Judged = { cases: [], jobs: jobs.length, exempt: [], unmeasured: [] };
  const matching = jobs.flatMap((job): (MeasuredJob & { unsure: boolean })[] => {
    const measured = { job, around: around(job) };
    const results = policy.when.map((condition) => holds(condition, measured));
    if (results.includes(false)) return [];
    const missing = [
      ...policy.when.filter((_, i) => results[i] === undefined),
      ...policy.total.filter(
        (one) => one.kind === 'number' && !one.figure.onlyTotal && holds(one, measured) === undefined,
      ),
    ].map(({ figure }) => figure.name);
    if (missing.length > 0) {
      judged.unmeasured.push({ job: job.job, user: job.user, missing: [...new Set(missing)] });
      return [];
    }
    const exemptions = policy.unless.map((condition) => holds(condition, measured));
    const exemption = exemptions.indexOf(true);
    if (exemption >= 0) {
      judged.exempt.push({ job: job.job, user: job.user, why: policy.unless[exemption]!.text });
      return [];
    }
    return [{ ...measured, unsure: exemptions.includes(undefined) }];
  });
  const all = { core: sumOf(jobs, 'core_hours'), gpu: sumOf(jobs, 'gpu_hours') };
  for (const [user, own] of Map.groupBy(matching, ({ job }) => job.user)) {
    const totals = totalsOf(policy, own, all);
    const isCase = policy.total.every(
      (one) =>
        one.kind === 'number' && totals[one.figure.name] !== undefined && compares(totals[one.figure.name]!, one),
    );
    if (!isCase) continue;
    const caseJobs = own.map(({ unsure, ...measured }) => caseJob(policy, measured, unsure));
    judged.cases.push({ user, jobs: caseJobs.sort((a, b) => wasteOf(b.summary) - wasteOf(a.summary)), totals });
  }
  judged.cases.sort((a, b) => weight(b.totals) - weight(a.totals) || (a.user < b.user ? -1 : 1));
  if (policy.most !== undefined) judged.cases.splice(policy.most);
  return judged;
}

function caseJob(policy: Policy, { job, around }: MeasuredJob, unsure: boolean): CaseJob {
  const figures: Record<string, number | string> = {};
  for (const { kind, figure } of [...policy.when, ...policy.total]) {
    const value = kind === 'text' ? figure.of(job) : figure.of(job, around);
    if (value !== undefined) figures[figure.name] = value;
  }
  return { summary: job, figures, ...(unsure ? { exemption_unknown: true } : {}) };
}

function totalsOf(
  policy: Policy,
  own: readonly MeasuredJob[],
  all: { core: number; gpu: number },
): Record<string, number> {
  const totals: Record<string, number> = { jobs: own.length };
  const named = [...policy.when, ...policy.total].flatMap((one) => (one.kind === 'number' ? one.figure : []));
  for (const figure of [...FIGURES_OF_COST, ...named]) {
    const value = figure.onlyTotal ? undefined : totalFigure(figure, own);
    if (value !== undefined) totals[figure.name] = value;
  }
  if (all.core > 0) totals.core_hours_share = (totals.core_hours ?? 0) / all.core;
  if (all.gpu > 0) totals.gpu_hours_share = (totals.gpu_hours ?? 0) / all.gpu;
  return totals;
}

const sumOf = (jobs: readonly JobSummary[], column: 'core_hours' | 'gpu_hours'): number =>
  jobs.reduce((sum, job) => sum + (job[column] ?? 0), 0);

/** A GPU-hour weighs as much as so many core-hours, as in `tacho waste`. */
const GPU_WEIGHT = 16;

const weight = (totals: Readonly<Record<string, number>>): number =>
  (totals.core_hours_wasted ?? 0) + GPU_WEIGHT * (totals.gpu_hours_wasted ?? 0);

const wasteOf = ({ core_hours_wasted: core = 0, gpu_hours_wasted: gpu = 0 }: JobSummary): number =>
  core + GPU_WEIGHT * gpu;
