import type { Engine } from './engine.ts';
import type { JobFilter } from './filter.ts';
import { conditionsOf, where, windowOf } from './where.ts';

export const WASTE_GROUPS = ['user', 'account', 'partition', 'program', 'name', 'job'] as const;
export type WasteGroup = (typeof WASTE_GROUPS)[number];

/** What was reserved and not used, of jobs that ended in the period. */
export interface WasteRow {
  group: string;
  /** Of the job, when groups are jobs. */
  user?: string;
  name?: string;
  jobs: number;
  core_hours: number;
  core_hours_wasted?: number;
  gpu_hours?: number;
  gpu_hours_wasted?: number;
  memory_byte_hours_wasted?: number;
  /** Core-hours of jobs whose use was not measured: they are in no waste. */
  core_hours_unmeasured: number;
  /** Jobs that only accounting knows: their CPU use is a lower bound. */
  accounted?: number;
  /** The finding of waste that most of its jobs have. */
  finding?: string;
}

const SUMS = ['core_hours_wasted', 'gpu_hours', 'gpu_hours_wasted', 'memory_byte_hours_wasted'] as const;

export async function askWaste(engine: Engine, by: WasteGroup, filter: JobFilter): Promise<WasteRow[]> {
  const { dialect: sql } = engine;
  const conditions = where([...conditionsOf(sql, filter), ...windowOf(sql, filter)]);
  const key = by === 'job' ? 'j.job, j.user, j.name' : `coalesce(j.${by}, '')`;
  const head = by === 'job' ? 'j.job as k, j.user as who, j.name as called' : `${key} as k`;
  const rows = await engine.query(
    (table) => `select ${head}, count(*) as jobs, sum(j.core_hours) as core_hours,
        ${SUMS.map((name) => `sum(j.${name}) as ${name}`).join(', ')},
        sum(case when j.core_hours_wasted is null then j.core_hours end) as unmeasured,
        sum(case when j.origin = 'accounting' then 1 else 0 end) as accounted
      from ${table('jobs', { from: filter.from, to: filter.to })} j ${conditions}
      group by ${key}
      order by coalesce(sum(j.core_hours_wasted), 0) + 16 * coalesce(sum(j.gpu_hours_wasted), 0) desc
      ${filter.limit === undefined ? '' : `limit ${filter.limit}`}`,
  );
  const findings = await engine.query(
    (table) => `select ${by === 'job' ? 'j.job' : key} as k, j.findings as findings, count(*) as jobs
      from ${table('jobs', { from: filter.from, to: filter.to })} j ${conditions}
      group by ${by === 'job' ? 'j.job' : key}, j.findings`,
  );
  const common = await commonFindings(findings);
  return rows.map((row): WasteRow => {
    const group = String(row.k ?? '');
    const finding = common.get(group);
    const wasteRow: Record<string, unknown> = {
      group,
      jobs: Number(row.jobs),
      core_hours: Number(row.core_hours ?? 0),
      core_hours_unmeasured: Number(row.unmeasured ?? 0),
    };
    if (by === 'job') Object.assign(wasteRow, { user: row.who ?? '', name: row.called ?? '' });
    for (const name of SUMS) if (row[name] !== null) wasteRow[name] = Number(row[name]);
    if (Number(row.accounted) > 0) wasteRow.accounted = Number(row.accounted);
    if (finding !== undefined) wasteRow.finding = finding;
    return wasteRow as unknown as WasteRow;
  });
}

async function commonFindings(rows: readonly Record<string, unknown>[]): Promise<Map<string, string>> {
  // other questions need no rules
  const { rules } = await import('../../judge/rules/index.ts');
  const wasteRules = new Set(rules.filter(({ kind }) => kind === 'waste').map(({ id }) => id));
  const counts = new Map<string, Map<string, number>>();
  for (const { k, findings, jobs } of rows) {
    if (typeof findings !== 'string') continue;
    const own = counts.get(String(k ?? '')) ?? new Map<string, number>();
    counts.set(String(k ?? ''), own);
    for (const id of findings.split(',').filter((one) => wasteRules.has(one)))
      own.set(id, (own.get(id) ?? 0) + Number(jobs));
  }
  return new Map(
    [...counts]
      .filter(([, own]) => own.size > 0)
      .map(([k, own]) => [k, [...own].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]![0]]),
  );
}
