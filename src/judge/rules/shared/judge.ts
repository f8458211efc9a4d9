import { append } from '../../../base/extremes.ts';
import type { CheckResult, Finding, Severity } from '../../report-schema.ts';
import type { Rule, RuleContext } from './rule.ts';

const ORDER: readonly Severity[] = ['critical', 'warning', 'advice', 'info'];

/** Applies every rule; the gravest findings come first. */
export function findingsOf(rules: readonly Rule[], facts: RuleContext): { findings: Finding[]; checks: CheckResult[] } {
  const findings: Finding[] = [];
  const checks = rules.map(({ id, title, judge }): CheckResult => {
    const found = judge(facts);
    if (Array.isArray(found)) {
      append(findings, found);
      return { id, title, outcome: found.length > 0 ? 'found' : 'fine' };
    }
    if ('skipped' in found) return { id, title, outcome: 'skipped', why: found.skipped };
    const { unmeasurable: why, ...hint } = found;
    return { id, title, outcome: 'unmeasurable', why, ...hint };
  });
  findings.sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  return { findings, checks };
}
