import assert from 'node:assert/strict';
import { test } from 'node:test';
import { report } from '../../src/judge/report.ts';
import { reportSchema } from '../../src/judge/report-schema.ts';
import type { Job } from '../../src/recording/folder/job.ts';
import { reportJson } from '../../src/show/report/json.ts';
import { meters } from '../../src/show/report/meters.ts';
import { agent, cgroup, job, material, node, START, span } from '../made/report-jobs.ts';
import { reportText } from '../made/report-text.ts';

const GIB = 2 ** 30;

test('while a job runs, a node that nothing comes from is silent: its samples may wait there', () => {
  const reportOf = (job_: Partial<Job>, others: number[] = []) => {
    const { end: _, ...facts } = job(40, { state: 'running', asked: { time_limit_seconds: 3600 }, ...job_ });
    facts.nodes = ['c3', ...others.map((_, i) => `c${i + 4}`)];
    const nodes = [4.5, ...others].map((seconds, i) => {
      const sampledSpan = span(seconds);
      const { end: __, end_reason: ___, ...record } = agent(facts.nodes[i]!, sampledSpan, { service: true });
      return node(record.node, record, [cgroup(sampledSpan, 1, GIB)]);
    });
    const jobReport = report(material(facts, nodes, { now: START + 40e6 }));
    reportSchema.parse(JSON.parse(reportJson([jobReport])));
    return jobReport;
  };
  const alone = reportOf({ running_at: START + 40e6 });
  const lost = alone.findings.find(({ id }) => id === 'node-lost')!;
  assert.equal(alone.nodes[0]!.status, 'silent');
  assert.match(lost.text, /^Nothing has come from c3 since \d{4}-/);
  assert.match(lost.evidence[0]!.text, /may wait there until the hub can be reached; or its agent was killed/);
  assert.doesNotMatch(reportText([alone]), /stopped/);
  assert.equal(meters(alone)[0]!.text, '40.0 s so far of 1 h 00 min');
  assert.deepEqual([alone.summary.wall_source, alone.quality.nodes_silent], ['scheduler', ['c3']]);
  assert.deepEqual(alone.quality.reasons.slice(0, 1), ['nothing comes from c3 now']);
  assert.equal(alone.findings.length, 1, 'the ticks that are missing are explained');
  // nobody was asked: it ran as long as anything is known of it
  assert.equal(reportOf({}).summary.wall_seconds, 4.5);
  // the others know
  const one = reportOf({ running_at: START + 40e6 }, [38]);
  assert.deepEqual([one.summary.wall_seconds, one.nodes.map(({ status }) => status)], [38, ['silent', 'recording']]);
  const two = reportOf({ running_at: START + 40e6 }, [6, 38]).findings.find(({ id }) => id === 'node-lost')!;
  assert.equal(two.text, 'Nothing comes from 2 of 3 nodes just now: c3 and c4');
  // that the scheduler took it is known
  const taken = reportOf({ taken_nodes: { c3: START + 6e6 } }).nodes[0]!;
  assert.deepEqual([taken.status, taken.taken], ['stopped early', START + 6e6]);
});

test('of a job that ended while a node could not reach the hub, the rest may still come', () => {
  const reported = (service: boolean, state: Job['state'] = 'completed', others: number[] = [40]) => {
    const facts = job(40, { state, nodes: ['c3', ...others.map((_, i) => `c${i + 4}`)] });
    const nodes = [10, ...others].map((seconds, i) => {
      const sampledSpan = span(seconds);
      const record = agent(facts.nodes[i]!, sampledSpan, service ? { service } : {});
      if (seconds < 40) for (const end of ['end', 'end_reason'] as const) delete record[end];
      return node(record.node, record, [cgroup(sampledSpan, 1, GIB)]);
    });
    const jobReport = report(material(facts, nodes, { now: START + 3600e6 }));
    const { text, advice } = jobReport.findings.find(({ id }) => id === 'node-lost')!;
    return [
      jobReport.nodes[0]!.status,
      text,
      /afterwards is not known/.test(advice),
      /what waits on a node/.test(advice),
    ];
  };
  const since = 'Nothing has come from c3 since 2026-11-15 20:49:22 UTC, 30.0 s before the end';
  const stopped = 'c3 stopped after 10.0 s, 30.0 s before the end';
  assert.deepEqual(reported(true), ['stopped early', since, false, true]);
  assert.deepEqual(reported(true, 'completed', [12]).slice(1), [
    '2 of 2 nodes have sent nothing of the job’s end: c3 and c4',
    false,
    true,
  ]);
  // an agent that writes into the recording itself keeps nothing back
  assert.deepEqual(reported(false), ['stopped early', stopped, true, false]);
  assert.deepEqual(reported(true, 'node_fail'), ['stopped early', stopped, false, false]);
});
