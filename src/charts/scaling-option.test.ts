import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DARK, LIGHT } from './option.ts';
import { type DrawnStudy, scalingLegend, scalingOption } from './scaling-option.ts';
import { scalingSvg } from './scaling-svg.ts';

const took = (wall_seconds_min: number, wall_seconds: number, wall_seconds_max: number) => ({
  wall_seconds_min,
  wall_seconds,
  wall_seconds_max,
});

const STUDY: DrawnStudy = {
  by: 'gpus',
  program: 'a<b',
  kind: 'strong',
  metric: 'time',
  smallest: 1,
  largest: 4,
  sizes: [
    { size: 1, speedup: 1, efficiency: 1, runs: 2, ...took(100, 100, 400) },
    { size: 4, speedup: 2, efficiency: 0.5, runs: 2, ...took(10, 50, 50) },
  ],
  curve: [
    { size: 1, value: 1, low: -1, high: 1.2 },
    { size: 4, value: 2, low: 1.5, high: 2.5 },
  ],
  laws: [{ law: 'Amdahl', best: true }],
  interval: { confidence: 0.95 },
};

const endsOf = (study: DrawnStudy): [min: number, max: number] => {
  const { yAxis } = scalingOption(study, LIGHT) as { yAxis: { min: number; max: number } };
  return [yAxis.min, yAxis.max];
};

test('a size that is faster than the ideal is inside the chart', () => {
  const sizes = [
    { size: 2, speedup: 1, efficiency: 1, runs: 1, ...took(91.4, 91.4, 91.4) },
    { size: 4, speedup: 45.7, efficiency: 22.9, runs: 1, ...took(2, 2, 2) },
  ];
  const { yAxis } = scalingOption({ ...STUDY, smallest: 2, sizes, curve: [], laws: [] }, LIGHT) as {
    yAxis: { max: number };
  };
  assert.equal(yAxis.max, 64);
});

test('the slowest and the fastest run of each size are inside the chart', () => {
  // 100 s of 400 s, and 2 × 50 s of 10 s
  const [least, most] = endsOf(STUDY);
  assert.ok(least > 0.2 && least < 0.25, String(least));
  assert.equal(most, 16);
  // a figure of merit has no times to draw
  const [start, end] = endsOf({ ...STUDY, metric: 'ns/day' });
  assert.ok(start > 0.9 && start < 1, String(start));
  assert.equal(end, 4);
});

test('the signs are explained in words, on the page and in files', () => {
  assert.deepEqual(
    scalingLegend(STUDY, LIGHT).map(({ sign, name }) => `${sign}: ${name}`),
    ['dots: measured, from the slowest to the fastest run', 'line: Amdahl, dashed: 95 % interval', 'dotted: ideal'],
  );
  const [once] = STUDY.sizes.map((row) => ({ ...row, runs: 1 }));
  const bare = { ...STUDY, sizes: [once!], curve: [], laws: [] };
  assert.deepEqual(
    scalingLegend(bare, LIGHT).map(({ sign, name }) => `${sign}: ${name}`),
    ['dots: measured', 'dotted: ideal'],
  );
});

test('as a file: band, spread, dots, title and legend, in the colours of the page', () => {
  const svg = scalingSvg(STUDY);
  assert.match(
    svg,
    /^<svg xmlns="[^"]*" [^>]*width="720" height="440" .* aria-label="a&lt;b: strong scaling, 1 to 4 GPUs"/,
  );
  assert.match(svg, /<text [^>]*>a&lt;b: strong scaling, 1 to 4 GPUs<\/text>/);
  assert.match(svg, /<text [^>]*>dots: measured, from [^<]* · line: Amdahl, [^<]* · dotted: ideal<\/text>/);
  assert.equal(svg.match(/<circle [^>]*fill="#0072B2"/g)!.length, 2);
  const [, points] = /<polygon points="([^"]*)"[^>]*fill="#E69F00"[^>]*opacity="0\.18"/.exec(svg)!;
  // the lower edge is cut at the end of the axis
  assert.doesNotMatch(points!, /NaN|Infinity/);
  assert.equal(points!.match(/-?[\d.]+/g)!.length, 2 * 4);
  assert.doesNotMatch(svg, /NaN|Infinity/);
  const wide = scalingSvg(STUDY, { width: 1440, height: 880 }, DARK);
  assert.match(wide, /width="1440" height="880" viewBox="0 0 1440 880"[^>]*><g transform="scale\(2\)">/);
  assert.match(wide, /<circle [^>]*fill="#4CA6E0"/);
});
