import assert from 'node:assert/strict';
import { report } from '../../src/judge/report.ts';
import type { CheckResult, Finding } from '../../src/judge/report-schema.ts';
import type { Material } from '../../src/query/material.ts';
import { agent, cgroup, job, material, node, span } from './report-jobs.ts';
import { level, series, table } from './report-statistics.ts';

/** What a report finds of a job, and an ordinary job to begin with. */

const GIB = 2 ** 30;

export const ids = (told: Material): string[] => report(told).findings.map((f) => f.id);

export function finding(told: Material, id: string): Finding {
  const found = report(told).findings.find((f) => f.id === id);
  assert.ok(found, `no ${id}`);
  return found;
}

export const outcome = (told: Material, id: string): CheckResult | undefined =>
  report(told).checks.find((c) => c.id === id);

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
  const lived = span(wall);
  const tables = [
    table('loadavg', [series(lived, {}, { load1: level(lived, 15) })]),
    cgroup(lived, facts.busy ?? 15, (facts.memory ?? 50) * GIB, facts.more),
    table('process', [series(lived, { pid: '5', start: '0' }, { rss_bytes: level(lived, GIB) }, { name: 'solve' })]),
  ];
  if (facts.gpus !== undefined) {
    tables.push(
      table(
        'gpu',
        facts.gpus.map((g, i) =>
          series(
            lived,
            { gpu: String(i) },
            {
              utilization_percent: level(lived, g.busy, g.max ?? Math.min(100, g.busy * 1.2)),
              power_watts: level(lived, g.watts ?? 300),
              throttled_thermal: level(lived, g.thermal ?? 0),
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
  return material(job(wall, { asked, ...about }), [node('c1', agent('c1', lived), tables)]);
}
