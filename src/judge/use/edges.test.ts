import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../../../test/make-recording.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import { cgroupTable } from '../../sources/cgroup/table.ts';
import { loadavg } from '../../sources/host/loadavg.ts';
import { gather } from '../facts/gather.ts';
import { report } from '../report.ts';
import type { Report } from '../report-schema.ts';

/** A job of 25 s whose agent samples from one second of it to another, one CPU busy all that time. */
async function recorded(from: number, to: number, more: Partial<AgentRecord> = {}, wall = 25): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ end: START + wall * 1e6 })));
  const seconds = Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const rows = (row: (second: number) => Omit<Row, 'time'>): Row[] =>
    seconds.map((second) => ({ time: START + second * 1e6, ...row(second) }) as Row);
  await appendRows(
    nodePath,
    cgroupTable,
    rows((t) => ({ cgroup: '.', usage_us: t * 1e6, memory_current_bytes: 1e6 * t })),
  );
  await appendRows(
    nodePath,
    loadavg.table,
    rows((t) => ({ load1: t })),
  );
  const record = agentOf('c1', [cgroupTable, loadavg.table], {
    service: true,
    service_start: START - 60e6,
    scope: { members: 'cgroup', cgroup: '/job_17', cgroup_shared: false },
    first_sample: START + from * 1e6,
    last_sample: START + to * 1e6,
    end: START + to * 1e6,
    ticks: seconds.length,
    ...more,
  });
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(record));
  return folder;
}

const reportOf = (folder: string): Report => report(gather(openRecording(folder)));

test('what was recorded behind the job’s end is in none of its figures, and the card says so', async () => {
  const folder = await recorded(0, 1100);
  for (const when of ['live', 'sealed']) {
    const jobReport = reportOf(folder);
    assert.equal(jobReport.summary.cpu_seconds, 25, when);
    assert.equal(jobReport.nodes[0]!.load_max, 25, when);
    assert.equal(jobReport.nodes[0]!.memory_peak_bytes, 25e6, when);
    assert.equal(jobReport.quality.job_share, 1, when);
    const note = jobReport.unmeasured.find(({ what }) => what.includes('after the job’s end'))!;
    assert.match(note.what, /c1 recorded for 17(:55| min).* after the job’s end: it does not count/);
    sealRecording(openRecording(folder));
  }
});

test('an agent that hears of the end a moment later records as it always did', async () => {
  const jobReport = reportOf(await recorded(0, 28));
  assert.equal(jobReport.summary.cpu_seconds, 28);
  assert.ok(!jobReport.unmeasured.some(({ what }) => what.includes('after the job’s end')));
});

test('a job whose agent came after its end is recorded to 0 %', async () => {
  const { quality } = reportOf(await recorded(27, 30, { service_start: START + 26e6 }));
  assert.equal(quality.job_share, 0);
  assert.equal(quality.grade, 'D');
  assert.ok(
    quality.reasons.some((reason) => /^0 % of the job’s time recorded/.test(reason)),
    quality.reasons.join(),
  );
});

test('of a node that no agent was running on the card says so', async () => {
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ state: 'failed', exit_code: 3 })));
  const why = 'no agent was running on this node while the job ran';
  const record = agentOf('c1', [], { service: true, ticks: 0, end_reason: why });
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(record));
  const { nodes, quality, summary, job } = reportOf(folder);
  assert.deepEqual([nodes[0]!.status, nodes[0]!.reason], ['never recorded', why]);
  assert.deepEqual([quality.grade, quality.ticks, job.exit_code], ['D', 0, 3]);
  assert.equal(summary.cpu_seconds, undefined);
});
