import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agent, job, material, node, START, span } from '../../../test/made/report-jobs.ts';
import { count, line, series, table } from '../../../test/made/report-statistics.ts';
import { report } from '../report.ts';
import { steadyGrowth } from './processes.ts';

test('a process that a tick found gone was there a tick earlier: it was as busy as it was while it was seen', () => {
  const at = (seconds: number): number => START + seconds * 1e6;
  const lifetime = span(60, 10);
  const reported = (rows: [first: number, last: number], state: string) => {
    const sampledSpan = { ...lifetime, start: at(rows[0]), end: at(rows[1]) };
    const used = { ...count(sampledSpan, 9000), first: 9000 };
    const row = series(sampledSpan, { pid: '7', start: String(at(1) / 1000) }, { user_ms: used }, { state });
    const c1 = node('c1', agent('c1', lifetime, { interval_seconds: 10 }), [table('process', [row])]);
    const { seconds, cpu_seconds, cpus_busy } = report(material(job(60, { interval_seconds: 10 }), [c1])).processes[0]!;
    return [seconds, cpu_seconds, cpus_busy];
  };
  // seen at 10, 20 and 30 s, gone at 40
  assert.deepEqual(reported([10, 40], 'X'), [29, 9, 9 / 29]);
  // seen at 10 s alone
  assert.deepEqual(reported([10, 20], 'X'), [9, 9, 1]);
  assert.deepEqual(reported([10, 14], 'X'), [9, 9, 1]);
});

test('memory that grew until a process ended did so, though its last sample has none', () => {
  const lifetime = span(600);
  const sampledSeries = series(lifetime, { pid: '7', start: '0' }, {});
  const grew = line(lifetime, 0, 6e8);
  assert.equal(steadyGrowth(grew, sampledSeries), 1e6);
  assert.equal(steadyGrowth({ ...grew, last: 0, max_time: START + 599e6 }, sampledSeries), 1e6);
  assert.equal(steadyGrowth({ ...grew, last: 0, max_time: START + 500e6 }, sampledSeries), undefined);
  assert.equal(steadyGrowth({ ...grew, last: 3e8 }, sampledSeries), undefined);
});
