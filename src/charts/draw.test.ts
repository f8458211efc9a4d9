import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../../test/make-recording.ts';
import { gather } from '../judge/facts/gather.ts';
import { openRecording } from '../recording/folder/open.ts';
import { sealRecording } from '../recording/sealed/seal.ts';
import { agentTable, cpuTable, gpuTable, meminfoTable, processMemoryTable, processTable } from '../sources/tables.ts';
import type { Table } from '../table/table.ts';
import { bandOf, draw, extentOf, hasChart } from './draw.ts';
import { chartOf } from './job-charts.ts';

const SECONDS = 3600;
const GiB = 2 ** 30;

/** An hour of two GPUs, one of which is busy for a single second. */
async function gpuJob(): Promise<string> {
  const rows = Array.from({ length: SECONDS }, (_, i) =>
    ['0', '1'].map((gpu) => ({
      time: START + i * 1e6,
      gpu,
      utilization_percent: gpu === '0' ? 50 : i === 1234 ? 100 : 0,
    })),
  );
  const memory = Array.from({ length: SECONDS }, (_, i) => ({
    time: START + i * 1e6,
    MemTotal_bytes: 16 * GiB,
    MemAvailable_bytes: 16 * GiB - i * 1e6,
  }));
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const job = jobOf({ nodes: ['c1'], start: START, end: START + SECONDS * 1e6, interval_seconds: 1 });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  await appendRows(nodePath, gpuTable, rows.flat());
  await appendRows(nodePath, meminfoTable, memory);
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf('c1', [gpuTable, meminfoTable])));
  return folder;
}

test('a job whose record is damaged is drawn up to its last sample, one that runs up to now', async () => {
  const { job, nodes, ...material } = gather(openRecording(await gpuJob()));
  const { end: _, ...endless } = job;
  const last_sample = START + 99e6;
  const sampled = nodes.map((node) => ({ ...node, agent: { ...node.agent!, last_sample } }));
  const ends = (state: typeof job.state): number =>
    extentOf({ ...material, job: { ...endless, state }, nodes: sampled, now: START + 7200e6 })[1];
  assert.deepEqual([ends('unknown'), ends('running')], [last_sample, START + 7200e6]);
});

test('a spike of one sample is in the drawing of an hour, sealed or not', async () => {
  const folder = await gpuJob();
  for (const isSealed of [false, true]) {
    if (isSealed) await sealRecording(openRecording(folder));
    const drawing = draw(gather(openRecording(folder)), chartOf('gpu')!, { points: 60 })!;
    assert.equal(drawing.series.length, 2);
    const [first, second] = drawing.series;
    assert.deepEqual([first!.node, first!.key, second!.key], ['c1', '0', '1']);
    assert.ok(first!.mean.every((value) => Number.isNaN(value) || value === 50));
    assert.equal(Math.max(...second!.max.filter((value) => !Number.isNaN(value))), 100);
    const at = second!.max.indexOf(100);
    const begin = drawing.from + at * drawing.step;
    assert.ok(begin <= START + 1234e6 && START + 1234e6 < begin + drawing.step);
    const band = bandOf(drawing);
    assert.equal(band.max[at], 100);
    assert.equal(band.min[at], 0);
  }
});

test('memory in use is what the node has less what is available', async () => {
  const drawing = draw(gather(openRecording(await gpuJob())), chartOf('memory-node')!, { points: 36 })!;
  const { mean, max } = drawing.series[0]!;
  assert.equal(max.at(-1), (SECONDS - 1) * 1e6);
  assert.ok(mean.at(-1)! < max.at(-1)!);
});

test('a chart of what was not recorded is not there', async () => {
  const material = gather(openRecording(await gpuJob()));
  assert.equal(hasChart(material, chartOf('gpu')!), true);
  assert.equal(hasChart(material, chartOf('pressure')!), false);
  // of the job itself nothing is known: its memory would be the node's, which has a chart
  assert.deepEqual(
    ['memory', 'memory-node'].map((id) => hasChart(material, chartOf(id)!)),
    [false, true],
  );
  assert.equal(draw(material, chartOf('pressure')!), undefined);
});

test('a minute of the hour has every sample', async () => {
  const [from, to] = [START + 1200e6, START + 1260e6];
  const drawing = draw(gather(openRecording(await gpuJob())), chartOf('gpu')!, { from, to, points: 400 })!;
  assert.equal(drawing.step, 1e6);
  assert.deepEqual(
    [...drawing.series[1]!.mean.slice(30, 40)].map((value) => value || 0),
    [0, 0, 0, 0, 100, 0, 0, 0, 0, 0],
  );
});

/** A node whose agent wrote these rows, and without `isClosed` no end; the job has no cgroup of its own. */
async function nodeWith(
  table: Table & { every?: number },
  rows: readonly Row[],
  end: number,
  ticks: number[] = [],
  isClosed = true,
) {
  const folder = path.join(temporary(), 'tacho-18');
  const node = path.join(folder, 'node=c1');
  fs.mkdirSync(node, { recursive: true });
  const job = jobOf({ nodes: ['c1'], start: START, end });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  const { end: closed, end_reason: _, ...made } = agentOf('c1', [table]);
  const agent = {
    ...(isClosed && { end: closed }),
    ...made,
    scope: { members: 'tree' },
    facts: { ...made.facts, cpus: 64 },
  };
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agent));
  await appendRows(node, table, rows);
  if (ticks.length > 0)
    await appendRows(
      node,
      agentTable,
      ticks.map((time, i) => ({ time, cpu_us: i * 100 })),
    );
  return gather(openRecording(folder));
}

test('processes that follow each other in one step do not add up to more than were there together', async () => {
  const GB = 1e9;
  // each takes 1 GB for two seconds, then the next one
  const rows = Array.from({ length: 300 }, (_, n) =>
    ['R', 'R', 'X'].map((state, i) => ({
      ...{ time: START + (2 * n + i) * 1e6, pid: String(100 + n), name: 'step', user: 'ada', state },
      ...{ start: String(Math.round(START / 1000) + n * 2000), ppid: 1, user_ms: 10, system_ms: 0 },
      ...{ children_user_ms: 0, children_system_ms: 0, rss_bytes: GB, rss_peak_bytes: GB },
    })),
  )
    .flat()
    .sort((x, y) => x.time - y.time);
  const material = await nodeWith(processTable, rows, START + 600e6);
  const { series } = draw(material, chartOf('memory')!, { points: 20 })!;
  const most = Math.max(...series[0]!.max.filter((value) => !Number.isNaN(value)));
  assert.ok(most <= 2 * GB && most >= GB, `${most / GB} GB of processes of 1 GB, two at most together`);
});

test('what can be 100 % at most is not drawn as 101', async () => {
  const rows = Array.from({ length: 60 }, (_, i) => ({ time: START + i * 1e6, cpu: '0', busy_ms: i * 1010 }));
  const material = await nodeWith(cpuTable, rows, START + 60e6);
  const { series } = draw(material, chartOf('cores')!, { points: 60 })!;
  assert.equal(Math.max(...series[0]!.max.filter((value) => !Number.isNaN(value))), 100);
});

/** Rows of processes that are busy all the time, one CPU each, seen at these seconds of a job. */
const busyRows = (processes: number, seconds: readonly number[]): Row[] =>
  seconds.flatMap((second) =>
    Array.from({ length: processes }, (_, n) => ({
      ...{ time: START + second * 1e6, pid: String(100 + n), name: 'step', user: 'ada', state: 'R' },
      ...{ start: String(Math.round(START / 1000)), ppid: 1, user_ms: second * 1000, system_ms: 0 },
      ...{ children_user_ms: 0, children_system_ms: 0, rss_bytes: 1e6, rss_peak_bytes: 1e6 },
    })),
  );

test('CPUs used: processes that are sampled every ten seconds were busy in all of them', async () => {
  const seconds = Array.from({ length: 31 }, (_, i) => i * 10);
  const material = await nodeWith({ ...processTable, every: 10 }, busyRows(3, seconds), START + 300e6);
  const { series } = draw(material, chartOf('cpu')!, { points: 300 })!;
  assert.deepEqual([...new Set(series[0]!.mean.map((value) => Math.round(value * 1000) / 1000))], [3]);
});

test('CPUs used: what was used while nobody looked is not put in the second before the next sample', async () => {
  const seconds = Array.from({ length: 300 }, (_, i) => i).filter((second) => second < 100 || second > 102);
  const ticks = seconds.map((second) => START + second * 1e6);
  const material = await nodeWith(processTable, busyRows(1, seconds), START + 300e6, ticks);
  const { series } = draw(material, chartOf('cpu')!, { points: 300 })!;
  assert.deepEqual(
    [...series[0]!.mean.slice(97, 106)].map((value) => Math.round(value * 1000) / 1000),
    [1, 1, 1, 1, 1, 1, 1, 1, 1],
  );
});

test('CPUs used: a spike of one sample, and a second of rest, are in the drawing of ten minutes', async () => {
  // a second of all 64 CPUs and one of none, else one CPU
  const usedIn = (second: number): number => (second === 123 ? 64 : second === 456 ? 0 : 1);
  let user_ms = 0;
  const rows = Array.from({ length: 601 }, (_, second): Row => {
    if (second > 0) user_ms += usedIn(second) * 1000;
    const [row] = busyRows(1, [second]);
    return { ...row!, user_ms };
  });
  const material = await nodeWith(processTable, rows, START + 600e6);
  const drawing = draw(material, chartOf('cpu')!, { points: 20 })!;
  const { min, mean, max } = drawing.series[0]!;
  const stepOf = (second: number): number => Math.floor(((second - 0.5) * 1e6) / drawing.step);
  assert.equal(drawing.steps, 20);
  assert.ok(Math.abs(max[stepOf(123)]! - 64) < 0.1, `${max[stepOf(123)]} of 64 CPUs`);
  assert.ok(Math.abs(mean[stepOf(123)]! - 93 / 30) < 0.1, `${mean[stepOf(123)]}`);
  assert.ok(min[stepOf(456)]! < 0.1, `${min[stepOf(456)]}`);
  // and nowhere else
  assert.deepEqual(
    [...max].flatMap((value, i) => (value > 1.5 ? [i] : [])),
    [stepOf(123)],
  );
  // it is told on the chart of many nodes, too
  assert.ok(Math.max(...bandOf(drawing).max) > 63);
});

test('CPUs used: after a node fell silent nobody knows, which is not 0', async () => {
  const material = await nodeWith(processTable, busyRows(1, [...Array(101).keys()]), START + 300e6, [], false);
  const { series } = draw(material, chartOf('cpu')!, { points: 300 })!;
  const means = Array.from(series[0]!.mean, (value) => Math.round(value * 1000) / 1000);
  assert.deepEqual(means.slice(97, 104), [1, 1, 1, Number.NaN, Number.NaN, Number.NaN, Number.NaN]);
});

test('of half a minute, in which shared memory was read once, the memory of processes is a curve', async () => {
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const job = jobOf({ nodes: ['c1'], start: START, end: START + 30e6, interval_seconds: 1 });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  const at = (second: number) => ({ time: START + second * 1e6 });
  await appendRows(nodePath, processMemoryTable, [{ ...at(29), pss_bytes: 45e6 }]);
  const process = { pid: '7', start: String(START) };
  await appendRows(
    nodePath,
    processTable,
    [1, 11, 21, 29].map((second) => ({ ...at(second), ...process, rss_bytes: 40e6 + second * 1e5 })),
  );
  fs.writeFileSync(
    path.join(nodePath, 'agent.json'),
    JSON.stringify(agentOf('c1', [processMemoryTable, processTable], { end: START + 30e6 })),
  );
  const drawing = draw(gather(openRecording(folder)), chartOf('memory')!)!;
  const values = drawing.series[0]!.mean.filter((value) => !Number.isNaN(value));
  assert.deepEqual([values.length > 20, values[0]], [true, 40.1e6]);
});
