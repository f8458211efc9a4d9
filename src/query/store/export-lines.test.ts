import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { exportLineParser } from './export-lines.ts';

const parseExportLine = exportLineParser();

test('a line comes back with its labels, values and times', () => {
  const sample = fc.tuple(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer({ min: 0, max: 4_000_000_000_000 }),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.string()), fc.array(sample), (labels, samples) => {
      const metric = JSON.parse(JSON.stringify(labels));
      const values = samples.map(([value]) => value);
      const timestamps = samples.map(([, time]) => time);
      const series = parseExportLine(JSON.stringify({ metric, values, timestamps }));
      assert.deepEqual(series.labels, metric);
      // JSON has no -0
      assert.deepEqual(
        [...series.values],
        values.map((value) => value + 0),
      );
      assert.deepEqual([...series.times], timestamps);
    }),
  );
});

test('what is no number is missing, infinities are what they are', () => {
  const line = '{"metric":{"__name__":"up"},"values":[null,"NaN","Infinity","-Infinity",1],"timestamps":[1,2,3,4,5]}';
  assert.deepEqual([...parseExportLine(line).values], [Number.NaN, Number.NaN, Infinity, -Infinity, 1]);
});

test('any other text is refused with a reason, never with another error', () => {
  const whole = '{"metric":{"__name__":"up"},"values":[1,2],"timestamps":[1,2]}';
  for (let cut = 0; cut < whole.length; cut++) assert.throws(() => parseExportLine(whole.slice(0, cut)), /not JSON/);
  assert.throws(() => parseExportLine('{"metric":{},"values":[1],"timestamps":[]}'), /1 values and 0 timestamps/);
  assert.throws(() => parseExportLine('{"metric":{"a":1},"values":[],"timestamps":[]}'), /no labels/);
  assert.throws(() => parseExportLine('{"metric":{},"values":[1],"timestamps":["x"]}'), /timestamp is not a number/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      try {
        parseExportLine(text);
      } catch (error) {
        assert.equal((error as Error).name, 'Fault');
      }
    }),
  );
});
