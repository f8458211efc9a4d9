import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as jobs from '../../../test/made/report-jobs.ts';
import { report } from '../../judge/report.ts';

import { arrayOf, programOfJob, summariesOfFindings, summariesOfNodes, summaryOfJob } from './job-summary.ts';

test('the row of a job has the figures of its report, and what follows from them', () => {
  const material = jobs.training();
  const made = report(material);
  const row = summaryOfJob(made, material, 'user=alice/4711');
  assert.equal(row.job, '4711');
  assert.equal(row.recording, 'user=alice/4711');
  assert.equal(row.cpu_use, made.summary.cpu_utilization);
  assert.equal(row.core_hours_wasted, made.summary.core_hours! * (1 - made.summary.cpu_utilization!));
  assert.equal(row.findings, [...new Set(made.findings.map(({ id }) => id))].join(','));
  assert.equal(row.worst, made.findings[0]?.severity);
  assert.equal('gpu_model' in row && row.gpu_model === '', false, 'what is not known is not there');
  const nodes = summariesOfNodes(made);
  assert.deepEqual(
    nodes.map(({ node }) => node),
    made.nodes.map(({ node }) => node),
  );
  for (const { kind, finding } of summariesOfFindings(made)) assert.match(kind ?? '', /^(waste|trouble)$/, finding);
});

test('the program of a script is the one whose processes used most together, however short each was', () => {
  const made = report(jobs.training());
  const program = (name: string, cpu_seconds: number, processes: number) => ({
    ...{ program: name, processes, cpu_seconds, nodes: 1 },
    largest: { node: 'n1', pid: '7', command: `${name} -f x` },
  });
  const script = {
    ...made,
    job: { ...made.job, command: ['bash', 'files.sh'] },
    programs: [program('dd', 9, 400), program('rm', 2, 1)],
    processes: [{ node: 'n1', pid: '9', seconds: 3, source: 'record' as const, command: 'rm -f x' }],
  };
  assert.equal(programOfJob(script), 'dd');
  assert.equal(programOfJob({ ...script, programs: [] }), 'rm');
});

test('the array of a task', () => {
  assert.equal(arrayOf('4711_3'), '4711');
  assert.equal(arrayOf('12[3].server'), '12[].server');
  assert.equal(arrayOf('4711'), undefined);
});
