import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import { gpuTable, meminfoTable, processMemoryTable, processTable } from '../../sources/tables.ts';
import { report } from '../report.ts';
import { gather } from './gather.ts';

const SECONDS = 1000;
const GiB = 2 ** 30;

/** Two GPUs, of which one works in the first half; nothing is known from second 300 to 400. */
async function job(): Promise<string> {
  const isKnown = (second: number): boolean => second < 300 || second >= 400;
  const seconds = Array.from({ length: SECONDS }, (_, i) => i).filter(isKnown);
  const folder = path.join(temporary(), 'tacho-18');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const described = jobOf({ nodes: ['c1'], start: START, end: START + SECONDS * 1e6, interval_seconds: 1 });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(described));
  const cards = seconds.flatMap((i) =>
    ['0', '1'].map((gpu) => ({
      time: START + i * 1e6,
      gpu,
      utilization_percent: gpu === '0' && i < 500 ? 80 : 0,
    })),
  );
  const memory = seconds.map((i) => ({
    time: START + i * 1e6,
    MemTotal_bytes: 16 * GiB,
    MemAvailable_bytes: 16 * GiB - i * 1e6,
  }));
  await appendRows(nodePath, gpuTable, cards);
  await appendRows(nodePath, meminfoTable, memory);
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf('c1', [gpuTable, meminfoTable])));
  return folder;
}

test('the report has curves with gaps where nothing was sampled, the same of a sealed recording', async () => {
  const folder = await job();
  const curvesNow = () => report(gather(openRecording(folder))).curves!;
  const live = curvesNow();
  sealRecording(openRecording(folder), { force: true });
  assert.deepEqual(curvesNow(), live);
  assert.deepEqual([live.from, live.step], [START, (SECONDS * 1e6) / 96]);
  const [memory, gpu] = live.lines;
  assert.deepEqual(
    live.lines.map(({ what, unit, scope, values }) => [what, unit, scope, values.length]),
    [
      ['memory', 'bytes', 'node', 96],
      ['GPU', '%', 'node', 96],
    ],
  );
  // the mean of both cards
  assert.ok(gpu!.values.slice(0, 28).every((value) => value === 40));
  assert.ok(gpu!.values.slice(30, 38).every((value) => value === null));
  assert.ok(gpu!.values.slice(40, 47).every((value) => value === 40));
  assert.ok(gpu!.values.slice(50).every((value) => value === 0));
  const last = memory!.values.at(-1)!;
  assert.ok(Math.abs(last - 995e6) < 5e6, `${last}`);
});

test('a process that does nothing used nothing, which is no gap', async () => {
  const folder = path.join(temporary(), 'tacho-19');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const described = jobOf({ nodes: ['c1'], start: START, end: START + 40e6, interval_seconds: 1 });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(described));
  // busy for 10 s, then silent until it ends: rows are written when something changed
  const rows = [...Array.from({ length: 11 }, (_, i) => [i, i * 1000]), [39, 10_000]].map(([second, used]) => ({
    time: START + second! * 1e6,
    pid: '17',
    start: String(START / 1000),
    user_ms: used!,
    system_ms: 0,
    rss_bytes: 1e6,
  }));
  await appendRows(nodePath, processTable, rows);
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf('c1', [processTable])));
  const [cpu, memory] = report(gather(openRecording(folder))).curves!.lines;
  assert.deepEqual([cpu!.what, cpu!.scope], ['CPU', 'job']);
  assert.ok(
    cpu!.values.slice(0, 9).every((value) => value === 1),
    `${cpu!.values}`,
  );
  assert.ok(
    cpu!.values.slice(11, 38).every((value) => value === 0),
    `${cpu!.values}`,
  );
  assert.ok(
    memory!.values.slice(0, 39).every((value) => Math.abs(value! - 1e6) < 1),
    `${memory!.values}`,
  );
});

test('of half a minute, in which shared memory was read once, the memory of the card is a curve', async () => {
  const folder = path.join(temporary(), 'tacho-21');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const described = jobOf({ nodes: ['c1'], start: START, end: START + 30e6, interval_seconds: 1 });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(described));
  const at = (second: number) => ({ time: START + second * 1e6 });
  await appendRows(nodePath, processMemoryTable, [{ ...at(29), pss_bytes: 45e6 }]);
  const process = { pid: '7', start: String(START) };
  const rows = [0, 10, 20, 29].map((second) => ({ ...at(second), ...process, rss_bytes: 40e6 + second * 1e5 }));
  await appendRows(nodePath, processTable, rows);
  const agent = agentOf('c1', [processMemoryTable, processTable], { end: START + 30e6 });
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agent));
  const memory = report(gather(openRecording(folder))).curves!.lines.find(({ what }) => what === 'memory')!;
  assert.equal(memory.from, 'process.rss_bytes');
  assert.ok(
    memory.values.slice(0, 29).every((value) => value !== null && value >= 40e6 && value <= 45e6),
    `${memory.values}`,
  );
});
