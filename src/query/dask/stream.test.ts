import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daskRecording } from '../../../test/made/dask-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { daskRun } from './dask-run.ts';
import { daskStream } from './stream.ts';

const [BEFORE, AFTER] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

test('each task of a cluster is drawn in the lane of its thread', async () => {
  const run = daskRun(openRecording(await daskRecording()))!;
  const { lanes, prefixes, tasks, together_below, failed, graphs } = daskStream(run, BEFORE, AFTER, 24);
  assert.deepEqual(
    lanes.map(({ name, thread }) => [name, thread]),
    [
      ['0', 0],
      ['1', 0],
    ],
  );
  assert.equal(together_below, 0);
  assert.equal(failed, 1);
  assert.deepEqual(
    tasks.map(({ prefix, lane, key }) => [prefixes[prefix]!.prefix, lane, key]).filter(([prefix]) => prefix !== 'load'),
    [
      ['sum', 0, 'sum-1'],
      ['fail', 1, 'fail-1'],
    ],
  );
  assert.deepEqual(
    tasks.filter(({ lane }) => lane === 0).map(({ from, to }) => [from - run.from, to - run.from]),
    [...Array.from({ length: 11 }, (_, i) => [i * 5e5, (i + 1) * 5e5]), [5.5e6, 6.5e6]],
  );
  assert.deepEqual(
    graphs.map(({ name, tasks: wanted, done, failed: erred, end }) => [name, wanted, done, erred, end! - run.from]),
    [['sum', 22, 22, 1, 6.5e6]],
  );
  const [first, second] = daskStream(run, run.from + 5.6e6, run.from + 6e6, 24).tasks;
  assert.deepEqual([first!.key, second!.key], ['sum-1', 'fail-1']);
});

test('of too many tasks the short ones are drawn together, and none is left out', async () => {
  // tasks of 10 ms beside two of 1 s: a place for short ones is 1.11 s / 100 wide
  const run = daskRun(openRecording(await daskRecording({ load: 0.01 })))!;
  const { tasks, together_below, prefixes } = daskStream(run, BEFORE, AFTER, 20);
  assert.equal(Number(together_below.toFixed(6)), 0.0111);
  assert.equal(
    tasks.reduce((sum, { count }) => sum + count, 0),
    24,
  );
  const joined = tasks.filter(({ count }) => count > 1);
  assert.ok(joined.length > 0 && joined.every(({ key, prefix }) => key === '' && prefixes[prefix]!.prefix === 'load'));
  assert.deepEqual(
    tasks.filter(({ to, from }) => to - from > 9e5).map(({ key }) => key),
    ['sum-1', 'fail-1'],
  );
  for (const { from, to, count } of joined) assert.ok(to - from <= count * 1e4 + 1);
});

test('of many graphs the first of the time are listed, and all are counted', async () => {
  const run = daskRun(openRecording(await daskRecording()))!;
  const [graph] = run.graphs;
  const graphs = Array.from({ length: 30 }, (_, i) => ({ ...graph!, time: run.from + i * 1e5, dag: i }));
  const whole = daskStream({ ...run, graphs }, BEFORE, AFTER, 24);
  assert.equal(whole.graph_count, 30);
  assert.equal(whole.graphs.length, 20);
  // the tasks are all of the first graph, which ended at 6.5 s: it is over, and others have not begun
  const streamPart = daskStream({ ...run, graphs }, run.from + 7e6, run.from + 8e6, 24);
  assert.deepEqual([streamPart.graph_count, streamPart.graphs[0]!.dag], [29, 1]);
  assert.equal(daskStream({ ...run, graphs }, BEFORE, run.from + 1e5, 24).graph_count, 2);
});
