import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { unpackRecord } from '../../src/prometheus/record-labels.ts';
import { nodeFolder } from '../../src/recording/folder/node-folder.ts';
import { TableWriter } from '../../src/recording/live/append.ts';
import { spoolStreams } from '../../src/sinks/spool/streams.ts';
import { VictoriaSink } from '../../src/sinks/victoria/sink.ts';
import { agentTable } from '../../src/sources/own/agent.ts';
import { marker } from '../../src/sources/own/marker.ts';
import { processTable } from '../../src/sources/process/table.ts';
import { eventually } from '../made/eventually.ts';
import { agentOf, appendRows, diskRows, diskTable, frameOf, jobOf, type Row, START } from '../make-recording.ts';
import { temporaryFolder } from '../tacho.ts';
import { startVictoria, type Victoria, whyNoVictoria } from './server.ts';

const skip = whyNoVictoria();

interface Series {
  metric: Record<string, string>;
  values: number[];
  timestamps: number[];
}

/** Every sample that the server has, as it is. */
async function everything(server: Victoria, match = '{__name__!=""}'): Promise<Series[]> {
  await server.flush();
  const response = await fetch(`${server.url}/api/v1/export?match[]=${encodeURIComponent(match)}`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Series);
}

const of = (all: readonly Series[], labels: Record<string, string>): Series[] =>
  all.filter(({ metric }) => Object.entries(labels).every(([name, value]) => metric[name] === value));

const agentRows = (seconds: number): Row[] =>
  Array.from({ length: seconds }, (_, t) => ({ time: START + t * 1e6, cpu_us: t * 1500, rss_bytes: 5e7 }));

function newRecording(spool: string, name: string, changes: Parameters<typeof jobOf>[0] = {}): string {
  const folder = path.join(spool, name, nodeFolder('c1'));
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(spool, name, 'job.json'), JSON.stringify(jobOf(changes)));
  const tables = [diskTable, agentTable, processTable];
  fs.writeFileSync(path.join(folder, 'agent.json'), JSON.stringify({ ...agentOf('c1', tables), written: ['disk'] }));
  return folder;
}

test('every value of a recording, what is known of its job, and its records', { skip }, async (t) => {
  const server = await startVictoria();
  t.after(() => server.remove());
  const spool = temporaryFolder(t);
  const folder = newRecording(spool, 'job-17', { asked: { cpus: 8 }, partition: 'gpu', restart: 1 });
  const rows = diskRows(130);
  await appendRows(folder, diskTable, rows, { rollEvery: 50 });
  await appendRows(folder, agentTable, agentRows(130));
  const busy = {
    pid: '7',
    start: '1',
    name: 'a.out',
    command: 'a.out --secret',
    state: 'R',
    user_ms: 900,
    rss_bytes: 5,
  };
  await appendRows(folder, processTable, [
    { ...busy, time: START, system_ms: 99 },
    { ...busy, time: START + 1e6, system_ms: 101 },
    { ...busy, pid: '8', time: START + 1e6, user_ms: 10, system_ms: 0 },
  ]);
  await appendRows(folder, marker.table, [
    { time: START + 1e6, action: 'begin', name: 'epoch "1"' },
    { time: START + 2e6, action: 'fom', name: 'loss', value: 0.5 },
    { time: START + 9e6, action: 'end', name: 'epoch "1"' },
  ]);
  const sink = new VictoriaSink({ url: server.url, spool, streams: spoolStreams(spool), processCpuSeconds: 1 });
  await sink.close(120);
  assert.equal(sink.trouble, undefined);

  const all = await everything(server);
  const job = { node: 'c1', job: '17', restart: '1' };
  for (const disk of ['sda', 'nvme10']) {
    const mine = rows.filter((row) => row.disk === disk);
    for (const [column, name, scale] of [
      ['read_bytes', 'tacho_disk_read_bytes_total', 1],
      ['busy_percent', 'tacho_disk_busy_ratio', 100],
      ['queue', 'tacho_disk_queue', 1],
    ] as const) {
      const there = mine.filter((row) => row[column] !== undefined);
      const [series, ...more] = of(all, { ...job, __name__: name, disk });
      assert.deepEqual(more, []);
      assert.deepEqual(
        series?.timestamps,
        there.map((row) => Math.floor(row.time / 1000)),
      );
      assert.deepEqual(
        series?.values,
        there.map((row) => Number(row[column]) / scale),
      );
    }
  }
  // said at the first sample and in every minute
  const [info] = of(all, { __name__: 'tacho_disk_info', disk: 'sda' });
  assert.equal(info?.metric.model, 'fast, "new"');
  assert.ok(info.timestamps.length >= 3 && info.timestamps.length <= 4);
  const [who] = of(all, { __name__: 'tacho_job_info' });
  assert.deepEqual(who?.metric, {
    ...job,
    __name__: 'tacho_job_info',
    user: 'ada',
    name: 'train',
    scheduler: 'slurm',
    partition: 'gpu',
  });
  assert.deepEqual(new Set(of(all, { __name__: 'tacho_job_asked_cpus' })[0]?.values), new Set([8]));
  const phase = of(all, { __name__: 'tacho_marker_phase', name: 'epoch "1"' })[0];
  assert.deepEqual(phase?.values, [1, 0]);
  assert.deepEqual(phase?.timestamps, [START / 1000 + 1000, START / 1000 + 9000]);
  assert.deepEqual(of(all, { __name__: 'tacho_marker_fom', name: 'loss' })[0]?.values, [0.5]);
  // a process is there from its first second of CPU time on, without what it was started with
  const cpu = of(all, { __name__: 'tacho_process_system_seconds_total' });
  assert.deepEqual(
    cpu.map(({ metric, values }) => [metric.pid, values]),
    [['7', [0.101]]],
  );
  assert.deepEqual(
    of(all, { __name__: 'tacho_process_info' }).map(({ metric }) => metric.name),
    ['a.out'],
  );
  assert.ok(!JSON.stringify(all).includes('secret'));
  for (const record of ['job', 'agent']) {
    const recordSeries = of(all, { ...job, __name__: 'tacho_record', record });
    recordSeries.sort((a, b) => Number(a.metric.piece) - Number(b.metric.piece));
    const file = record === 'job' ? path.join(spool, 'job-17/job.json') : path.join(folder, 'agent.json');
    assert.deepEqual(
      unpackRecord(recordSeries.map(({ metric }) => metric.text!)),
      JSON.parse(fs.readFileSync(file, 'utf8')),
    );
  }
});

test('what a node records of itself has no job', { skip }, async (t) => {
  const server = await startVictoria();
  t.after(() => server.remove());
  const spool = temporaryFolder(t);
  const folder = newRecording(spool, 'fleet-2026-11-15', { id: 'fleet-2026-11-15', user: '', uid: -1 });
  await appendRows(folder, diskTable, diskRows(3));
  const sink = new VictoriaSink({
    url: server.url,
    spool,
    streams: spoolStreams(spool),
    labels: [['cluster', 'alps']],
  });
  await sink.close(120);
  const all = await everything(server);
  assert.deepEqual(
    of(all, { __name__: 'tacho_disk_read_bytes_total', disk: 'sda' }).map(({ metric, values }) => [metric, values]),
    [[{ __name__: 'tacho_disk_read_bytes_total', node: 'c1', disk: 'sda', cluster: 'alps' }, [0, 4096, 8192]]],
  );
  assert.deepEqual(of(all, { __name__: 'tacho_node_cpus' })[0]?.values.at(-1), 4);
  assert.deepEqual(
    all.filter(({ metric }) => metric.job !== undefined || metric.__name__!.startsWith('tacho_job')),
    [],
  );
});

test('kill -9 of VictoriaMetrics in the middle, three times: every sample is there in the end', { skip }, async (t) => {
  const server = await startVictoria(['-dedup.minScrapeInterval=1ms']);
  t.after(() => server.remove());
  const spool = temporaryFolder(t);
  const folder = newRecording(spool, 'job-17');
  const streams = spoolStreams(spool);
  const open = () => new VictoriaSink({ url: server.url, spool, streams, intervalSeconds: 0.2, settleSeconds: 15 });
  let sink = open();
  const writer = new TableWriter(folder, diskTable, { rollBytes: 20_000 });
  let tick = 0;
  const write = async (seconds: number): Promise<void> => {
    for (const until = Date.now() + seconds * 1000; Date.now() < until; tick++) {
      const time = START + tick * 1e5;
      const rows = ['sda', 'sdb'].map((disk) => ({ time, disk, read_bytes: tick, busy_percent: tick % 100, queue: 1 }));
      writer.append(frameOf(diskTable, rows));
      sink.wake();
      await sleep(5);
    }
  };
  for (const before of [1.5, 17, 4]) {
    await write(before);
    await server.kill();
    await write(1);
    await server.start();
  }
  // the agent, too, is killed and started anew: it goes on from what it has saved
  await write(2);
  await sink.close(0);
  sink = open();
  await write(1);
  await writer.close();
  await sink.close(120);
  assert.equal(sink.trouble, undefined);

  const [sda] = await everything(server, 'tacho_disk_read_bytes_total{disk="sda"}');
  const there = new Set(sda!.values);
  const missing = Array.from({ length: tick }, (_, n) => n).filter((n) => !there.has(n));
  assert.deepEqual(missing, []);
  const count = async (name: string): Promise<number[]> => {
    const query = `count_over_time(${name}{job="17"}[${tick + 1}s])`;
    const response = await fetch(
      `${server.url}/api/v1/query?time=${START / 1e6 + tick}&nocache=1&query=${encodeURIComponent(query)}`,
    );
    const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
    return data.result.map(({ value }) => Number(value[1]));
  };
  for (const name of ['tacho_disk_read_bytes_total', 'tacho_disk_busy_ratio', 'tacho_disk_queue']) {
    assert.deepEqual(await count(name), [tick, tick]);
  }
});

test('what was sent counts as stored only when it has settled, the records last', { skip }, async (t) => {
  const server = await startVictoria();
  t.after(() => server.remove());
  const spool = temporaryFolder(t);
  const folder = newRecording(spool, 'job-17');
  await appendRows(folder, diskTable, diskRows(5));
  await appendRows(folder, agentTable, agentRows(5));
  const streams = spoolStreams(spool);
  const open = (settleSeconds: number) =>
    new VictoriaSink({ url: server.url, spool, streams, intervalSeconds: 0.05, settleSeconds });
  const [stream] = streams.list();
  const patient = open(3600);
  patient.wake();
  await eventually('series in the store', async () => (await everything(server)).length > 0);
  assert.equal(patient.stored(stream!, 'disk'), undefined);
  assert.equal(patient.stored(stream!, 'agent'), undefined);
  await patient.close(0);
  const sink = open(2);
  t.after(() => sink.close(0));
  sink.wake();
  // nobody wakes it any more: it looks after what it has sent on its own
  await eventually('the settled table', () => sink.stored(stream!, 'agent') !== undefined);
  const end = { part: 1, bytes: fs.statSync(path.join(folder, 'disk.csv')).size };
  assert.deepEqual(sink.stored(stream!, 'disk'), end);
  const saved = JSON.parse(fs.readFileSync(path.join(spool, '.sinks/victoria.json'), 'utf8'));
  assert.deepEqual(saved['job-17/node=c1'].disk, [1, end.bytes]);
});

test('an agent that is stopped and started again sends nothing twice while the server lives', { skip }, async (t) => {
  const server = await startVictoria();
  t.after(() => server.remove());
  const spool = temporaryFolder(t);
  const folder = newRecording(spool, 'job-17');
  const writer = new TableWriter(folder, diskTable);
  const streams = spoolStreams(spool);
  const rows = diskRows(30);
  // it is known by the second in which it was started, once that is over
  await sleep(2500);
  for (const from of [0, 20, 40]) {
    for (const row of rows.slice(from, from + 20)) writer.append(frameOf(diskTable, [row]));
    const sink = new VictoriaSink({ url: server.url, spool, streams });
    await sink.close(120);
    assert.equal(sink.stored(streams.list()[0]!, 'disk'), undefined);
  }
  await writer.close();
  const [sda] = await everything(server, 'tacho_disk_read_bytes_total{disk="sda"}');
  assert.deepEqual(
    sda?.values,
    rows.filter((row) => row.disk === 'sda').map((row) => row.read_bytes),
  );
  // killed and started anew, the server may have lost it all: everything again
  await server.kill();
  await server.start();
  const sink = new VictoriaSink({ url: server.url, spool, streams });
  await sink.close(120);
  const [again] = await everything(server, 'tacho_disk_read_bytes_total{disk="sda"}');
  assert.equal(new Set(again?.timestamps).size, 30);
});
