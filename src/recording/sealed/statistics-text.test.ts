import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { SeriesStatistics } from './statistics.ts';
import type { StatisticsFile } from './statistics-file.ts';
import { parseStatistics, statisticsText } from './statistics-text.ts';

const figure = fc.constantFrom(0, 1, 7, 0.1, 1e300, Number.NaN);
const rate = fc.record({
  ...{ min: figure, max: figure, max_time: figure, mean: figure, p05: figure, p50: figure, p95: figure },
});
const figures = {
  ...{ count: figure, missing: figure, first: figure, last: figure, min: figure, max: figure, max_time: figure },
  ...{ mean: figure, deviation: figure, p05: figure, p25: figure, p50: figure, p75: figure, p95: figure },
};
const gauge = fc.record({ ...figures, integral: figure });
const counter = fc.record({ ...figures, increase: figure, rate: fc.option(rate, { nil: undefined }) });
const columns = fc
  .record({ a: gauge, b: counter, c: fc.record(figures) }, { requiredKeys: [] })
  .map((all) => JSON.parse(JSON.stringify(all)));
const series = fc.record({
  keys: fc.constantFrom({ gpu: '0' }, { gpu: '1' }),
  start: figure,
  end: figure,
  samples: figure,
  texts: fc.constantFrom({}, { model: 'ü' }),
  columns,
});

const table = (series: SeriesStatistics[]): StatisticsFile => ({
  ...{ table: 'gpu', rows: 9, start: 1, end: 2, series, series_total: series.length },
});

test('nothing is lost on the way through a file', () => {
  fc.assert(
    fc.property(fc.array(series), (all) => {
      const full = table(all as SeriesStatistics[]);
      const whole = JSON.stringify(full);
      const text = statisticsText(full);
      assert.equal(JSON.stringify(full), whole, 'what is in memory stays as it is');
      assert.deepEqual(parseStatistics(text), JSON.parse(whole));
      const some = JSON.parse(whole) as StatisticsFile;
      for (const { columns } of some.series) delete columns.b;
      assert.deepEqual(parseStatistics(text, { columns: new Set(['a', 'c', 'unknown']) }), some, 'only wanted columns');
    }),
  );
});

const still = { count: 3, missing: 0, first: 5, last: 5, min: 5, max: 5, max_time: 10, mean: 5, deviation: 0 };
const size = { ...still, p05: 5, p25: 5, p50: 5, p75: 5, p95: 5, integral: 10 };
const disk = (name: string, columns: SeriesStatistics['columns']): SeriesStatistics => ({
  ...{ keys: { disk: name }, start: 10, end: 12, samples: 3, texts: {}, columns },
});

test('what all series have in common stands there once, and a column that never changes is its value', () => {
  const text = statisticsText(
    table([disk('sda', { size }), disk('sdb', {}), disk('sdc', { size: { ...size, max: 6 } })]),
  );
  assert.deepEqual(
    text.split('\n').map((line) => line && JSON.parse(line)),
    [
      {
        ...{ table: 'gpu', rows: 9, start: 1, end: 2, series_total: 3 },
        series: { count: 3, keys: { disk: ['sda', 'sdb', 'sdc'] }, start: 10, end: 12, samples: 3, texts: {} },
        columns: ['size'],
      },
      { column: 'size', of: [0, 2], min: 5, max: [5, 6], integral: 10 },
      { column: 'size' },
      '',
    ],
  );
});

test('deviations and percentiles come where they are wanted', () => {
  const rate = { min: 1, max: 2, max_time: 11, mean: 1, p05: 1, p50: 2, p95: 2 };
  const read = { ...size, p50: 6, increase: 2, rate };
  const text = statisticsText(table([disk('sda', { size, read }), disk('sdb', { size })]));
  const parsedStatistics = parseStatistics(text, { spread: new Set(['size']) });
  const none = {
    deviation: Number.NaN,
    p05: Number.NaN,
    p25: Number.NaN,
    p50: Number.NaN,
    p75: Number.NaN,
    p95: Number.NaN,
  };
  const noRates = { ...rate, p05: Number.NaN, p50: Number.NaN, p95: Number.NaN };
  assert.deepEqual(
    parsedStatistics?.series.map(({ columns }) => columns),
    [{ size, read: { ...read, ...none, rate: noRates } }, { size }],
  );
});

test('damaged lines are not used', () => {
  const text = statisticsText(table([disk('sda', { size }), disk('sdb', { size })]));
  const [head, line, spread] = text.split('\n') as [string, string, string];
  const parsed = (...lines: string[]): unknown => parseStatistics(`${lines.join('\n')}\n`);
  assert.notEqual(parsed(head, line, spread), undefined);
  const figures = [
    '"min":"5"',
    '"min":[5]',
    '"of":[2],"min":5',
    '"of":7,"min":5',
    '"max":5',
    '"min":5,"rate":{"max":1}',
  ];
  for (const damaged of figures) assert.equal(parsed(head, `{"column":"size",${damaged}}`, spread), undefined, damaged);
  assert.equal(parsed(head, line), undefined, 'a line is missing');
  assert.equal(parsed(head, line.replace('size', 'other'), spread), undefined, 'of another column');
  assert.equal(parsed(head, line, spread.replace('size', 'other')), undefined, 'of another column');
  assert.equal(parsed(head.replace('"count":2', '"count":3'), line, spread), undefined);
  assert.equal(
    parsed(head.replace('"count":2', '"count":1e9').replace('["sda","sdb"]', '"sda"'), line, spread),
    undefined,
  );
});
