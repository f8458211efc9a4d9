import assert from 'node:assert/strict';
import { test } from 'node:test';
import { report } from '../../src/judge/report.ts';
import { finding, ids, outcome, single } from '../made/findings.ts';
import { killedNode, START } from '../made/report-jobs.ts';
import { reportText } from '../made/report-text.ts';

process.env.TZ = 'UTC';

test('a poor recording lowers the confidence of what was counted exactly, too, but not of what the scheduler said', () => {
  // c4 never recorded and c2 fell silent: grade D
  const { findings, quality } = report(killedNode());
  assert.equal(quality.grade, 'D');
  const sure = Object.fromEntries(findings.map((f) => [f.id, `${f.confidence}: ${f.confidence_reason}`]));
  assert.equal(sure['node-lost'], 'high: the scheduler says so too');
  const jobMaterial = single({ busy: 6 });
  assert.equal(finding(jobMaterial, 'cpu-underused').confidence, 'high');
  jobMaterial.nodes[0]!.tables.get('loadavg')!.rows = 1000;
  assert.equal(report(jobMaterial).quality.grade, 'D');
  const low = finding(jobMaterial, 'cpu-underused');
  assert.deepEqual([low.confidence, low.confidence_reason], ['low', 'large parts of the recording are missing']);
  assert.equal(finding(jobMaterial, 'recording-gaps').confidence, 'high');
});

test('recording-quality: a recording of half of the job’s time', () => {
  const halfRecorded = single({ gpus: [{ busy: 90 }, { busy: 0 }] }, { end: START + 7200e6 });
  const { text, severity, advice } = finding(halfRecorded, 'recording-quality');
  assert.equal(text, '50 % of the job’s time was recorded: other findings are of medium confidence at most');
  assert.equal(severity, 'info');
  assert.match(advice, /tacho run does both/);
  assert.equal(finding(halfRecorded, 'gpu-unused').confidence, 'medium');
  assert.equal(outcome(single(), 'recording-quality')?.outcome, 'fine');
});

test('recording-quality: lost files', () => {
  const unread = [{ node: 'c1', table: 'disk', file: 'disk.csv', why: 'it is missing', whole: true, lines: 0 }];
  const reported = { ...single(), unread, damage: ['node=c1/disk.csv: it is missing'] };
  const { text, severity, evidence } = finding(reported, 'recording-quality');
  assert.equal(text, '1 file of the recording cannot be used: other findings are of medium confidence at most');
  assert.equal(severity, 'warning');
  assert.deepEqual(
    evidence.map((e) => e.text),
    ['grade C: damaged files', 'node=c1/disk.csv: it is missing'],
  );
});

test('recording-quality: a job that was hardly sampled', () => {
  const jobMaterial = single({ wall: 300 }, { interval_seconds: 60 });
  assert.equal(
    finding(jobMaterial, 'recording-quality').text,
    '5 min 00 s were sampled every 1 min 00 s: too seldom to see what happened in between',
  );
  // half a minute has few ticks at any interval that people use
  assert.ok(!ids(single({ wall: 50 }, { interval_seconds: 10 })).includes('recording-quality'));
});

test('checks that lack the same thing are one line on the card, and each its own with --all', () => {
  const jobReport = report(single());
  jobReport.checks = ['swapping', 'waiting for files', 'small reads and writes', 'slow disks'].map((title, i) => ({
    id: `check-${i}`,
    title,
    outcome: 'unmeasurable',
    why: i < 3 ? 'the table process was not recorded' : 'disk.reads was not recorded',
  }));
  jobReport.unmeasured = jobReport.checks.map(({ title, why }) => ({ what: title, why: why! }));
  const cardPart = (all: boolean): string =>
    reportText([jobReport], { all }).split('\nNot measured\n')[1]!.split('\n\n')[0]!;
  assert.equal(
    cardPart(false),
    '  - swapping, waiting for files and small reads and writes: the table process\n' +
      '    was not recorded\n  - slow disks: disk.reads was not recorded',
  );
  assert.equal(cardPart(true).split('\n').length, 4);
  jobReport.unmeasured = Array.from({ length: 40 }, (_, i) => ({ what: `table ${i}`, why: 'it cannot be read' }));
  assert.match(cardPart(false), /table 4: it cannot be read\n {2}- and 35 more \(--all shows them\)$/);
  assert.equal(cardPart(false).split('\n').length, 6);
});
