import type { Report, Severity } from '../../src/judge/report-schema.ts';
import type { Cause } from './cause.ts';
import type { Meanwhile } from './meanwhile.ts';

/** What came of one case. */
export interface CaseResult {
  name: string;
  what: string;
  healthy: boolean;
  must: string[];
  may: string[];
  /** Every rule that found something, with its gravest severity and what it said. */
  findings: { id: string; severity: Severity; text: string }[];
  missed: string[];
  false: string[];
  /** Rules that had what they need to judge the job. */
  judged: string[];
  /** Rules that said that they cannot tell, as they must. */
  cannot?: string[];
  /** Of a rule that was missed: why it could not speak. */
  silent?: Record<string, string>;
  /** Where it is STOLEN_SHARE or more: what the hypervisor of this machine took of the time in which its CPUs had work. */
  stolen?: number;
  /** Where it is OTHERS_SHARE or more: what programs that are not of this run used of all CPUs, and which did most. */
  others?: number;
  by?: string[];
  /** Why it could not be recorded: then all that must be found is missed. */
  broken?: string;
  /** How often it was recorded, where a run before the last did not count because of that. */
  tries?: number;
}

/** From this share of the busy time on that a hypervisor took, cpu-steal is true of any job that runs meanwhile. */
export const STOLEN_SHARE = 0.03;

/** From this share of all CPUs on that other programs used, cpu-starved may be true of any job that runs meanwhile. */
export const OTHERS_SHARE = 0.1;

/**
 * cpu-steal of a job while the hypervisor did take CPUs, and cpu-starved while others did use them: published, and neither
 * false nor a warning about a healthy job.
 */
export const isExcused = (id: string, { stolen = 0, others = 0 }: Meanwhile): boolean =>
  (id === 'cpu-steal' && stolen >= STOLEN_SHARE) || (id === 'cpu-starved' && others >= OTHERS_SHARE);

export interface RuleRow {
  rule: string;
  causes: number;
  found: number;
  missed: number;
  false: number;
  judged: number;
}

export interface Totals {
  cases: number;
  healthy: number;
  causes: number;
  found: number;
  false: number;
  judged: number;
  /** Healthy jobs that got a warning or worse. */
  warned: string[];
  /** Jobs with a finding that is excused by what the machine did besides. */
  excused: string[];
  /** Jobs that could not be recorded. */
  broken: string[];
  isGood: boolean;
}

/** At least this share of the causes is found, and at most that share of what was judged is false. */
export const BAR = { found: 0.95, false: 0.01 };

const GRAVEST: readonly Severity[] = ['critical', 'warning', 'advice', 'info'];

export function resultOf(
  { name, what, healthy, must, may = [], cannot = [] }: Cause,
  { findings, checks }: Pick<Report, 'findings' | 'checks'>,
  meanwhile: Meanwhile = {},
): CaseResult {
  const gravest = findings.toSorted((a, b) => GRAVEST.indexOf(a.severity) - GRAVEST.indexOf(b.severity));
  const ids = [...new Set(gravest.map(({ id }) => id))];
  const isSaid = (id: string): boolean => checks.some((check) => check.id === id && check.outcome === 'unmeasurable');
  const missed = [...must.filter((id) => !ids.includes(id)), ...cannot.filter((id) => !isSaid(id))];
  const why = missed.flatMap((id) => checks.filter((check) => check.id === id && check.why !== undefined));
  return {
    name,
    what,
    healthy: healthy === true,
    must: [...must, ...cannot],
    may: [...may],
    findings: ids.map((id) => {
      const { severity, text } = gravest.find((finding) => finding.id === id)!;
      return { id, severity, text };
    }),
    ...(cannot.length === 0 ? {} : { cannot: cannot.filter(isSaid) }),
    missed,
    false: ids.filter((id) => !must.includes(id) && !may.includes(id) && !isExcused(id, meanwhile)),
    judged: checks.filter(({ outcome }) => outcome === 'found' || outcome === 'fine').map(({ id }) => id),
    ...notable(meanwhile),
    ...(why.length === 0 ? {} : { silent: Object.fromEntries(why.map((check) => [check.id, check.why!])) }),
  };
}

/** What of it may explain a finding. */
function notable({ stolen = 0, others = 0, by = [] }: Meanwhile): Meanwhile {
  const rounded = (share: number): number => Math.round(1000 * share) / 1000;
  return {
    ...(stolen >= STOLEN_SHARE ? { stolen: rounded(stolen) } : {}),
    ...(others >= OTHERS_SHARE ? { others: rounded(others), by } : {}),
  };
}

/** A case that could not be recorded. */
export function brokenResult({ name, what, healthy, must, may = [], cannot = [] }: Cause, why: string): CaseResult {
  const all = [...must, ...cannot];
  return {
    name,
    what,
    healthy: healthy === true,
    must: all,
    may: [...may],
    findings: [],
    missed: all,
    false: [],
    judged: [],
    broken: why,
  };
}

/** The confusion matrix: one row for each rule. */
export function matrixOf(rules: readonly string[], results: readonly CaseResult[]): RuleRow[] {
  return rules.map((rule) => {
    const times = (of: (result: CaseResult) => readonly string[]): number =>
      results.filter((result) => of(result).includes(rule)).length;
    const [causes, missed] = [times(({ must }) => must), times((result) => result.missed)];
    const [wrong, judged] = [times((result) => result.false), times((result) => result.judged)];
    return { rule, causes, found: causes - missed, missed, false: wrong, judged };
  });
}

export function totalsOf(results: readonly CaseResult[]): Totals {
  const sum = (of: (result: CaseResult) => number): number => results.reduce((all, result) => all + of(result), 0);
  const causes = sum(({ must }) => must.length);
  const found = causes - sum(({ missed }) => missed.length);
  const wrong = sum((result) => result.false.length);
  const judged = sum((result) => result.judged.length);
  const warned = results.filter(isWarned).map(({ name }) => name);
  const broken = results.filter((result) => result.broken !== undefined).map(({ name }) => name);
  const isGood =
    found >= BAR.found * causes && wrong <= BAR.false * judged && warned.length === 0 && broken.length === 0;
  return {
    cases: results.length,
    healthy: results.filter(({ healthy }) => healthy).length,
    causes,
    found,
    false: wrong,
    judged,
    warned,
    excused: results
      .filter((result) => result.findings.some(({ id }) => !result.must.includes(id) && isExcused(id, result)))
      .map(({ name }) => name),
    broken,
    isGood,
  };
}

export const isWarned = (result: CaseResult): boolean =>
  result.healthy &&
  result.findings.some(
    ({ id, severity }) => (severity === 'critical' || severity === 'warning') && !isExcused(id, result),
  );

/** It was recorded, nothing is missed, nothing is false, and no healthy job is warned. */
export const isRight = (result: CaseResult): boolean =>
  result.broken === undefined && result.missed.length === 0 && result.false.length === 0 && !isWarned(result);
