import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { batchOf } from '../../../test/made/export-recording.ts';
import { diskTable, makeRecording, START } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { bucketsOf } from '../../recording/read/buckets.ts';
import { levelPoints, ratePoints } from '../../recording/read/points.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import { counter, defineTable, gauge } from '../../table/table.ts';
import { series } from './series.ts';

const table = defineTable({
  name: 'meter',
  help: '',
  scope: 'node',
  keys: [],
  columns: [gauge('level', 'count', ''), counter('total', 'count', '')],
});

test('no value of a gauge is lost, and its means have the area of all', () => {
  const samples = fc.array(
    fc.record({ gap: fc.integer({ min: 1, max: 4 }), level: fc.integer({ min: -50, max: 50 }) }),
    {
      minLength: 1,
      maxLength: 200,
    },
  );
  fc.assert(
    fc.property(samples, fc.integer({ min: 1, max: 30 }), (all, seconds) => {
      let time = 1_700_000_000;
      const rows = all.map(({ gap, level }) => {
        time += gap;
        return { time: time * 1e6, level };
      });
      const batch = batchOf(table, rows);
      const buckets = bucketsOf(batch, seconds * 1e6, 1e6);
      const { count, min, mean, max } = levelPoints(batch, batch.numbers.get('level')!, buckets);
      assert.equal(
        count.reduce((a, b) => a + b, 0),
        rows.length,
      );
      assert.equal(Math.max(...max), Math.max(...all.map(({ level }) => level)));
      assert.equal(Math.min(...min), Math.min(...all.map(({ level }) => level)));
      for (let b = 0; b < buckets.length; b++) {
        const own = rows.filter((row) => Math.floor(row.time / (seconds * 1e6)) * seconds * 1e6 === buckets.time[b]);
        assert.equal(own.length, count[b]);
        assert.ok(mean[b]! >= min[b]! && mean[b]! <= max[b]!);
        assert.equal(max[b], Math.max(...own.map(({ level }) => level)));
      }
    }),
  );
});

test('a counter becomes rates: a burst of one sample is the highest, and means are what it grew by', () => {
  const rows = Array.from({ length: 61 }, (_, i) => ({ time: i * 1e6, total: i * 10 + (i >= 35 ? 990 : 0) }));
  const batch = { ...batchOf(table, rows), interval_seconds: 1 };
  const { count, min, mean, max } = ratePoints(batch, batch.numbers.get('total')!, bucketsOf(batch, 20e6, 1e6));
  assert.deepEqual([...count], [19, 20, 20, 1]);
  assert.deepEqual([...max], [10, 1000, 10, 10]);
  assert.deepEqual([...min], [10, 10, 10, 10]);
  assert.deepEqual([...mean], [10, (19 * 10 + 1000) / 20, 10, 10]);
  // one that began again, and a value that is missing
  const again = {
    ...batchOf(
      table,
      [0, 5, Number.NaN, 2, 4].map((total, i) => ({ time: i * 1e6, total })),
    ),
    interval_seconds: 1,
  };
  const rates = ratePoints(again, again.numbers.get('total')!, bucketsOf(again, 1e6, 1e6));
  assert.deepEqual([...rates.mean], [Number.NaN, 5, Number.NaN, 1, 2]);
});

test('a column of a recording, sealed or not: keys, a part of the time, steps of the clock', async () => {
  const folder = await makeRecording({ seconds: 60 });
  const of = (options: Parameters<typeof series>[2]) =>
    series(openRecording(folder).nodes, { table: diskTable.name, name: 'busy_percent' } as never, options);
  const live = of({ step: 30e6 });
  sealRecording(openRecording(folder), { parquet: true });
  assert.deepEqual(of({ step: 30e6 }), live);
  const [sda] = of({ keys: { disk: 'sda' } as never, step: 30e6 });
  // START is 12 s after a full minute
  assert.deepEqual([...sda!.time], [START - 12e6, START + 18e6, START + 48e6]);
  assert.deepEqual([...sda!.count], [18, 30, 12]);
  assert.deepEqual([sda!.min[0], sda!.max[0]], [0.25, 9.25]);
  const [rangeSeries] = of({ keys: { disk: 'sda' } as never, step: 30e6, from: START + 20e6, to: START + 29.5e6 });
  assert.deepEqual([[...rangeSeries!.time], [...rangeSeries!.count]], [[START + 18e6], [10]]);
  assert.ok(of({ points: 6 })[0]!.time.length <= 7);
});
