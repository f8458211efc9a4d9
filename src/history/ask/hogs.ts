import type { Engine } from './engine.ts';
import type { JobFilter } from './filter.ts';
import { nodeHoursSql } from './node-hours.ts';
import { conditionsOf, endOf, ranIn, where } from './where.ts';

export const HOG_GROUPS = ['user', 'job', 'program', 'account'] as const;
export type HogGroup = (typeof HOG_GROUPS)[number];

export interface HogQuestion {
  by: HogGroup;
  from: number;
  to: number;
  filter?: JobFilter;
}

/** Who used more than a fair part of nodes on which others could have used it. */
export interface HogRow {
  group: string;
  user?: string;
  jobs: number;
  /** Of all that it ran. */
  core_hours_used: number;
  /** Hours in which a node of its was full and others ran there, too. */
  contended_hours: number;
  /** Core-hours in these above what was given to it; where nobody gave it anything, above half of the node. */
  core_hours_hogged: number;
  nodes: number;
}

/** A node is full from this share of its CPUs on, or when more threads want to run than it has CPUs. */
const FULL = 0.9;
/** Others ran there when they used at least so much of it. */
const OTHERS = 0.05;
/** Where no scheduler divides a node, more than this share of it is more than one user's part. */
const FAIR = 0.5;
/** More than this above its allocation is no rounding. */
const BEYOND = 1.05;

/**
 * What a job did is held against what its nodes were doing: on a node that has idle CPUs nobody is in anybody's way, and a
 * job alone on a node hogs nothing.
 */
export async function askHogs(engine: Engine, { by, from, to, filter = {} }: HogQuestion): Promise<HogRow[]> {
  const { dialect: sql } = engine;
  const key = by === 'job' ? 'j.job' : `coalesce(j.${by}, '')`;
  const rows = await engine.query((table) => {
    const jobs = `(select ${key} as k, j.job, j.cluster, j.user, j.time, j.restart, j.scheduler,
        greatest(${sql.micros('j.time')}, ${from}) as low, least(${endOf(sql)}, ${to}) as high
      from ${table('jobs', { from })} j ${where([...conditionsOf(sql, filter), ...ranIn(sql, from, to)])})`;
    const onNodes = `(select j.k, j.job, j.user as who, n.cluster, n.node, j.low, j.high,
        n.cpu_seconds / nullif(n.recorded_seconds, 0) as busy,
        case when j.scheduler = 'none' or n.cpus is null or n.cpus >= n.node_cpus then null else n.cpus * ${BEYOND} end as given
      from ${jobs} j join ${table('job_nodes', { from })} n
        on n.job = j.job and n.cluster = j.cluster and n.time = j.time and coalesce(n.restart, 0) = coalesce(j.restart, 0)
      where n.cpu_seconds is not null)`;
    const slots = sql.slots(
      onNodes,
      sql.floor('low / 3600000000e0'),
      sql.floor('greatest(low, high - 1) / 3600000000e0'),
    );
    const hours = `(${nodeHoursSql(sql, table, { from, to }, (hour) => hour)})`;
    const length = '(least(s.high, (s.slot + 1) * 3600000000) - greatest(s.low, s.slot * 3600000000)) / 3.6e9';
    const contended = `((h.cpu_use >= ${FULL} or h.load_mean >= h.cpus) and h.cpu_use * h.cpus - s.busy >= ${OTHERS} * h.cpus)`;
    return `select s.k, count(distinct s.job) as jobs, max(s.who) as who, count(distinct s.node) as nodes,
        sum(s.busy * ${length}) as used,
        sum(case when ${contended} then ${length} else 0 end) as contended,
        sum(case when ${contended} then greatest(0, s.busy - coalesce(s.given, h.cpus * ${FAIR})) * ${length} else 0 end) as hogged
      from ${slots} s left join ${hours} h on h.cluster = s.cluster and h.node = s.node and h.bucket = s.slot
      group by s.k`;
  });
  return rows
    .map(
      (row): HogRow => ({
        group: String(row.k ?? ''),
        ...(by === 'job' ? { user: String(row.who ?? '') } : {}),
        jobs: Number(row.jobs),
        core_hours_used: Number(row.used ?? 0),
        contended_hours: Number(row.contended ?? 0),
        core_hours_hogged: Number(row.hogged ?? 0),
        nodes: Number(row.nodes),
      }),
    )
    .filter(({ core_hours_hogged }) => core_hours_hogged > 0)
    .sort((a, b) => b.core_hours_hogged - a.core_hours_hogged);
}
