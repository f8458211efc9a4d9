import type { JobSummary } from '../history/tables/summary.ts';
import type { Case, CaseJob } from './evaluate.ts';
import type { Ledger } from './ledger.ts';
import type { Policy } from './policy.ts';
import { newsOf, withJobs } from './replay.ts';

/** What is to become of a case. */
export type Plan =
  /** The policy only lists. */
  | { kind: 'list' }
  /** There is something new to say. */
  | { kind: 'tell'; about: Case; warnings?: number }
  | { kind: 'cancel'; about: Case }
  /** The user heard of the policy in this period, and will again from then on. */
  | { kind: 'later'; from: number }
  /** A message that was not taken yet waits. */
  | { kind: 'waiting' }
  /** The user has heard of all of it. */
  | { kind: 'notified' };

export const sends = ({ actions }: Policy): boolean =>
  actions.some((action) => action === 'mail' || action === 'webhook');

export function planOf(policy: Policy, policyCase: Case, ledger: Ledger, now: number): Plan {
  if (!sends(policy)) return { kind: 'list' };
  if (ledger.hasWaiting(policy.name, policyCase.user)) return { kind: 'waiting' };
  const last = ledger.lastTold(policy.name, policyCase.user);
  const next = last === undefined ? now : last + policy.period_seconds * 1e6;
  const { cancel } = policy;
  if (cancel === undefined) {
    const about = newsOf(policy, policyCase, (job) => ledger.isTold(policy.name, job));
    if (about === undefined) return { kind: 'notified' };
    return next > now ? { kind: 'later', from: next } : { kind: 'tell', about };
  }
  if (next > now) return { kind: 'later', from: next };
  const warnings = (job: JobSummary): number => ledger.warnings(policy.name, job);
  const open = policyCase.jobs.filter(({ summary }) => !ledger.isCancelled(policy.name, summary));
  const isDue = ({ summary, exemption_unknown }: CaseJob): boolean =>
    warnings(summary) >= cancel.warnings && exemption_unknown !== true;
  const due = open.filter(isDue);
  if (due.length > 0) return { kind: 'cancel', about: withJobs(policy, policyCase, due) };
  const warned = open.filter(({ summary }) => warnings(summary) < cancel.warnings);
  if (warned.length === 0) return { kind: 'notified' };
  const least = warned.reduce((low, { summary }) => Math.min(low, warnings(summary)), cancel.warnings);
  return { kind: 'tell', about: withJobs(policy, policyCase, warned), warnings: least };
}
