import { formatDuration } from '../../base/duration.ts';
import { formatMoment } from '../../base/moment.ts';
import { count, cpusFigure, figure, percent } from '../../base/readable.ts';
import { markerTable } from '../../sources/tables.ts';
import type { FigureReport } from '../report-schema.ts';
import { medium } from './shared/confidence.ts';
import { type FindingText, hit, named, type RuleContext, ruleOfCases } from './shared/rule.ts';
import { middle } from './shared/similar-processes.ts';

const thresholds = {
  /** Different values that the figure had before it stopped changing. */
  times: 5,
  /** Share of the job’s duration in which it did not change or was missing. */
  duration: 0.3,
  /** Seconds in which it did not change or was missing. */
  seconds: 10,
  /** The same time, as a multiple of the usual time between two reports. */
  intervals: 5,
  /** CPUs or GPUs used in that time, as a share of those used before. */
  busy: 0.5,
  /** CPUs or GPUs used in that time. */
  works: 0.1,
};

interface Stuck {
  name: string;
  /** The last value that was new. */
  value: number | string;
  /** When it was reported, and until when nothing changed. */
  since: number;
  until: number;
  seconds: number;
  /** CPUs and GPUs used before and since. */
  before: number;
  now: number;
  resource: 'CPU' | 'GPU';
  /** Reports since then: none, or the same value again. */
  reports: number;
}

export default ruleOfCases({
  id: 'no-progress',
  title: 'work without progress',
  help: 'A figure of merit (`tacho fom`) had changed from report to report. Then it stayed the same, or was no longer reported, for 30 % of the job’s duration or more, while CPUs or GPUs worked as before.',
  kind: 'trouble',
  order: 335,
  needs: [
    {
      what: 'a figure of merit that was reported several times',
      columns: [markerTable.col.value],
      has: ({ figures }, { times }) => figures.length >= times!,
      otherwise: { skipped: 'the job reported no figure of merit, or too seldom' },
    },
  ],
  thresholds,
  when(facts, limits) {
    const stuck = [...Map.groupBy(facts.figures, ({ name }) => name).values()].flatMap((reports) =>
      stuckIn(facts, reports, limits),
    );
    return stuck.map((one) => hit(one.reports === 0 ? silent : flat, one));
  },
});

/** What was used in a second, of the resource that the job is about. */
function usedIn(facts: RuleContext, from: number, to: number): { resource: 'CPU' | 'GPU'; rate: number } | undefined {
  for (const resource of facts.summary.gpus === undefined ? (['CPU'] as const) : (['GPU', 'CPU'] as const)) {
    const used = facts.use(resource, from, to);
    if (used !== undefined && used.seconds > 0) return { resource, rate: used.amount / used.seconds };
  }
  return undefined;
}

function stuckIn(facts: RuleContext, reports: readonly FigureReport[], limits: typeof thresholds): Stuck[] {
  const { wall_seconds: wall } = facts.summary;
  const { start, end } = facts.job;
  const until = end ?? start + wall * 1e6;
  const last = reports.at(-1)!.value;
  let at = reports.length - 1;
  while (at > 0 && reports[at - 1]!.value === last) at--;
  const before = reports.slice(0, at + 1);
  // one that never moved is a constant; one that moves to and fro returns to its value by chance
  if (new Set(before.map(({ value }) => value)).size < limits.times) return [];
  const since = reports[at]!.time;
  const gaps = before.slice(1).map(({ time }, i) => (time - before[i]!.time) / 1e6);
  const [repeated, usual] = [reports.length - 1 - at, middle(gaps)];
  const seconds = (until - since) / 1e6;
  if (seconds < limits.seconds || seconds < limits.duration * wall || seconds < limits.intervals * usual) return [];
  // the same value a few times, and then no more: whoever reported may have ended
  if (repeated > 0 && repeated < limits.intervals) return [];
  const [was, now] = [usedIn(facts, before[0]!.time, since), usedIn(facts, since + usual * 1e6, until)];
  if (was === undefined || now === undefined || now.rate < limits.busy * was.rate || now.rate < limits.works) return [];
  const { resource, rate } = now;
  const { name } = reports[0]!;
  return [{ name, value: last, since, until, seconds, before: was.rate, now: rate, resource, reports: repeated }];
}

const evidence: FindingText<Stuck, typeof thresholds>['evidence'] = (
  { name, value, since, seconds, before, now, resource, reports },
  { summary },
  limits,
) => [
  {
    text: `${name} was ${typeof value === 'number' ? figure(value) : value} at ${formatMoment(since)}; ${reports === 0 ? 'nothing was reported' : `${count(reports, 'report')} of the same value`} in the ${formatDuration(seconds)} after that (${percent(seconds / summary.wall_seconds)} of the job)`,
    from: named(markerTable.col.value),
    value: seconds / summary.wall_seconds,
    threshold: limits.duration,
  },
  {
    text: `${cpusFigure(now)} ${resource}s were busy meanwhile, ${cpusFigure(before)} before`,
    from: resource,
    value: before === 0 ? 1 : now / before,
    threshold: limits.busy,
  },
];

const flat: FindingText<Stuck, typeof thresholds> = {
  severity: 'advice',
  say: ({ name, seconds, now, resource }) =>
    `The figure ${name} did not change in the last ${formatDuration(seconds)}, while ${cpusFigure(now)} ${resource}s worked`,
  evidence,
  advise:
    'See whether the program still comes nearer to its end: a loop that waits for a condition, a solver that does not converge, or a figure that has reached its goal. Then end it there.',
  confidence: medium('a figure that has reached its goal stays the same, too'),
};

const silent: FindingText<Stuck, typeof thresholds> = {
  severity: 'advice',
  say: ({ name, seconds, now, resource }) =>
    `The figure ${name} was not reported in the last ${formatDuration(seconds)}, while ${cpusFigure(now)} ${resource}s worked`,
  evidence,
  advise:
    'See what the program did after its last report: threads or processes that spin while they wait for one that has ended, or a last part without reports.',
  confidence: medium('the last part of the work may have nothing to report'),
};
