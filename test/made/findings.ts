import assert from 'node:assert/strict';
import { report } from '../../src/judge/report.ts';
import type { CheckResult, Finding } from '../../src/judge/report-schema.ts';
import type { Material } from '../../src/query/material.ts';
import { agent, cgroup, job, material, node, span } from './report-jobs.ts';
import { level, series, table } from './report-statistics.ts';

/** What a report finds of a job, and an ordinary job to begin with. */

const GIB = 2 ** 30;

export const ids = (jobMaterial: Material): string[] => report(jobMaterial).findings.map((f) => f.id);

export function finding(jobMaterial: Material, id: string): Finding {
  const finding = report(jobMaterial).findings.find((f) => f.id === id);
  assert.ok(finding, `no ${id}`);
  return finding;
}

export const outcome = (jobMaterial: Material, id: string): CheckResult | undefined =>
  report(jobMaterial).checks.find((c) => c.id === id);

export type Facts = {
  wall?: number;
  busy?: number;
  memory?: number;
  more?: Parameters<typeof cgroup>[3];
  gpus?: Gpu[];
};
export type Gpu = { busy: number; max?: number; watts?: number; thermal?: number; mine?: string };

/** One node with 16 CPUs and 64 GiB for an hour; only what is told is out of the ordinary. */
export function single(facts: Facts = {}, about: Parameters<typeof job>[1] = {}): Material {
  const wall = facts.wall ?? 3600;
  const lifetime = span(wall);
  const tables = [
    table('loadavg', [series(lifetime, {}, { load1: level(lifetime, 15) })]),
    cgroup(lifetime, facts.busy ?? 15, (facts.memory ?? 50) * GIB, facts.more),
    table('process', [
      series(lifetime, { pid: '5', start: '0' }, { rss_bytes: level(lifetime, GIB) }, { name: 'solve' }),
    ]),
  ];
  if (facts.gpus !== undefined) {
    tables.push(
      table(
        'gpu',
        facts.gpus.map((g, i) =>
          series(
            lifetime,
            { gpu: String(i) },
            {
              utilization_percent: level(lifetime, g.busy, g.max ?? Math.min(100, g.busy * 1.2)),
              power_watts: level(lifetime, g.watts ?? 300),
              throttled_thermal: level(lifetime, g.thermal ?? 0),
            },
            { mine: g.mine ?? 'yes' },
          ),
        ),
      ),
    );
  }
  const asked = {
    nodes: 1,
    cpus: 16,
    memory_bytes: 64 * GIB,
    ...(facts.gpus === undefined ? {} : { gpus: facts.gpus.length }),
  };
  return material(job(wall, { asked, ...about }), [node('c1', agent('c1', lifetime), tables)]);
}
