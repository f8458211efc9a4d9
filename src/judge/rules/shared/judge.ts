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
    const found = verdict(rule);
    if (Array.isArray(found)) {
      append(findings, cap === undefined || isExact ? found : found.map((finding) => capped(finding, cap)));
      return { id, title, outcome: found.length > 0 ? 'found' : 'fine' };
    }
    if ('skipped' in found) return { id, title, outcome: 'skipped', why: found.skipped };
    const { unmeasurable: why, ...hint } = found;
    return { id, title, outcome: 'unmeasurable', why, ...hint };
  });
  findings.sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  return { findings, checks };
}
