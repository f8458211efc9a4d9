import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { gpuTable, loadavgTable, processTable } from '../../sources/tables.ts';
import { NodeFollower } from './node-now.ts';

test('a look takes what was written since the last one', async () => {
  const folder = path.join(temporary(), 'tacho-19');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ nodes: ['c1'], start: START })));
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf('c1', [gpuTable, processTable])));
  const seconds = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => ({
      time: START + (from + i) * 1e6,
      pid: '17',
      start: String(START / 1000),
      name: 'solver',
      user: 'ada',
      state: 'R',
      user_ms: (from + i) * 1500,
      system_ms: (from + i) * 500,
      rss_bytes: 1000 + from + i,
    }));
  const cards = (from: number, to: number, busy: number) =>
    Array.from({ length: to - from }, (_, i) => ({
      time: START + (from + i) * 1e6,
      gpu: '0',
      utilization_percent: busy,
    }));
  await appendRows(nodePath, processTable, seconds(0, 5));
  await appendRows(nodePath, gpuTable, cards(0, 5, 30));
  const follower = new NodeFollower(openRecording(folder).nodes[0]!);
  const first = follower.look();
  assert.deepEqual(first.processes, [
    { node: 'c1', pid: 17, name: 'solver', user: 'ada', state: 'R', cpu: 2, memory_bytes: 1004 },
  ]);
  assert.deepEqual(first.gpus, [{ node: 'c1', gpu: '0', utilization_percent: 30 }]);
  assert.deepEqual([first.scope, first.cpu, first.last], ['job', 2, START + 4e6]);
  await appendRows(nodePath, gpuTable, cards(5, 7, 80));
  assert.deepEqual(follower.look().gpus[0]?.utilization_percent, 80);
  follower.close();
});

test('a sample of any table is a sample', async () => {
  const folder = path.join(temporary(), 'tacho-21');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ nodes: ['c1'], start: START })));
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf('c1', [loadavgTable])));
  const follower = new NodeFollower(openRecording(folder).nodes[0]!);
  assert.equal(follower.look().last, undefined);
  const at = (second: number) => ({ time: START + second * 1e6, load1: 1 });
  await appendRows(nodePath, loadavgTable, [at(0), at(1), at(2)]);
  assert.equal(follower.look().last, START + 2e6);
  await appendRows(nodePath, loadavgTable, [at(3)]);
  const { last, cpu } = follower.look();
  assert.deepEqual([last, cpu], [START + 3e6, undefined]);
  follower.close();
});

/** A node on which these rows of processes are written; state R, no CPU time where nothing else is said. */
async function followed(rows: readonly (Record<string, number | string> & { time: number })[]) {
  const folder = path.join(temporary(), 'tacho-20');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ nodes: ['c1'], start: START })));
  const agent = agentOf('c1', [processTable]);
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify({ ...agent, scope: { members: 'tree' } }));
  const none = { name: 'sh', user: 'ada', state: 'S', ppid: 1, user_ms: 0, system_ms: 0, rss_bytes: 1000 };
  const times = { children_user_ms: 0, children_system_ms: 0 };
  await appendRows(
    nodePath,
    processTable,
    rows.map((row) => ({ ...none, ...times, start: String(START / 1000), ...row, time: START + row.time * 1e6 })),
  );
  const follower = new NodeFollower(openRecording(folder).nodes[0]!);
  const now = follower.look();
  follower.close();
  return now;
}

test('children that came and went between samples are in the CPUs of the job', async () => {
  // a shell that waits for one short child after the other: it uses nothing itself
  const rows = Array.from({ length: 10 }, (_, i) => ({ time: i, pid: '17', children_user_ms: i * 800 }));
  const { cpu, processes } = await followed(rows);
  assert.equal(cpu, 0.8);
  assert.deepEqual(
    processes.map((each) => each.cpu),
    [0],
  );
});

test('the end of a child whose samples were counted is no peak', async () => {
  const sampled = Array.from({ length: 20 }, (_, i) => ({ time: i, pid: '18', ppid: 17, user_ms: i * 1000 }));
  const { cpu } = await followed([
    { time: 0, pid: '17' },
    ...sampled,
    { time: 20, pid: '17', children_user_ms: 20_000 },
    { time: 20, pid: '18', ppid: 17, user_ms: 19_000, state: 'X' },
  ]);
  // the second after its last sample, in five
  assert.equal(cpu, 0.2);
});
