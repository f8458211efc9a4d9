import { append } from '../../../base/extremes.ts';
import type { CheckResult, Finding, Severity } from '../../report-schema.ts';
import { capped, surenessCap } from './confidence.ts';
import type { Rule, RuleContext } from './rule.ts';
import type { RuleSettings } from './settings.ts';

const ORDER: readonly Severity[] = ['critical', 'warning', 'advice', 'info'];

/** Applies every rule; the gravest findings come first. A poor recording makes all of them less sure. */
export function findingsOf(
  rules: readonly Rule[],
  facts: RuleContext,
  settings?: RuleSettings,
): { findings: Finding[]; checks: CheckResult[] } {
  const findings: Finding[] = [];
  const cap = surenessCap(facts);
  const checks = rules.map(({ id, title, judge, isExact }): CheckResult => {
    const off = settings?.off.get(id);
    if (off !== undefined) return { id, title, outcome: 'skipped', why: `switched off by ${off}` };
    const found = judge(facts, settings?.thresholds.get(id), settings?.shortest_seconds);
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
