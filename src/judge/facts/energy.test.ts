import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agent, job, node as jobNode, material, span } from '../../../test/made/report-jobs.ts';
import { count, level, series, table } from '../../../test/made/report-statistics.ts';
import type { NodeMaterial } from '../../query/material.ts';
import type { SeriesStatistics } from '../../recording/sealed/statistics.ts';
import { report } from '../report.ts';
import type { GpuReport } from '../report-schema.ts';
import { energyOf as energyIn } from './energy.ts';
import { gpusOf } from './gpus.ts';

type Meter = { domain: string; meter: string; within?: string; energy_mj?: number; watts?: number };

/** Ten seconds of these meters. */
function node(...meters: Meter[]): NodeMaterial {
  const series = meters.map(
    (m) =>
      ({
        keys: { domain: m.domain },
        start: 0,
        end: 1e7,
        texts: { meter: m.meter, within: m.within ?? '' },
        columns: {
          ...(m.energy_mj === undefined ? {} : { energy_mj: { count: 10, increase: m.energy_mj } }),
          ...(m.watts === undefined ? {} : { power_watts: { count: 10, integral: m.watts * 10 } }),
        },
      }) as unknown as SeriesStatistics,
  );
  const power = { table: 'power', rows: 1, start: 0, end: 1e7, series, series_total: series.length };
  return { node: 'c1', tables: new Map([['power', power]]) };
}

const energyOf = (node: NodeMaterial, gpus: GpuReport[]) => energyIn(material(job(10), [node]), node, gpus);

const gpu = (joules: number, source: 'counter' | 'integrated power'): GpuReport => ({
  node: 'c1',
  gpu: '0',
  samples: 10,
  recorded_seconds: 10,
  energy_joules: joules,
  energy_source: source,
});

test('a meter of the whole node includes everything else', () => {
  const cray = node(
    { domain: 'node', meter: 'pm_counters', energy_mj: 5e6, watts: 480 },
    { domain: 'cpu', meter: 'pm_counters', within: 'node', energy_mj: 2e6 },
    { domain: 'package-0', meter: 'rapl', energy_mj: 1.9e6 },
  );
  assert.deepEqual(energyOf(cray, [gpu(900, 'counter')]), {
    joules: 5000,
    source: 'counter',
    covers: ['node'],
    seconds: 10,
  });
});

test('else the parts, each once, and the GPUs', () => {
  const meteredNode = node(
    { domain: 'package-0', meter: 'rapl', energy_mj: 1e6 },
    { domain: 'package-1', meter: 'rapl', energy_mj: 1e6 },
    { domain: 'core-0', meter: 'rapl', within: 'package-0', energy_mj: 9e5 },
    { domain: 'dram-0', meter: 'rapl', energy_mj: 2e5 },
    { domain: 'nvme', meter: 'hwmon', watts: 5 },
  );
  assert.deepEqual(energyOf(meteredNode, [gpu(3000, 'counter')]), {
    joules: 5200,
    source: 'counter',
    covers: ['CPUs', 'memory', 'GPUs'],
    seconds: 10,
  });
  assert.equal(energyOf(meteredNode, [gpu(3000, 'integrated power')])?.source, 'both');
});

test('power that was sampled is said to be so, and nothing is not zero', () => {
  assert.deepEqual(energyOf(node({ domain: 'system', meter: 'hwmon', watts: 400 }), []), {
    joules: 4000,
    source: 'integrated power',
    covers: ['node'],
    seconds: 10,
  });
  assert.equal(energyOf(node(), []), undefined);
});

test('a counter that stands still while power is drawn does not count', () => {
  const stuck = energyOf(node({ domain: 'node', meter: 'pm_counters', energy_mj: 0, watts: 195 }), []);
  assert.deepEqual([stuck?.joules, stuck?.source], [1950, 'integrated power']);
  const idle = energyOf(node({ domain: 'node', meter: 'pm_counters', energy_mj: 0, watts: 0 }), []);
  assert.deepEqual([idle?.joules, idle?.source], [0, 'counter']);
  // RAPL has no power to compare with
  const still: Meter = { domain: 'package-0', meter: 'rapl', energy_mj: 0 };
  assert.equal(energyOf(node(still), []), undefined);
  const other = energyOf(node(still, { domain: 'dram-0', meter: 'rapl', energy_mj: 2e5 }), []);
  assert.deepEqual([other?.joules, other?.covers], [200, ['memory']]);
  const lifetime = span(10);
  const card = series(lifetime, { gpu: '0' }, { energy_mj: count(lifetime, 0), power_watts: level(lifetime, 195) });
  const [gpuReport] = gpusOf(material(job(10), [jobNode('c1', agent('c1', lifetime), [table('gpu', [card])])]));
  assert.deepEqual([gpuReport!.energy_joules, gpuReport!.energy_source], [1950, 'integrated power']);
});

test('a card that was seen later than its job began covers a part of its energy', () => {
  const lifetime = span(10);
  const card = (gpu: string, from: number) =>
    series({ ...lifetime, start: lifetime.start + from * 1e6 }, { gpu }, { energy_mj: count(lifetime, 1e6) });
  const reported = (...cards: ReturnType<typeof card>[]) =>
    report(material(job(10), [jobNode('c1', agent('c1', lifetime), [table('gpu', cards)])])).summary.energy_coverage;
  assert.equal(reported(card('0', 0)), 1);
  assert.equal(reported(card('0', 2)), 0.8);
  assert.equal(reported(card('0', 2), card('1', 1)), 0.85);
});
