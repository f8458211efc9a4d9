import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseOmnistatCsv } from './csv.ts';

const HEAD = 'metric,rocm_utilization_percentage,rocm_utilization_percentage\ninstance,n1,n2\ncard,0,10\ntimestamp,,\n';

test('every column is a series, with the header rows as labels', () => {
  const parsedSeries = parseOmnistatCsv(`${HEAD}2026-03-02 08:00:00,99.5,\n2026-03-02 08:00:00.500,,7\n`, 'a.csv');
  assert.deepEqual(
    parsedSeries.map(({ labels }) => labels),
    [
      { __name__: 'rocm_utilization_percentage', instance: 'n1', card: '0' },
      { __name__: 'rocm_utilization_percentage', instance: 'n2', card: '10' },
    ],
  );
  assert.deepEqual([...parsedSeries[0]!.times], [1772438400000, 1772438400500]);
  assert.deepEqual([...parsedSeries[0]!.values], [99.5, Number.NaN]);
  assert.deepEqual([...parsedSeries[1]!.values], [Number.NaN, 7]);
});

test('four header rows are read as well as three', () => {
  const text = `metric,a,a\ninstance,n1,n1\ndevice_class,net,cxi\ninterface,eth0,hsn0\ntimestamp,,\n2026-03-02 08:00:00,1,2\n`;
  assert.deepEqual(parseOmnistatCsv(text, 'a.csv')[1]!.labels, {
    __name__: 'a',
    instance: 'n1',
    device_class: 'cxi',
    interface: 'hsn0',
  });
});

test('what is cut off or something else is refused, with its line', () => {
  assert.throws(() => parseOmnistatCsv('a,b\n1,2\n', 'a.csv'), /a.csv is not a file that Omnistat exports/);
  assert.throws(() => parseOmnistatCsv('', 'a.csv'), /not a file that Omnistat exports/);
  assert.throws(() => parseOmnistatCsv(`${HEAD}2026-03-02 08:0`, 'a.csv'), /line 5: it has 1 cells, not 3/);
  assert.throws(() => parseOmnistatCsv(`${HEAD}yesterday,1,2\n`, 'a.csv'), /line 5: "yesterday" is no moment/);
  fc.assert(
    fc.property(fc.string(), fc.nat({ max: HEAD.length }), (noise, at) => {
      try {
        parseOmnistatCsv(HEAD.slice(0, at) + noise + HEAD.slice(at), 'a.csv');
      } catch (error) {
        assert.equal((error as Error).name, 'Fault');
      }
    }),
  );
});
