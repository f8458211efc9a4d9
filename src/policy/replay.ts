import { usage } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import type { History } from '../history/ask/history.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import { type Case, judge } from './evaluate.ts';
import type { Policy } from './policy.ts';
import { aroundAll } from './select.ts';

export interface ReplayedMessage extends Case {
  /** When it would have been sent, epoch microseconds. */
  time: number;
}

export interface ReplayedPeriod {
  from: number;
  to: number;
  messages: ReplayedMessage[];
}

/** What a policy would have said in the past. */
export interface Replay {
  policy: string;
  from: number;
  to: number;
  /** Period after period, those without messages too. */
  periods: ReplayedPeriod[];
  messages: number;
  users: number;
  /** Jobs that would have been named, each once. */
  jobs: number;
  /** Of these jobs; missing: measured of none. */
  core_hours?: number;
  core_hours_wasted?: number;
  gpu_hours?: number;
  gpu_hours_wasted?: number;
  looked_at: number;
  exempt: number;
  unmeasured: number;
  /** What of the past cannot be told. */
  notes: string[];
}

const DAY = 86_400;
const MOST_STEPS = 20_000;

/** Applies a policy as if it had run at the end of every step of the period (a day, or the period if that is shorter). */
export async function replay(history: History, policy: Policy, from: number, to: number): Promise<Replay> {
  if (!(from < to)) throw usage('the period ends before it begins', '--from is earlier than --to');
  const step = Math.min(policy.period_seconds, DAY) * 1e6;
  const period = policy.period_seconds * 1e6;
  if ((to - from) / step > MOST_STEPS)
    throw usage(
      `that is ${Math.ceil((to - from) / step).toLocaleString('en-US')} steps of ${step / 1e6} s`,
      'choose a shorter time, or a longer period',
    );
  const window = policy.window_seconds * 1e6;
  // of jobs that have ended it is known how they ended, not how they looked while they ran
  const asEnded: Policy = { ...policy, jobs: 'ended' };
  const { states, ...scope } = policy.scope;
  const all = await history.selectJobs({
    ...scope,
    ...(states === undefined || policy.jobs === 'running' ? {} : { states }),
    from: from - window,
    to,
  });
  const ended = all.filter(({ end_time }) => end_time !== undefined).sort((a, b) => a.end_time! - b.end_time!);
  const around = await aroundAll(history, [{ policy, jobs: ended }], to);
  const lastTold = new Map<string, number>();
  const reported = new Set<string>();
  const [exempt, unmeasured] = [new Set<string>(), new Set<string>()];
  const messages: ReplayedMessage[] = [];
  let [low, high] = [0, 0];
  for (let now = Math.min(from + step, to); ; now = Math.min(now + step, to)) {
    while (high < ended.length && ended[high]!.end_time! < now) high++;
    while (low < high && ended[low]!.end_time! < now - window) low++;
    const judged = judge(asEnded, ended.slice(low, high), around);
    for (const one of judged.exempt) exempt.add(one.job);
    for (const one of judged.unmeasured) unmeasured.add(one.job);
    for (const policyCase of judged.cases) {
      if (now - (lastTold.get(policyCase.user) ?? Number.NEGATIVE_INFINITY) < period) continue;
      const fresh = newsOf(policy, policyCase, (job) => reported.has(keyOf(job)));
      if (fresh === undefined) continue;
      for (const { summary } of fresh.jobs) reported.add(keyOf(summary));
      lastTold.set(policyCase.user, now);
      messages.push({ ...fresh, time: now });
    }
    if (now >= to) break;
  }
  return summed(policy, { from, to, period }, messages, {
    looked_at: ended.filter(({ end_time }) => end_time! >= from - window).length,
    exempt: exempt.size,
    unmeasured: unmeasured.size,
  });
}

export const keyOf = ({ cluster, job, time }: JobSummary): string => `${cluster}/${job}@${time}`;

/**
 * What is new in a case: of jobs each is told of once; of all jobs of a user together as long as one of them is new.
 * Undefined: nothing is.
 */
export function newsOf(policy: Policy, policyCase: Case, isTold: (job: JobSummary) => boolean): Case | undefined {
  const fresh = policyCase.jobs.filter(({ summary }) => !isTold(summary));
  if (fresh.length === 0) return undefined;
  if (policy.per === 'user' || fresh.length === policyCase.jobs.length) return policyCase;
  return withJobs(policy, policyCase, fresh);
}

/** The case with some of its jobs left out; totals are of those that stay. */
export function withJobs(policy: Policy, policyCase: Case, jobs: Case['jobs']): Case {
  const { cases } = judge(
    { ...policy, when: [], unless: [], total: [] },
    jobs.map(({ summary }) => summary),
  );
  return { user: policyCase.user, jobs, totals: cases[0]?.totals ?? {} };
}

function summed(
  policy: Policy,
  { from, to, period }: { from: number; to: number; period: number },
  messages: readonly ReplayedMessage[],
  counts: Pick<Replay, 'looked_at' | 'exempt' | 'unmeasured'>,
): Replay {
  const periods: ReplayedPeriod[] = [];
  for (let begin = from; begin < to; begin += period) {
    const end = Math.min(begin + period, to);
    periods.push({ from: begin, to: end, messages: messages.filter(({ time }) => time > begin && time <= end) });
  }
  const named = new Map(messages.flatMap(({ jobs }) => jobs.map(({ summary }) => [keyOf(summary), summary] as const)));
  const sum = (column: 'core_hours' | 'core_hours_wasted' | 'gpu_hours' | 'gpu_hours_wasted'): number | undefined => {
    const hoursOfJobs = [...named.values()].flatMap((job) => job[column] ?? []);
    return hoursOfJobs.length === 0 ? undefined : hoursOfJobs.reduce((all, hours) => all + hours, 0);
  };
  return {
    policy: policy.name,
    from,
    to,
    periods,
    messages: messages.length,
    users: new Set(messages.map(({ user }) => user)).size,
    jobs: named.size,
    ...stated({
      core_hours: sum('core_hours'),
      core_hours_wasted: sum('core_hours_wasted'),
      gpu_hours: sum('gpu_hours'),
      gpu_hours_wasted: sum('gpu_hours_wasted'),
    }),
    ...counts,
    notes: notesOf(policy),
  };
}

const notesOf = ({ jobs, cancel }: Policy): string[] => [
  ...(jobs === 'ended'
    ? []
    : ['Jobs are judged by their whole time: how they looked while they ran is not kept. Each counts when it ended.']),
  ...(cancel === undefined ? [] : ['What would have been cancelled is not replayed.']),
];
