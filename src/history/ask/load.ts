import { usage as wrongUse } from '../../base/fault.ts';
import { Calendar, WEEKDAYS } from './calendar.ts';
import type { Engine } from './engine.ts';
import { HOUR_COLUMNS, nodeHoursSql } from './node-hours.ts';
import { isOneOf } from './where.ts';

export const LOAD_STEPS = ['hour', 'half-day', 'day', 'week'] as const;
export type LoadStep = (typeof LOAD_STEPS)[number];

export interface LoadQuestion {
  from: number;
  to: number;
  every: LoadStep;
  zone?: string;
  nodes?: readonly string[];
  clusters?: readonly string[];
}

/** What a node did in a step of time. */
export interface LoadRow {
  /** Epoch microseconds: when the step begins. */
  time: number;
  cluster: string;
  node: string;
  /** Time that was recorded. */
  seconds: number;
  cpus?: number;
  cpu_use?: number;
  cpu_use_max?: number;
  load_mean?: number;
  memory_total_bytes?: number;
  memory_used_mean_bytes?: number;
  memory_used_max_bytes?: number;
  gpus?: number;
  gpu_use?: number;
  gpu_memory_used_bytes?: number;
  gpu_memory_total_bytes?: number;
  gpus_failed?: number;
  energy_joules?: number;
  read_bytes?: number;
  written_bytes?: number;
  network_in_bytes?: number;
  network_out_bytes?: number;
  /** Jobs that ran on it then, and the CPUs that they held on average, as far as the index knows them. */
  jobs?: number;
  cpus_allocated?: number;
}

const HOUR_US = 3_600_000_000;

/** The steps of a window: when each begins, and the step of each hour. */
interface Steps {
  begins: number[];
  ofHour: number[];
  first: number;
}

export function stepsOf(calendar: Calendar, { from, to, every }: Pick<LoadQuestion, 'from' | 'to' | 'every'>): Steps {
  if (!(from < to)) throw wrongUse('the period ends before it begins', '--from is earlier than --to');
  const first = Math.floor(from / HOUR_US);
  const count = Math.ceil(to / HOUR_US) - first;
  const begins: number[] = [];
  const ofHour: number[] = [];
  let last = '';
  for (let i = 0; i < count; i++) {
    const moment = (first + i) * HOUR_US;
    const { day, hour } = calendar.local(moment);
    const key =
      every === 'hour'
        ? String(i)
        : every === 'day'
          ? day
          : every === 'half-day'
            ? `${day} ${hour < 12}`
            : mondayOf(day);
    if (key !== last) begins.push(moment);
    last = key;
    ofHour.push(begins.length - 1);
  }
  return { begins, ofHour, first };
}

function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + WEEKDAYS.length - 1) % WEEKDAYS.length));
  return date.toISOString().slice(0, 10);
}

/** What nodes did, step by step. */
export async function askLoad(engine: Engine, question: LoadQuestion): Promise<LoadRow[]> {
  const { dialect: sql } = engine;
  const { from, to, nodes, clusters } = question;
  const { begins, ofHour, first } = stepsOf(new Calendar(question.zone), question);
  const bucket = (hour: string): string =>
    question.every === 'hour' ? `${hour} - ${first}` : sql.element(ofHour, `${hour} - ${first} + 1`);
  const named = (alias: string): string[] => [
    ...(nodes === undefined ? [] : [isOneOf(sql, `${alias}.node`, nodes)]),
    ...(clusters === undefined ? [] : [isOneOf(sql, `${alias}.cluster`, clusters)]),
  ];
  const rows = await engine.query((table) => nodeHoursSql(sql, table, { from, to, conditions: named('h') }, bucket));
  const slots = (jobs: string): string =>
    sql.slots(jobs, sql.floor(`low / ${HOUR_US}e0`), sql.floor(`greatest(low, high - 1) / ${HOUR_US}e0`));
  const held = await engine.query((table) => {
    const conditions = [`coalesce(n.end_time, ${to}) > ${from}`, `${sql.micros('n.time')} < ${to}`, ...named('n')];
    const jobs = `(select n.cluster, n.node, n.cpus, n.job, greatest(${sql.micros('n.time')}, ${from}) as low,
        least(coalesce(n.end_time, ${to}), ${to}) as high
      from ${table('job_nodes', { from })} n where ${conditions.join(' and ')})`;
    return `select cluster, node, ${bucket('slot')} as bucket, count(distinct job) as jobs,
        sum(cpus * (least(high, (slot + 1) * ${HOUR_US}) - greatest(low, slot * ${HOUR_US})) / 1e6) as cpu_seconds
      from ${slots(jobs)} s group by cluster, node, ${bucket('slot')}`;
  });
  const key = (row: Record<string, unknown>): string => JSON.stringify([row.cluster, row.node, Number(row.bucket)]);
  const heldBy = new Map(held.map((row) => [key(row), row]));
  return rows
    .map((row): LoadRow => {
      const at = Number(row.bucket);
      const begin = begins[at]!;
      const length = ((begins[at + 1] ?? Math.max(to, begin + HOUR_US)) - begin) / 1e6;
      const loadRow: Record<string, unknown> = {
        time: begin,
        cluster: String(row.cluster ?? ''),
        node: String(row.node),
        seconds: Number(row.seconds),
      };
      for (const name of HOUR_COLUMNS) if (row[name] !== null) loadRow[name] = Number(row[name]);
      const jobs = heldBy.get(key(row));
      if (jobs !== undefined) {
        loadRow.jobs = Number(jobs.jobs);
        if (jobs.cpu_seconds !== null) loadRow.cpus_allocated = Number(jobs.cpu_seconds) / length;
      }
      return loadRow as unknown as LoadRow;
    })
    .sort((a, b) => a.time - b.time || (a.cluster + a.node < b.cluster + b.node ? -1 : 1));
}

/** All nodes of a step as one: amounts and sizes added up, uses weighed by what they are of. */
export function together(rows: readonly LoadRow[]): LoadRow[] {
  return [...Map.groupBy(rows, ({ time }) => time)].map(([time, own]) => {
    const sum = (name: keyof LoadRow): number | undefined => {
      const numbers = own.flatMap((row) => (row[name] === undefined ? [] : Number(row[name])));
      return numbers.length === 0 ? undefined : numbers.reduce((a, b) => a + b, 0);
    };
    const mean = (name: keyof LoadRow, size: keyof LoadRow): number | undefined => {
      const weighable = own.filter((row) => row[name] !== undefined && row[size] !== undefined);
      const all = weighable.reduce((a, row) => a + Number(row[size]), 0);
      return all === 0 ? undefined : weighable.reduce((a, row) => a + Number(row[name]) * Number(row[size]), 0) / all;
    };
    const loadRow: Record<string, unknown> = {
      time,
      cluster: '',
      node: `${own.length} nodes`,
      seconds: sum('seconds'),
      cpu_use: mean('cpu_use', 'cpus'),
      gpu_use: mean('gpu_use', 'gpus'),
    };
    for (const name of ADDED) loadRow[name] = sum(name);
    for (const name of Object.keys(loadRow)) if (loadRow[name] === undefined) delete loadRow[name];
    return loadRow as unknown as LoadRow;
  });
}

/** Of several nodes these add up; they follow each other in a row. */
export const SUMMED_COLUMNS = [
  'gpu_memory_used_bytes',
  'gpu_memory_total_bytes',
  'gpus_failed',
  'energy_joules',
  'read_bytes',
  'written_bytes',
  'network_in_bytes',
  'network_out_bytes',
] as const;

const ADDED = [
  'cpus',
  'load_mean',
  'memory_total_bytes',
  'memory_used_mean_bytes',
  'gpus',
  ...SUMMED_COLUMNS,
  'cpus_allocated',
] as const;
