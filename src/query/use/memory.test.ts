import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BEGAN, type Told, testSet } from '../../../test/made/processes.ts';
import { agent, job, material, node, START, span } from '../../../test/made/report-jobs.ts';
import { level, series, table } from '../../../test/made/report-statistics.ts';
import { memoryOf } from './memory.ts';

const MIB = 2 ** 20;

interface Sampled {
  start: number;
  /** MiB that it had in every row, the first and last of them at these seconds. */
  rss: number;
  rows: [number, number];
}

/** Seconds `from` to `to` of a job of 100 that is sampled every 10 s; `rssmax` of records is in MiB. */
function memory(
  processRows: readonly (Told & { rssmax: number })[],
  sampled: Record<number, Sampled>,
  from: number,
  to: number,
) {
  const later = (seconds: number): number => seconds + (START - BEGAN) / 1e6;
  const processes = testSet(
    processRows.map(({ rssmax, ...one }) => ({
      ...one,
      from: later(one.from!),
      to: later(one.to!),
      metrics: { rssmax: rssmax * 1024 },
    })),
  );
  const rows = Object.entries(sampled).map(
    ([
      pid,
      {
        start,
        rss,
        rows: [first, last],
      },
    ]) => {
      const sampledSpan = { start: START + first * 1e6, end: START + last * 1e6, samples: (last - first) / 10 + 1 };
      const columns = { rss_bytes: level(sampledSpan, rss * MIB), rss_peak_bytes: level(sampledSpan, rss * MIB) };
      return series(sampledSpan, { pid, start: String(START / 1000 + start * 1000) }, columns);
    },
  );
  const record = agent('c1', span(100, 10), { scope: { members: 'tree' }, interval_seconds: 10 });
  const c1 = node('c1', record, [table('process', rows)]);
  const range = { what: 'the time asked for', from: START + from * 1e6, to: START + to * 1e6 };
  const points = rows.map(({ keys, start, end }) => {
    return { pid: keys.pid!, start: keys.start!, times: [start, end], used: [0, 0] };
  });
  const samples = new Map([['c1', { series: new Map(), processes: points, damage: [] }]]);
  const facts = job(100, { interval_seconds: 10 });
  const whole = material(facts, [c1], { processes, samples });
  const memoryUse = memoryOf(material(facts, [c1], { range, whole }), c1);
  return memoryUse && [memoryUse.bytes / MIB, memoryUse.source];
}

const shell = { pid: 1, from: 0, to: 100, cpu: 0.1, rssmax: 3 };
const sampledShell: Sampled = { start: 0, rss: 3, rows: [0, 100] };

test('the memory of a part has that of processes which no sample saw in it', () => {
  const burn = { pid: 2, from: 12, to: 14, cpu: 1, rssmax: 80 };
  assert.deepEqual(memory([shell, burn], { 1: sampledShell }, 11, 19), [83, 'processes']);
  // it ended before
  assert.deepEqual(memory([shell, burn], { 1: sampledShell }, 15, 19), [3, 'process']);
});

test('of one that may have been large beside the part, only an upper bound is known', () => {
  const burn = { pid: 2, from: 12, to: 17, cpu: 1, rssmax: 80 };
  assert.deepEqual(memory([burn], {}, 15, 19), [80, 'processes']);
  assert.deepEqual(memory([burn], {}, 11, 19), [80, 'process']);
});

test('processes that lived together only beside the part are not added up', () => {
  const early = { pid: 2, from: 12, to: 15, cpu: 1, rssmax: 80 };
  const late = { pid: 3, from: 14, to: 18, cpu: 1, rssmax: 20 };
  assert.deepEqual(memory([early, late], {}, 11, 19), [100, 'processes']);
  assert.deepEqual(memory([early, late], {}, 16, 19), [20, 'processes']);
});

test('one that was sampled in the part has what it had then, and what it came to before it ended', () => {
  const long = { pid: 2, from: 1, to: 99, cpu: 1, rssmax: 80 };
  const sampledProcess: Sampled = { start: 1, rss: 10, rows: [40, 60] };
  assert.deepEqual(memory([long], { 2: sampledProcess }, 40, 62), [10, 'process']);
  assert.deepEqual(memory([{ ...long, to: 65 }], { 2: sampledProcess }, 40, 70), [80, 'process']);
});
