import { formatDuration } from '../../../base/duration.ts';
import { figure } from '../../../base/readable.ts';
import type { TableColumn } from '../../../table/table.ts';
import type { Confidence, Evidence, Facts, Finding, Severity } from '../../report-schema.ts';
import type { Questions } from './questions.ts';

/** What a rule sees: the facts of the report, and whatever else it asks for. */
export type RuleContext = Facts & Questions & { judgedBy: JudgedBy };

/** What another rule says of the same job, with the thresholds that it has there. */
export type JudgedBy = (other: Rule) => Finding[] | NotJudged;

/** Why there can be no verdict: data are missing, or the rule does not apply to this job. */
export type NotJudged = { unmeasurable: string; hint?: string } | { skipped: string };

/** Something that must be known before a rule can speak. */
export interface Fact {
  /** For the reference. */
  what: string;
  /** Where it comes from; these are read. */
  columns?: readonly TableColumn[];
  /** Not there: every recording has it. */
  has?(facts: RuleContext, limits: Thresholds): boolean;
  /** What its absence means, when it is not just "was not recorded". */
  otherwise?: NotJudged | ((facts: RuleContext) => NotJudged);
}

/** A column that must have values on some node, or a fact. */
export type Need = Fact | TableColumn;

export type Thresholds = Readonly<Record<string, number>>;

export interface Sureness {
  confidence: Confidence;
  /** Why it is not higher, or what makes it high. */
  confidence_reason: string;
}

type Of<T, H, L> = T | ((hit: H, facts: RuleContext, limits: L) => T);

/** What is said of a hit: the figures that `when` found. */
export interface FindingText<H, L = Thresholds> {
  severity: Of<Severity, H, L>;
  /** One sentence: what is the matter. */
  say: Of<string, H, L>;
  /** What was measured, with its source. */
  evidence(hit: H, facts: RuleContext, limits: L): Evidence[];
  advise: Of<string, H, L>;
  confidence: Of<Sureness, H, L>;
}

interface About<L> {
  /** Also the name of its file. */
  id: string;
  /** What is looked for, in a few words. */
  title: string;
  /** For the reference: what it says, and when. */
  help: string;
  /** waste: something was asked for and not used; needs a job long enough to tell. trouble: something went wrong. */
  kind: 'waste' | 'trouble';
  /** Its place in the reference and among findings that are equally grave. */
  order: number;
  /** What is missing of these makes it "not measurable"; the tables of columns are read for it. */
  needs: readonly Need[];
  /** Columns whose samples it may look at, where their statistics leave something open. */
  overTime?: readonly TableColumn[];
  /** What it says is no matter of sampling (the scheduler says so, the kernel counted it, it is about the recording): gaps do not make it less sure. */
  isExact?: true;
  thresholds: L;
}

export interface Rule<L = Thresholds> extends About<L> {
  judge(facts: RuleContext, thresholds?: L, shortestSeconds?: number): Finding[] | NotJudged;
}

/** A hit that has words of its own, in a rule that may say several things. */
export interface Hit {
  finding(id: string, facts: RuleContext, limits: Thresholds): Finding;
}

/** One thing that the judge looks for, as data: what it needs, when it holds, and what is then said. */
export function rule<H, L extends Thresholds>(
  definition: About<L> & { when(facts: RuleContext, limits: L): H[] | NotJudged } & FindingText<H, L>,
): Rule<L> {
  const { when, severity, say, evidence, advise, confidence, ...about } = definition;
  const findingText = { severity, say, evidence, advise, confidence };
  return ruleOfCases({
    ...about,
    when(facts, limits) {
      const hits = when(facts, limits);
      return Array.isArray(hits) ? hits.map((figures) => hit(findingText as FindingText<H>, figures)) : hits;
    },
  });
}

/** The same of a rule that may say several things. */
export function ruleOfCases<L extends Thresholds>({
  when,
  ...about
}: About<L> & { when(facts: RuleContext, limits: L): Hit[] | NotJudged }): Rule<L> {
  return {
    ...about,
    judge(facts, thresholds = about.thresholds, shortest = SHORT_JOB_SECONDS) {
      const { wall_seconds: wall } = facts.summary;
      if (about.kind === 'waste' && wall < shortest)
        return { skipped: `${formatDuration(wall)} are ${TOO_SHORT} (from ${figure(shortest)} s)` };
      for (const need of about.needs) {
        const missing = missingOf(need, facts, thresholds);
        if (missing !== undefined) return missing;
      }
      const hits = when(facts, thresholds);
      return Array.isArray(hits) ? hits.map((one) => one.finding(about.id, facts, thresholds)) : hits;
    },
  };
}

/** One finding for all of them, if there are any. */
export const together = <T>(all: T[]): T[][] => (all.length === 0 ? [] : [all]);

/** Figures, and what is said of them. */
export const hit = <H, L = Thresholds>(findingText: FindingText<H, L>, figures: H): Hit => ({
  finding(id, facts, limits) {
    const of = <T>(each: Of<T, H, L>): T =>
      typeof each === 'function'
        ? (each as (hit: H, facts: RuleContext, limits: L) => T)(figures, facts, limits as L)
        : each;
    return {
      id,
      severity: of(findingText.severity),
      text: of(findingText.say),
      evidence: findingText.evidence(figures, facts, limits as L),
      advice: of(findingText.advise),
      ...of(findingText.confidence),
    };
  },
});

export const isColumn = (need: Need): need is TableColumn => 'table' in need;

/** "gpu.utilization_percent": how a column is named to people. */
export const named = (...columns: readonly TableColumn[]): string =>
  columns.map(({ table, name }) => `${table}.${name}`).join(', ');

function missingOf(need: Need, facts: RuleContext, limits: Thresholds): NotJudged | undefined {
  const isThere = isColumn(need)
    ? facts.statistics(need).length > 0
    : need.has === undefined || need.has(facts, limits);
  if (isThere) return undefined;
  const { otherwise = undefined } = isColumn(need) ? {} : need;
  if (otherwise === undefined) return { unmeasurable: `${isColumn(need) ? named(need) : need.what} was not recorded` };
  return typeof otherwise === 'function' ? otherwise(facts) : otherwise;
}

/** How it is said that a job is too short for that. */
export const TOO_SHORT = 'too short to judge waste';

/** Shorter jobs get no verdicts on waste, unless the configuration says otherwise (rules.shortest): starting up, loading and the first samples are most of what was seen. */
export const SHORT_JOB_SECONDS = 30;
