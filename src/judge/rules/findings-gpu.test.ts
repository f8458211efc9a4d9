import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finding, ids, outcome, single } from '../../../test/made/findings.ts';
import { START, span } from '../../../test/made/report-jobs.ts';
import { count, level } from '../../../test/made/report-statistics.ts';
import type { Material } from '../../query/material.ts';
import type { ColumnSeries } from '../../query/series/series.ts';
import type { Statistics } from '../../recording/sealed/statistics.ts';

process.env.TZ = 'UTC';

const GIB = 2 ** 30;
const HOUR = span(3600);

/** An hour on one node with cards that are busy so much, and what else they say. */
function cards(busy: readonly number[], more: (card: number) => Record<string, Statistics> = () => ({})): Material {
  const jobMaterial = single({ gpus: busy.map((each) => ({ busy: each, max: Math.min(100, each + 5) })) });
  const { series } = jobMaterial.nodes[0]!.tables.get('gpu')!;
  for (const [card, each] of series.entries()) Object.assign(each.columns, more(card));
  return jobMaterial;
}

const memory = (used: number) => ({
  memory_used_bytes: level(HOUR, used * GIB),
  memory_total_bytes: level(HOUR, 80 * GIB),
});

test('gpu-link: lanes, generation and links below what they can be', () => {
  const link = (width: number, generation: number, up: number) => () => ({
    pcie_width: level(HOUR, width),
    pcie_width_max: level(HOUR, 16),
    pcie_generation: level(HOUR, generation, generation, 1),
    pcie_generation_max: level(HOUR, 4),
    links_up: level(HOUR, up),
    links: level(HOUR, 4),
    ...memory(60),
  });
  const { text, severity, evidence, confidence } = finding(cards([90], link(8, 4, 4)), 'gpu-link');
  assert.equal(text, 'A GPU has a link below its speed: c1 GPU 0, PCIe with 8 of 16 lanes');
  assert.deepEqual([severity, confidence], ['warning', 'high']);
  assert.deepEqual(evidence, [
    {
      text: 'c1 GPU 0: PCIe with 8 of 16 lanes',
      from: 'gpu.pcie_width',
      node: 'c1',
      gpu: '0',
      value: 8,
      threshold: 16,
    },
  ]);
  assert.match(finding(cards([90], link(16, 3, 4)), 'gpu-link').text, /PCIe generation 3 instead of 4$/);
  assert.equal(finding(cards([90], link(16, 3, 4)), 'gpu-link').severity, 'advice');
  assert.match(finding(cards([90], link(16, 4, 3)), 'gpu-link').text, /3 of 4 links to other cards are up$/);
  // a generation that an idle card lowers says nothing
  assert.ok(!ids(cards([20], link(16, 3, 4))).includes('gpu-link'));
  assert.equal(outcome(cards([90], link(16, 4, 4)), 'gpu-link')?.outcome, 'fine');
  assert.match(outcome(cards([90]), 'gpu-link')?.why ?? '', /do not say how fast/);
});

test('gpu-errors: many corrected errors, and memory that is taken out of use', () => {
  const gpuMaterial = (corrected: number, retired = 0) =>
    cards([90], () => ({
      ...memory(60),
      ecc_corrected: count(HOUR, corrected),
      retired_pages: { ...level(HOUR, 3), last: 3 + retired },
    }));
  const many = finding(gpuMaterial(500), 'gpu-errors');
  assert.equal(many.text, '1 GPU had errors: c1 GPU 0, 500 corrected memory errors');
  assert.equal(many.severity, 'advice');
  assert.equal(finding(gpuMaterial(0, 2), 'gpu-errors').severity, 'warning');
  assert.match(finding(gpuMaterial(0, 2), 'gpu-errors').text, /2 more pages of its memory retired$/);
  assert.equal(outcome(gpuMaterial(60), 'gpu-errors')?.outcome, 'fine');
  assert.equal(outcome(gpuMaterial(8), 'gpu-errors')?.outcome, 'fine');
});

test('gpu-partly-used: a card that is hardly used beside busy ones', () => {
  const { text, advice, severity } = finding(
    cards([92, 91, 4, 95], () => memory(60)),
    'gpu-partly-used',
  );
  assert.equal(text, '1 of 4 GPUs was busy 4 % of the time or less: c1 GPU 2');
  assert.match(advice, /^Ask for 3 GPUs/);
  assert.equal(severity, 'advice');
  // all alike, or none much used: other rules
  assert.ok(!ids(cards([92, 91])).includes('gpu-partly-used'));
  assert.ok(!ids(cards([8, 9])).includes('gpu-partly-used'));
  assert.equal(outcome(cards([92]), 'gpu-partly-used')?.why, 'the job used one GPU');
});

test('gpu-overpowered: little use and little memory of a large card', () => {
  const { text } = finding(
    cards([30], () => memory(3)),
    'gpu-overpowered',
  );
  assert.equal(text, 'The GPU was larger than the work needs: busy 30 %, 3.0 GiB of 80.0 GiB used');
  assert.ok(!ids(cards([30], () => memory(40))).includes('gpu-overpowered'), 'it needs the memory');
  assert.ok(!ids(cards([90], () => memory(3))).includes('gpu-overpowered'), 'it needs the speed');
  assert.ok(!ids(cards([30])).includes('gpu-overpowered'), 'its memory is not known');
});

test('gpu-idle-after-use: cards that did nothing in the end', () => {
  const jobMaterial = cards([70], () => ({ ...memory(60), utilization_percent: level(HOUR, 70, 100, 0) }));
  const step = 18e6;
  const busyFor = (steps: number): ColumnSeries[] => {
    const time = Float64Array.from({ length: 200 }, (_, i) => START + i * step);
    const max = Float64Array.from({ length: 200 }, (_, i) => (i < steps ? 95 : 0));
    return [{ node: 'c1', keys: { gpu: '0' }, step, time, min: max, mean: max, max, count: max } as never];
  };
  jobMaterial.series = () => busyFor(150);
  const { text, evidence, severity } = finding(jobMaterial, 'gpu-idle-after-use');
  assert.equal(text, 'GPU 0 of c1 was no longer used for the last 15 min 00 s of the job');
  assert.equal(severity, 'advice');
  assert.deepEqual(
    evidence.map((e) => e.text),
    ['c1 GPU 0: in use for 45 min 00 s, then idle for 15 min 00 s (25 % of the time)', '0.25 GPU-hours unused'],
  );
  jobMaterial.series = () => busyFor(180);
  assert.equal(outcome(jobMaterial, 'gpu-idle-after-use')?.outcome, 'fine', 'a tenth of the time is no waste');
  // no samples at hand, or busy all the time: nothing is said
  assert.ok(!ids(cards([70])).includes('gpu-idle-after-use'));
});
