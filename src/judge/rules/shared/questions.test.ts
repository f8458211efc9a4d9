import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { testSet } from '../../../../test/made/processes.ts';
import { agent, job, material, node, span } from '../../../../test/made/report-jobs.ts';
import { count, level, series, table } from '../../../../test/made/report-statistics.ts';
import { agentOf, appendRows, jobOf, START, temporary } from '../../../../test/make-recording.ts';
import { openRecording } from '../../../recording/folder/open.ts';
import { cgroupTable, processTable } from '../../../sources/tables.ts';
import { gather } from '../../facts/gather.ts';
import { questionsOf } from './questions.ts';

/** A minute: one CPU busy in the first half, three in the second. */
async function recorded(): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, 'node=c1');
  const rows = Array.from({ length: 61 }, (_, t) => ({
    time: START + t * 1e6,
    cgroup: '.',
    usage_us: (t <= 30 ? t : 30 + (t - 30) * 3) * 1e6,
  }));
  await appendRows(nodePath, cgroupTable, rows);
  fs.writeFileSync(
    path.join(nodePath, 'agent.json'),
    JSON.stringify(agentOf('c1', [cgroupTable], { scope: { members: 'cgroup', cgroup: '/job_17' } })),
  );
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ nodes: ['c1'] })));
  return folder;
}

test('a rule sees what a column did over time, and of a part of the job only that', async () => {
  const folder = await recorded();
  const busy = (range: { from?: number }) => {
    const { series } = questionsOf(gather(openRecording(folder), range));
    const [firstSeries, ...others] = series(cgroupTable.col.usage_us, { keys: { cgroup: '.' }, step: 10e6 });
    assert.deepEqual(others, []);
    return [firstSeries!.mean[0]! / 1e6, firstSeries!.mean.at(-1)! / 1e6];
  };
  assert.deepEqual(busy({}), [1, 3]);
  assert.deepEqual(busy({ from: START + 40e6 }), [3, 3]);
  const { series } = questionsOf(gather(openRecording(folder)));
  assert.deepEqual(series(cgroupTable.col.usage_us, { keys: { cgroup: 'user' } }), []);
});

test('a rule asks what was used between two moments, and how sure that is', async () => {
  const { use } = questionsOf(gather(openRecording(await recorded())));
  const used = use('CPU', START + 10e6, START + 40.5e6)!;
  // between the samples at 40 s and 41 s three CPUs worked
  assert.deepEqual([used.amount, used.seconds], [20 + 31.5, 30.5]);
  assert.deepEqual([used.low, used.high], [20 + 30, 20 + 33]);
  assert.equal(use('energy', START, START + 60e6), undefined);
});

test('a rule sees every process: as it recorded itself, else as it was sampled; and what texts said last', () => {
  const lifetime = span(60);
  const one = (pid: string, command: string, cpu: number) =>
    series(
      lifetime,
      { pid, start: String(lifetime.start / 1000) },
      {
        user_ms: count(lifetime, cpu * 1000),
        system_ms: count(lifetime, 0),
        ppid: level(lifetime, pid === '5' ? 1 : 5),
      },
      { name: command.split(' ')[0]!, command, allowed_cpus: '0-1' },
    );
  const rows = [one('5', 'sh job.sh', 0), one('6', './solve 1', 40)];
  const jobMaterial = material(job(60), [node('c1', agent('c1', lifetime), [table('process', rows)])]);
  const { allProcesses, allThreads, texts } = questionsOf(jobMaterial);
  const set = allProcesses()!;
  assert.deepEqual([...set.pid], [5, 6]);
  assert.deepEqual([...set.cpu_time], [0, 40e6]);
  assert.deepEqual([...set.parent], [-1, 0]);
  assert.equal(allProcesses(), set);
  assert.equal(allThreads(), undefined);
  assert.deepEqual(texts(processTable.col.allowed_cpus, { pid: '6' }), [
    { node: 'c1', keys: rows[1]!.keys, text: '0-1', end: lifetime.end },
  ]);
  const recorded = testSet([{ pid: 9, cpu: 1 }]);
  assert.equal(questionsOf({ ...jobMaterial, processes: recorded }).allProcesses(), recorded);
  const range = { what: 'a minute', from: lifetime.start, to: lifetime.end };
  assert.equal(questionsOf({ ...jobMaterial, range: range }).allProcesses(), undefined);
});
