import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finding, ids, outcome, single } from '../../../test/made/findings.ts';
import { span } from '../../../test/made/report-jobs.ts';
import { count } from '../../../test/made/report-statistics.ts';
import { report } from '../report.ts';

/** What is said of short jobs. */

test('a tick that is missing is a large part of a short recording, and no gap', () => {
  const short = (rows: number) => {
    const jobMaterial = single({ wall: 20 });
    jobMaterial.nodes[0]!.tables.get('loadavg')!.rows = rows;
    return jobMaterial;
  };
  const { expected_ticks: all } = report(short(20)).quality;
  assert.equal(outcome(short(all - 2), 'recording-gaps')?.outcome, 'fine');
  assert.match(finding(short(all - 3), 'recording-gaps').text, /% of the ticks were sampled$/);
  // at five samples a second it takes a second of them
  const often = (missing: number) => {
    const jobMaterial = single({ wall: 10 });
    jobMaterial.job.interval_seconds = 0.2;
    jobMaterial.nodes[0]!.agent!.interval_seconds = 0.2;
    jobMaterial.nodes[0]!.tables.get('loadavg')!.rows = report(jobMaterial).quality.expected_ticks - missing;
    return jobMaterial;
  };
  assert.equal(outcome(often(4), 'recording-gaps')?.outcome, 'fine');
  assert.equal(finding(often(5), 'recording-gaps').text, '90 % of the ticks were sampled');
});

test('nobody changes a program for two seconds of waiting for files', () => {
  const waits = (seconds: number, wall: number): string[] =>
    ids(single({ wall, more: { io_stalled_us: count(span(wall), seconds * 1e6) } }));
  assert.deepEqual(waits(2, 5), []);
  assert.deepEqual(waits(3.1, 5), ['io-wait']);
  assert.deepEqual(waits(3.1, 50), []);
});

test('a GPU that its library calls lost is lost, however soon the job ends', () => {
  const jobMaterial = single({ wall: 10, gpus: [{ busy: 90 }, { busy: 90 }] });
  assert.deepEqual(ids(jobMaterial), []);
  const why = 'lost at 2026-11-15T20:49:20.000Z: GPU is lost';
  jobMaterial.nodes[0]!.agent!.unmeasured = [{ table: 'gpu', what: 'GPU 1', why }];
  assert.equal(finding(jobMaterial, 'gpu-lost').text, '1 GPU failed while the job ran: c1 GPU 1');
});

test('from which length on waste is judged is for the configuration to say', () => {
  const judged = (wall: number, shortest?: number): string[] => {
    const settings =
      shortest === undefined ? undefined : { thresholds: new Map(), off: new Map(), shortest_seconds: shortest };
    return report(single({ wall, busy: 3 }), settings).findings.map(({ id }) => id);
  };
  assert.deepEqual([judged(29), judged(31)], [[], ['cpu-underused']]);
  assert.deepEqual([judged(9, 10), judged(11, 10), judged(31, 60)], [[], ['cpu-underused'], []]);
});
