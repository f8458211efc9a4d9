import { usage as wrongUse } from '../../base/fault.ts';
import { Calendar, WEEKDAYS } from './calendar.ts';
import type { Dialect } from './dialect.ts';
import type { Emissions } from './emissions.ts';
import type { Engine, TableOf } from './engine.ts';
import type { JobFilter } from './filter.ts';
import { type Metric, type MetricName, metricOf } from './metrics.ts';
import { conditionsOf, endOf, ranIn, where } from './where.ts';

/** What the groups of a history are: a column of jobs, their nodes, or time as a clock on the wall shows it. */
const COLUMNS = {
  user: 'user',
  account: 'account',
  partition: 'partition',
  program: 'program',
  name: 'name',
  state: 'state',
  cluster: 'cluster',
} as const;
export const GROUPS = [
  ...(Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]),
  'node',
  'hour',
  'weekday',
  'hour-weekday',
  'day',
  'month',
] as const;
export type Group = (typeof GROUPS)[number];

export interface UsageQuestion {
  by: Group;
  metric: MetricName;
  /** Epoch microseconds; what jobs used in [from, to). */
  from: number;
  to: number;
  /** Time zone of hours, days and months; without: that of this machine. */
  zone?: string;
  filter?: JobFilter;
  emissions?: Emissions;
}

export interface UsageRow {
  /** A user, a day, an hour of the day (0 to 23)…; of hour × weekday "Monday 13". */
  group: string;
  /** Not there: nothing of it was measured. */
  value?: number;
  /** Jobs that count; of times only where each counts once. */
  jobs?: number;
  /** Of times: how long they were in the period, in hours. The value divided by it is what went on at once. */
  hours?: number;
}

export interface UsageAnswer {
  by: Group;
  metric: MetricName;
  unit: string;
  from: number;
  to: number;
  zone: string;
  rows: UsageRow[];
  /** Of all groups together. */
  total: { value?: number; jobs: number /** Of these, jobs that only accounting knows. */; accounted?: number };
}

/** Who used how much in a period, or when it was used. What a job used is spread evenly over the time that it ran. */
export async function askUsage(engine: Engine, question: UsageQuestion): Promise<UsageAnswer> {
  const { by, metric: name, from, to, filter = {}, emissions } = question;
  if (!(from < to)) throw wrongUse('the period ends before it begins', '--from is earlier than --to');
  const metric = metricOf(name);
  if (metric.emits && emissions === undefined)
    throw wrongUse(
      'how much CO2 a kWh stands for is not known',
      'give it with --co2 400 (g/kWh), --co2 FILE, or history.co2 in tacho.toml',
    );
  const calendar = new Calendar(question.zone);
  const groupRows = isTime(by)
    ? await byTime(engine, calendar, metric, question)
    : await byColumn(engine, calendar, metric, question);
  const { dialect } = engine;
  const [all] = await engine.query(
    (table) =>
      `select count(*) as jobs, sum(case when j.origin = 'accounting' then 1 else 0 end) as accounted from ${table('jobs', { from })} j ${where([...conditionsOf(dialect, filter), ...inPeriod(dialect, metric, from, to)])}`,
  );
  const rows = groupRows.map(({ group, amount, weight, jobs, hours }) => ({
    group,
    ...figureOf(metric, amount, weight),
    // a job that ran through several hours of a group is in it several times
    ...(isTime(by) && metric.at === undefined ? {} : { jobs }),
    ...(hours === undefined ? {} : { hours }),
  }));
  const sums = (pick: (row: Part) => number | null): number | null =>
    groupRows.reduce<number | null>(
      (sum, groupRow) => (pick(groupRow) === null ? sum : (sum ?? 0) + pick(groupRow)!),
      null,
    );
  return {
    by,
    metric: name,
    unit: metric.unit,
    from,
    to,
    zone: calendar.zone,
    rows,
    total: {
      ...figureOf(
        metric,
        sums(({ amount }) => amount),
        sums(({ weight }) => weight),
      ),
      jobs: Number(all!.jobs),
      ...(Number(all!.accounted) > 0 ? { accounted: Number(all!.accounted) } : {}),
    },
  };
}

/** What a group has: sums, null where nothing was measured. */
interface Part {
  group: string;
  amount: number | null;
  weight: number | null;
  jobs: number;
  hours?: number;
}

const isTime = (by: Group): boolean => !(by in COLUMNS) && by !== 'node';

function figureOf({ per, factor = 1 }: Metric, amount: number | null, weight: number | null): { value?: number } {
  if (amount === null || (per !== undefined && !weight)) return {};
  return { value: (amount * factor) / (per === undefined ? 1 : weight!) };
}

function inPeriod(sql: Dialect, { at }: Metric, from: number, to: number): string[] {
  if (at === undefined) return ranIn(sql, from, to);
  const moment = momentOf(sql, at);
  return [`${moment} >= ${Math.round(from)}`, `${moment} < ${Math.round(to)}`];
}

const momentOf = (sql: Dialect, at: 'start' | 'submit'): string =>
  at === 'start' ? sql.micros('j.time') : `coalesce(j.submit_time, ${sql.micros('j.time')})`;

/** The rows that a question is about, with the bounds of the part of each that lies in the period, as `b`. */
function base(
  sql: Dialect,
  table: TableOf,
  metric: Metric,
  { by, from, to, filter = {} }: UsageQuestion,
  key: string,
): string {
  const conditions = [...conditionsOf(sql, filter), ...inPeriod(sql, metric, from, to)];
  const onNode = by === 'node';
  const { amount, per } = onNode && metric.onNode !== undefined ? metric.onNode : metric;
  const jobs = table('jobs', { from });
  // a job on a node ran as long as the job
  const source = onNode
    ? `(select n.*, j.wall_seconds, j.submit_time, j.wait_seconds from ${table('job_nodes', { from })} n
        join (select j.* from ${jobs} j ${where(conditions)}) j
        on n.job = j.job and n.cluster = j.cluster and n.time = j.time and coalesce(n.restart, 0) = coalesce(j.restart, 0)) j`
    : `${jobs} j ${where(conditions)}`;
  const [begin, end] =
    metric.at === undefined
      ? [sql.micros('j.time'), endOf(sql)]
      : [momentOf(sql, metric.at), `${momentOf(sql, metric.at)} + 1`];
  return `(select ${key} as k, ${begin} as start_us, ${end} as end_us, ${amount} as amount, ${per ?? 'nullif(0e0, 0e0)'} as weight from ${source})`;
}

/** What part of the amount lies between two moments; one that lasted no time is all where it began. */
const shareOf = (begin: string, end: string): string =>
  `case when b.end_us > b.start_us then (${end} - ${begin}) * 1e0 / (b.end_us - b.start_us) else 1 end`;

async function byColumn(engine: Engine, calendar: Calendar, metric: Metric, question: UsageQuestion): Promise<Part[]> {
  const { dialect: sql } = engine;
  const { by, from, to } = question;
  const key = by === 'node' ? 'j.node' : `coalesce(j.${COLUMNS[by as keyof typeof COLUMNS]}, '')`;
  const [low, high] = [`greatest(b.start_us, ${from})`, `least(b.end_us, ${to})`];
  const emitted = metric.emits ? question.emissions! : undefined;
  if (emitted?.hourly !== undefined) return byColumnAndHour(engine, calendar, metric, question, key);
  const share = shareOf(low, high);
  const factor = emitted?.factor ?? 1;
  const rows = await engine.query(
    (
      table,
    ) => `select k, count(*) as jobs, sum(amount * ${factor} * ${share}) as amount, sum(weight * ${share}) as weight
      from ${base(sql, table, metric, question, key)} b group by k`,
  );
  return rows.map(partOf).sort(byAmount);
}

/** With factors of CO2 that differ from hour to hour it matters when the energy was used. */
async function byColumnAndHour(
  engine: Engine,
  calendar: Calendar,
  metric: Metric,
  question: UsageQuestion,
  key: string,
): Promise<Part[]> {
  const slot = calendar.slot(question.from, question.to);
  const first = Math.floor(question.from / slot);
  const factors = slotsOf(question, slot).map((at) => question.emissions!.at(at * slot));
  const factor = engine.dialect.element(factors, `slot - ${first} + 1`);
  const rows = await engine.query(
    (table) => `select k, count(distinct id) as jobs, sum(part * ${factor}) as amount, null as weight
      from (${inSlots(engine.dialect, table, metric, question, key, slot, true)}) s group by k`,
  );
  return rows.map(partOf).sort(byAmount);
}

const partOf = ({ k, jobs, amount, weight }: Record<string, unknown>): Part => ({
  group: String(k ?? ''),
  amount: numberOf(amount),
  weight: numberOf(weight),
  jobs: Number(jobs),
});

const numberOf = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value));

/** Most first; of means (a use, a wait) those that were measured in most come first, too: they weigh most. */
const byAmount = (a: Part, b: Part): number =>
  (b.weight ?? b.amount ?? -1) - (a.weight ?? a.amount ?? -1) || (a.group < b.group ? -1 : 1);

/** Rows of jobs, one for each slot of time that they ran in, with the part of their amount that lies in it. */
function inSlots(
  sql: Dialect,
  table: TableOf,
  metric: Metric,
  question: UsageQuestion,
  key: string,
  slot: number,
  counted = false,
): string {
  const { from, to } = question;
  const numbered = `(select ${counted ? 'row_number() over () as id, ' : ''}b.*, greatest(b.start_us, ${from}) as low, least(b.end_us, ${to}) as high
    from ${base(sql, table, metric, question, key)} b)`;
  const first = sql.floor(`low / ${slot}e0`);
  const last = sql.floor(`greatest(low, high - 1) / ${slot}e0`);
  const [begin, end] = [`greatest(b.low, b.slot * ${slot})`, `least(b.high, (b.slot + 1) * ${slot})`];
  const share = shareOf(begin, end);
  return `select b.k, ${counted ? 'b.id, ' : ''}b.slot, b.amount * ${share} as part, b.weight * ${share} as weight from ${sql.slots(numbered, first, last)} b`;
}

function slotsOf({ from, to }: UsageQuestion, slot: number): number[] {
  const first = Math.floor(from / slot);
  return Array.from({ length: Math.floor((to - 1) / slot) - first + 1 }, (_, i) => first + i);
}

async function byTime(engine: Engine, calendar: Calendar, metric: Metric, question: UsageQuestion): Promise<Part[]> {
  const { by, from, to, emissions } = question;
  const slot = calendar.slot(from, to);
  const rows = await engine.query(
    (table) => `select slot, count(*) as jobs, sum(part) as amount, sum(weight) as weight
      from (${inSlots(engine.dialect, table, metric, question, 'null', slot)}) s group by slot`,
  );
  const bySlot = new Map(rows.map((row) => [Number(row.slot), row]));
  const groups = new Map<string, Part>();
  for (const at of slotsOf(question, slot)) {
    const group = groupOf(calendar, by, Math.max(from, at * slot));
    const groupRow = groups.get(group) ?? { group, amount: null, weight: null, jobs: 0, hours: 0 };
    groups.set(group, groupRow);
    groupRow.hours! += (Math.min(to, (at + 1) * slot) - Math.max(from, at * slot)) / 3.6e9;
    const row = bySlot.get(at);
    if (row === undefined) continue;
    const factor = metric.emits ? emissions!.at(at * slot) : 1;
    if (row.amount !== null) groupRow.amount = (groupRow.amount ?? 0) + Number(row.amount) * factor;
    if (row.weight !== null) groupRow.weight = (groupRow.weight ?? 0) + Number(row.weight);
    groupRow.jobs += Number(row.jobs);
  }
  return [...groups.values()].sort(
    (a, b) => orderOf(by, a.group) - orderOf(by, b.group) || (a.group < b.group ? -1 : 1),
  );
}

function groupOf(calendar: Calendar, by: Group, moment: number): string {
  const { day, month, weekday, hour } = calendar.local(moment);
  switch (by) {
    case 'hour':
      return String(hour).padStart(2, '0');
    case 'weekday':
      return WEEKDAYS[weekday]!;
    case 'hour-weekday':
      return `${WEEKDAYS[weekday]} ${String(hour).padStart(2, '0')}`;
    case 'month':
      return month;
    default:
      return day;
  }
}

function orderOf(by: Group, group: string): number {
  if (by !== 'weekday' && by !== 'hour-weekday') return 0;
  return (WEEKDAYS as readonly string[]).indexOf(group.split(' ')[0]!);
}
