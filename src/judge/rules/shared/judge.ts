import { append } from '../../../base/extremes.ts';
import type { CheckResult, Facts, Finding, Severity } from '../../report-schema.ts';
import { capped, surenessCap } from './confidence.ts';
import type { Questions } from './questions.ts';
import type { NotJudged, Rule, RuleContext } from './rule.ts';
import type { RuleSettings } from './settings.ts';

const ORDER: readonly Severity[] = ['critical', 'warning', 'advice', 'info'];

/** Applies every rule; the gravest findings come first. A poor recording makes all of them less sure. */
export function findingsOf(
  rules: readonly Rule[],
  factsAndQuestions: Facts & Questions,
  settings?: RuleSettings,
): { findings: Finding[]; checks: CheckResult[] } {
  const verdict = ({ id, judge }: Rule): Finding[] | NotJudged => {
    const off = settings?.off.get(id);
    if (off !== undefined) return { skipped: `switched off by ${off}` };
    return judge(facts, settings?.thresholds.get(id), settings?.shortest_seconds);
  };
  const facts: RuleContext = { ...factsAndQuestions, judgedBy: verdict };
  const findings: Finding[] = [];
  const cap = surenessCap(facts);
  const checks = rules.map((rule): CheckResult => {
    const { id, title, isExact } = rule;
    const outcome = verdict(rule);
    if (Array.isArray(outcome)) {
      append(findings, cap === undefined || isExact ? outcome : outcome.map((finding) => capped(finding, cap)));
      return { id, title, outcome: outcome.length > 0 ? 'found' : 'fine' };
    }
    if ('skipped' in outcome) return { id, title, outcome: 'skipped', why: outcome.skipped };
    const { unmeasurable: why, ...hint } = outcome;
    return { id, title, outcome: 'unmeasurable', why, ...hint };
  });
  findings.sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  return { findings, checks };
}
