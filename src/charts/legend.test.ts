import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChartData } from './chart-data.ts';
import { legendOf } from './legend.ts';
import { COLOURS, HEAT, LIGHT } from './option.ts';
import { laneColours } from './plot/option.ts';
import { chartSvg } from './svg.ts';

const series = (names: readonly string[]): ChartData['series'] => names.map((node) => ({ node, mean: [1, 2, 3] }));

function svgOf(as: ChartData['as'], names: readonly string[]): string {
  const band = { min: [1, 2, 3], mean: [1, 2, 3], max: [1, 2, 40], sum: [1, 2, 3] };
  const data = {
    ...{ id: 'gpu', title: 'GPU use', unit: '%', scope: 'job', source: '', from: 0, step: 1e6, as, band },
  };
  const all = { ...data, count: names.length, series: as === 'band' ? [] : series(names) } as ChartData;
  return chartSvg(all, { theme: LIGHT, start: 0 }, { width: 600, height: 200 });
}

/** Names with the colours before them, as a reader of the file sees them. */
const named = (svg: string): [string, string][] =>
  [...svg.matchAll(/<path d="M[^"]+" stroke="(#\w+)"[^>]*><\/path><text [^>]*>([^<]*)<\/text>/g)].map(
    ([, colour, name]) => [name!, colour!],
  );

test('a file with lines names each beside its colour', () => {
  assert.deepEqual(named(svgOf('lines', ['c1', 'c2 <b>'])), [
    ['c1', COLOURS[0]],
    ['c2 &lt;b&gt;', COLOURS[1]],
  ]);
});

test('a file with a heat map shows what its darkest and its brightest colour mean', () => {
  const svg = svgOf('heat', ['c1', 'c2']);
  const [, least, most] = /<rect .*<text [^>]*text-anchor="end"[^>]*>([^<]*)<\/text><text [^>]*>([^<]*)<\/text>/s.exec(
    svg,
  )!;
  assert.deepEqual([least, most], ['0 %', '100 %']);
  assert.equal(
    HEAT.every((colour) => svg.includes(`fill="${colour}"`)),
    true,
  );
});

test('a band says how many series are in it', () => {
  assert.deepEqual(
    named(
      svgOf(
        'band',
        Array.from({ length: 64 }, (_, i) => `c${i}`),
      ),
    ),
    [['minimum, mean and maximum of 64', COLOURS[0]]],
  );
});

test('a legend has three rows at most, and counts who is not named', () => {
  const entries = Array.from({ length: 200 }, (_, i) => ({ name: `node${i}`, colour: '#000000' }));
  const { svg, height } = legendOf(entries, LIGHT, 0, 600);
  assert.equal(height, 42);
  assert.equal(named(svg).length + Number(/and (\d+) more/.exec(svg)![1]), 200);
});

test('lanes that ran the same have the same colour', () => {
  const lanes = ['cc', 'ld', 'cc'].map((program, i) => ({ name: `${program} ${i}`, program, runs: [] }));
  assert.deepEqual(laneColours(lanes, LIGHT), [
    { name: 'cc', colour: COLOURS[0] },
    { name: 'ld', colour: COLOURS[1] },
  ]);
});
