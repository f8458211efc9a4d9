import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { columnChart } from '../../src/charts/column-chart.ts';
import { draw } from '../../src/charts/draw.ts';
import { chartOf } from '../../src/charts/job-charts.ts';
import { writeDemo } from '../../src/demo/demo.ts';
import { gather } from '../../src/judge/facts/gather.ts';
import { cpuOf } from '../../src/query/use/cpu.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { temporary } from '../make-recording.ts';

test('CPUs used: where records know a little more than the cgroup, a dip of two seconds is drawn all the same', async () => {
  // its processes are sampled every ten seconds, its cgroup every second
  const recording = await writeDemo({ folder: path.join(temporary(), 'demo'), nodes: 1, gpus: 1, seconds: 1080 });
  const material = gather(openRecording(recording));
  assert.equal(cpuOf(material, material.nodes[0]!)!.source, 'records');
  const { series } = draw(material, chartOf('cpu')!, { points: 1080 })!;
  const [usage] = draw(material, columnChart(material, 'cgroup.usage_us')!, { points: 1080 })!.series;
  const isDip = (cpus: number, i: number, all: Float64Array): boolean => cpus < 0.6 * all[i - 10]!;
  const seconds = (values: Float64Array): number[] =>
    [...values.keys()].filter((i) => i > 60 && isDip(values[i]!, i, values));
  assert.ok(seconds(usage!.mean).length > 10);
  const apart = seconds(usage!.mean).filter((i) => !seconds(series[0]!.mean).some((j) => Math.abs(i - j) <= 1));
  assert.deepEqual(apart, []);
});
