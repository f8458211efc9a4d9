import type { Dialect } from './dialect.ts';
import type { TableOf } from './engine.ts';

/** Amounts of an hour, which add up; levels, which are weighed by time. */
const AMOUNTS = ['energy_joules', 'read_bytes', 'written_bytes', 'network_in_bytes', 'network_out_bytes'] as const;
const LEVELS = ['cpu_use', 'load_mean', 'memory_used_mean_bytes', 'gpu_use', 'gpu_memory_used_bytes'] as const;
const MOST = [
  'cpus',
  'cpu_use_max',
  'memory_total_bytes',
  'memory_used_max_bytes',
  'gpus',
  'gpu_memory_total_bytes',
  'gpus_failed',
] as const;

export const HOUR_COLUMNS = [...AMOUNTS, ...LEVELS, ...MOST];

/**
 * One row per node and slot of time of `node_hours`. Several jobs on a node tell of the same time: of each row only the part
 * counts that no row before it covers.
 */
export function nodeHoursSql(
  sql: Dialect,
  table: TableOf,
  { from, to, conditions = [] }: { from: number; to: number; conditions?: readonly string[] },
  bucket: (hour: string) => string,
): string {
  const hour = sql.floor(`${sql.micros('h.time')} / 3600000000e0`);
  const rows = `select h.*, ${hour} as hour,
      max(h.last_time) over (partition by h.cluster, h.node, h.time order by h.first_time, h.last_time desc
        rows between unbounded preceding and 1 preceding) as before_us
    from ${table('node_hours', { from, to })} h
    where ${[`h.last_time > ${from}`, `h.first_time < ${to}`, 'h.last_time > h.first_time', ...conditions].join(' and ')}`;
  const fraction = `case when before_us is null or before_us <= first_time then 1e0
    when before_us >= last_time then 0e0 else (last_time - before_us) * 1e0 / (last_time - first_time) end`;
  const sums = AMOUNTS.map((name) => `sum(${name} * f) as ${name}`);
  const means = LEVELS.map(
    (name) =>
      `sum(${name} * seconds * f) / nullif(sum(case when ${name} is not null then seconds * f end), 0) as ${name}`,
  );
  const highest = MOST.map((name) => `max(${name}) as ${name}`);
  return `select cluster, node, ${bucket('hour')} as bucket, sum(seconds * f) as seconds,
      min(first_time) as first_time, max(last_time) as last_time, ${[...sums, ...means, ...highest].join(', ')}
    from (select r.*, ${fraction} as f from (${rows}) r) w
    group by cluster, node, ${bucket('hour')}`;
}
