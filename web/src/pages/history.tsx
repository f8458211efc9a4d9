import { useEffect, useMemo } from 'preact/hooks';
import { chartFile } from '../../../src/charts/chart-file.ts';
import type { ListedJob } from '../../../src/serve/api.ts';
import { link } from '../address.ts';
import { type ChartData, type JobList, latest, useAnswer } from '../ask.ts';
import { HeatCard } from '../charts/heat-card.tsx';
import { rowHeat } from '../charts/row-heat.ts';
import { CopyLink } from '../parts/copy-link.tsx';
import { PeriodChoice } from '../parts/period-choice.tsx';
import { Choice } from '../parts/query-fields.tsx';
import { Reading } from '../parts/reading.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { ShareCell } from '../parts/share-cell.tsx';
import { periodOf, stepOf } from '../periods.ts';
import { count, moment, percent } from '../value-text.ts';

const AMOUNTS = [
  ['core_hours', 'core-hours', 'core-h'],
  ['gpu_hours', 'GPU-hours', 'GPU-h'],
  ['core_hours_wasted', 'core-hours wasted', 'core-h'],
  ['gpu_hours_wasted', 'GPU-hours wasted', 'GPU-h'],
  ['jobs', 'jobs', 'jobs'],
] as const;
type Amount = (typeof AMOUNTS)[number][0];

/** What jobs are grouped by, and the column of the table of jobs that shows one group. */
const GROUPS = [
  ['user', 'user', 'user'],
  ['account', 'account', 'account'],
  ['partition', 'partition', 'partition'],
  ['program', 'program', 'q'],
  ['state', 'how it ended', 'state'],
  ['finding', 'finding', 'q'],
] as const;
type Group = (typeof GROUPS)[number][0];

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const STEPS = 120;
const MOST_ROWS = 20;
const HOUR = 3600e6;

/** Who used how much, and when: heat maps and a ranking of the jobs that are open. */
export function HistoryPage({ query }: { query: URLSearchParams }) {
  useEffect(() => {
    document.title = 'History · Tacho';
  }, []);
  const asked = useAnswer<JobList>('/api/jobs');
  const list = latest(asked);
  // where only the page of each job has its figures, jobs are counted
  const amount: Amount =
    AMOUNTS.find(([id]) => id === query.get('amount'))?.[0] ?? (list?.lacks === undefined ? 'core_hours' : 'jobs');
  const group: Group = GROUPS.find(([id]) => id === query.get('by'))?.[0] ?? 'user';
  const now = useMemo(() => Date.now() * 1000, [list]);
  const period = useMemo(
    () =>
      periodOf(
        query.get('period'),
        (list?.jobs ?? []).flatMap(({ start, end, state }) =>
          start === undefined ? [] : [{ from: start, to: state === 'running' ? undefined : (end ?? start) }],
        ),
        now,
      ),
    [list, query.get('period')],
  );
  const jobSpans = useMemo(() => partsOf(list?.jobs ?? [], amount, period, now), [list, amount, period]);
  const ranking = useMemo(() => rankingOf(jobSpans, group), [jobSpans, group]);
  const data = useMemo(() => heatOf(ranking, amount, period), [ranking, amount, period]);
  const height = Math.max(150, data.count * 20 + 80);
  if (list === undefined) return <Reading asked={asked} />;
  if (list.jobs.length === 0)
    return (
      <div class="empty">
        <h1>No history here yet</h1>
        <p>It is computed from the jobs that this page shows.</p>
      </div>
    );
  const [, title, unit] = AMOUNTS.find(([id]) => id === amount)!;
  const all = ranking.reduce((sum, { used }) => sum + used, 0);
  return (
    <article class="history">
      <header class="page">
        <h1>
          History{' '}
          <small>
            {moment(period.from).slice(0, 16)} to {moment(period.to).slice(0, 16)}
          </small>
        </h1>
        <CopyLink />
      </header>
      {list.lacks !== undefined && <p class="faint">{list.lacks}</p>}
      {list.pending > 0 && <p role="status">{count(list.pending, 'recording')} are still being read.</p>}
      <p class="controls">
        <PeriodChoice period={period} />
        <Choice name="amount" label="Amount" value={amount} all={AMOUNTS} />
        <Choice name="by" label="By" value={group} all={GROUPS} />
      </p>
      {jobSpans.length === 0 ? (
        <p class="missing">No job that is open here used any in this time.</p>
      ) : (
        <>
          <HeatCard
            label="Over time"
            {...{ data, height }}
            start={period.from}
            file={(kind) => chartFile('history', `${amount}-by-${group}`, kind)}
          >
            {title} by {GROUPS.find(([id]) => id === group)![1]} over time <small>per {stepWords(data.step)}</small>
          </HeatCard>
          <Ranking {...{ ranking, group, title, all }} />
          <Week jobSpans={jobSpans} unit={unit} title={title} />
        </>
      )}
    </article>
  );
}

const stepWords = (step: number): string =>
  step >= 24 * HOUR ? count(step / HOUR / 24, 'day') : step >= HOUR ? count(step / HOUR, 'hour') : `${step / 60e6} min`;

/** The part of a job that lies in the period, and what it used in that. */
interface JobSpan {
  job: ListedJob;
  from: number;
  to: number;
  used: number;
}

function partsOf(
  jobs: readonly ListedJob[],
  amount: Amount,
  period: { from: number; to: number },
  now: number,
): JobSpan[] {
  return jobs.flatMap((job): JobSpan[] => {
    const { start } = job;
    const end = job.end ?? (job.state === 'running' ? now : start);
    if (start === undefined || end === undefined) return [];
    const [from, to] = [Math.max(period.from, start), Math.min(period.to, end)];
    if (to < from) return [];
    if (amount === 'jobs') return end <= period.to && start >= period.from ? [{ job, from, to, used: 1 }] : [];
    const whole = job[amount];
    if (whole === undefined || end <= start) return [];
    return [{ job, from, to, used: whole * ((to - from) / (end - start)) }];
  });
}

interface Ranked {
  name: string;
  used: number;
  jobSpans: JobSpan[];
}

function namesOf({ user, account, partition, program, state, findings }: ListedJob, group: Group): string[] {
  if (group === 'finding') return findings.length === 0 ? ['none'] : findings;
  return [{ user, account, partition, program, state }[group] || 'not known'];
}

function rankingOf(jobSpans: readonly JobSpan[], group: Group): Ranked[] {
  const groups = new Map<string, JobSpan[]>();
  for (const jobSpan of jobSpans)
    for (const name of namesOf(jobSpan.job, group)) {
      const own = groups.get(name);
      if (own === undefined) groups.set(name, [jobSpan]);
      else own.push(jobSpan);
    }
  return [...groups]
    .map(([name, own]) => ({ name, jobSpans: own, used: own.reduce((sum, { used }) => sum + used, 0) }))
    .sort((a, b) => b.used - a.used);
}

function heatOf(ranking: readonly Ranked[], amount: Amount, { from, to }: { from: number; to: number }): ChartData {
  const step = stepOf({ from, to }, STEPS);
  const steps = Math.max(1, Math.ceil((to - from) / step));
  const series = ranking.slice(0, MOST_ROWS).map(({ name, jobSpans }) => {
    const mean: (number | null)[] = Array.from({ length: steps }, () => null);
    for (const jobSpan of jobSpans) spread(jobSpan, from, step, (i, used) => (mean[i] = (mean[i] ?? 0) + used));
    return { node: name, mean };
  });
  const [, title, unit] = AMOUNTS.find(([id]) => id === amount)!;
  return rowHeat({ id: 'history', title, unit, scope: 'job', from, step }, series, steps);
}

/** What a part used, evenly over its time, in steps. */
function spread(
  { from, to, used }: JobSpan,
  begin: number,
  step: number,
  add: (i: number, used: number) => void,
): void {
  if (to <= from) {
    add(Math.floor((from - begin) / step), used);
    return;
  }
  for (let i = Math.floor((from - begin) / step); begin + i * step < to; i++) {
    const overlap = Math.min(to, begin + (i + 1) * step) - Math.max(from, begin + i * step);
    add(i, used * (overlap / (to - from)));
  }
}

/** The least that is shown: less is not nothing. */
const LEAST = 0.005;

const figure = (value: number): string =>
  value > 0 && value < LEAST
    ? '< 0.01'
    : value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });

interface RankingProps {
  ranking: readonly Ranked[];
  group: Group;
  title: string;
  all: number;
}

function Ranking({ ranking, group, title, all }: RankingProps) {
  const [, name, column] = GROUPS.find(([id]) => id === group)!;
  const most = Math.max(...ranking.map(({ used }) => used), Number.MIN_VALUE);
  return (
    <section class="card" aria-label="Ranking">
      <h2>Ranking</h2>
      <ScrollTable label="Table of the ranking" tall>
        <thead>
          <tr>
            <th scope="col">{name}</th>
            {title !== 'jobs' && (
              <th scope="col" class="number">
                Jobs
              </th>
            )}
            <th scope="col" class="number">
              {title}
            </th>
            <th scope="col" class="number">
              Share
            </th>
            <th scope="col">
              <span class="unseen">as a bar</span>
            </th>
            <th scope="col" class="number">
              CPU use
            </th>
            <th scope="col" class="number">
              GPU use
            </th>
            <th scope="col" class="number">
              Did not complete
            </th>
          </tr>
        </thead>
        <tbody>
          {ranking.map(({ name: each, used, jobSpans }) => (
            <tr key={each}>
              <th scope="row">
                {each === 'not known' || each === 'none' ? (
                  each
                ) : (
                  <a {...link(`/?${column}=${encodeURIComponent(each)}`)}>{each}</a>
                )}
              </th>
              {title !== 'jobs' && <td class="number">{jobSpans.length.toLocaleString('en-US')}</td>}
              <td class="number">{figure(used)}</td>
              <td class="number">{percent(all === 0 ? 0 : used / all)}</td>
              <td class="graph" aria-hidden="true">
                <span style={{ width: `${(used / most) * 100}%` }} />
              </td>
              <ShareCell value={weighed(jobSpans, 'cpu_use', 'core_hours')} />
              <ShareCell value={weighed(jobSpans, 'gpu_use', 'gpu_hours')} />
              <td class="number">{jobSpans.filter(({ job }) => FAILED.has(job.state)).length}</td>
            </tr>
          ))}
        </tbody>
      </ScrollTable>
    </section>
  );
}

const FAILED = new Set(['failed', 'timeout', 'out_of_memory', 'node_fail', 'cancelled', 'preempted']);

/** Mean use, weighed by what was reserved. */
function weighed(
  jobSpans: readonly JobSpan[],
  use: 'cpu_use' | 'gpu_use',
  by: 'core_hours' | 'gpu_hours',
): number | undefined {
  let [sum, weight] = [0, 0];
  for (const { job } of jobSpans) {
    const [value, hours] = [job[use], job[by]];
    if (value === undefined || hours === undefined) continue;
    sum += value * hours;
    weight += hours;
  }
  return weight === 0 ? undefined : sum / weight;
}

/** When in the week: a row for each day, a column for each hour, local time. */
function Week({ jobSpans, unit, title }: { jobSpans: readonly JobSpan[]; unit: string; title: string }) {
  const cells = useMemo(() => {
    const week = Array.from({ length: 7 }, () => new Float64Array(24));
    for (const jobSpan of jobSpans)
      spread(jobSpan, Math.floor(jobSpan.from / HOUR) * HOUR, HOUR, (i, used) => {
        const at = new Date((Math.floor(jobSpan.from / HOUR) + i) * 3600e3);
        const day = week[(at.getDay() + 6) % 7]!;
        day[at.getHours()] = day[at.getHours()]! + used;
      });
    return week;
  }, [jobSpans]);
  const most = Math.max(...cells.map((day) => Math.max(...day)), Number.MIN_VALUE);
  return (
    <section class="card" aria-label="Hours of the week">
      <h2>
        {title} by hour of the week <small>local time</small>
      </h2>
      <ScrollTable label="Table of the week" kind="week">
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">Day</span>
            </th>
            {Array.from({ length: 24 }, (_, hour) => (
              <th key={hour} scope="col">
                {hour}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cells.map((day, i) => (
            <tr key={DAYS[i]}>
              <th scope="row">{DAYS[i]}</th>
              {Array.from(day, (value, hour) => (
                <td
                  key={hour}
                  data-heat="amount"
                  style={{ '--heat': String(value / most) }}
                  title={`${DAYS[i]} ${hour}:00: ${figure(value)} ${unit}`}
                >
                  <span class="unseen">{figure(value)}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </ScrollTable>
      <p class="faint">The highest cell: {unit === 'jobs' ? count(most, 'job') : `${figure(most)} ${unit}`}.</p>
    </section>
  );
}
