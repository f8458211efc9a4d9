import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diskTable, loadTable, makeRecording } from '../../test/make-recording.ts';
import { draw } from '../charts/draw.ts';
import { filtered, metricCharts } from '../charts/metric-charts.ts';
import { gather } from '../judge/facts/gather.ts';
import { openRecording } from '../recording/folder/open.ts';
import { intervalCsv, intervalJson, intervalTable, intervalText } from './interval-table.ts';

const UTC = (micros: number): string => new Date(micros / 1000).toISOString().slice(11, 19);

test('means of each interval, averages, and names that are shortened', async () => {
  const material = gather(openRecording(await makeRecording({ seconds: 40 })));
  const [chart] = metricCharts(material, loadTable.name, ['load']);
  const drawing = draw(material, chart!, { step: 20e6 })!;
  const table = intervalTable('17', 'load', [drawing]);
  const values = table.rows.map(({ values: [value] }) => value);
  // the load of second t is t / 4
  const mean = (from: number, to: number): number => (from + to - 1) / 8;
  assert.equal(values.at(-1) !== null, true);
  const begin = drawing.from;
  const first = (material.job.start - begin) / 1e6;
  assert.ok(Math.abs(values[0]! - mean(0, 20 - first)) < 0.01, `${values}`);
  assert.match(intervalText(table, 80, UTC), /^time +node +load1\n(.*\n)+\naverage +c1 +[\d.]+\n$/);
  assert.equal(intervalCsv(table).split('\n')[0], 'time,node,load1');
  assert.deepEqual(JSON.parse(intervalJson(table)).units, { load1: '' });
});

test('series are chosen by their keys; counters are rates', async () => {
  const material = gather(openRecording(await makeRecording({ seconds: 40 })));
  const [chart] = metricCharts(material, diskTable.name, ['read_bytes']);
  const drawing = draw(material, chart!, { step: 10e6 })!;
  const names = drawing.series.map(({ key }) => key);
  assert.ok(names.length > 1);
  const one = filtered(drawing, { keys: new Map([['disk', [names[0]!]]]) });
  assert.deepEqual(
    one.series.map(({ key }) => key),
    [names[0]],
  );
  assert.deepEqual(intervalTable('17', 'disk', [one]).columns, [{ name: 'read_bytes', unit: 'bytes/s' }]);
  assert.throws(() => metricCharts(material, diskTable.name, ['reed']), /no column "reed"/);
});
