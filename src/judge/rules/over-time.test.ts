import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../../../test/make-recording.ts';
import { summariseNode } from '../../query/summarise.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { readTable } from '../../recording/read/read.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import { gpuTable, processTable } from '../../sources/tables.ts';
import type { Table } from '../../table/table.ts';
import { gather } from '../facts/gather.ts';
import { report } from '../report.ts';
import gpuLow from './gpu-low.ts';

/** What statistics of the whole job cannot tell, and samples do. */

const SECONDS = 1200;
const EVERY = 10;

async function recorded(table: Table, row: (t: number) => Omit<Row, 'time'>): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, 'node=c1');
  const end = START + SECONDS * 1e6;
  const times = Array.from({ length: SECONDS / EVERY + 1 }, (_, i) => i * EVERY);
  await appendRows(
    nodePath,
    table,
    times.map((t) => ({ time: START + t * 1e6, ...row(t) })),
  );
  const agentTimes = { interval_seconds: EVERY, end, first_sample: START, last_sample: end, ticks: times.length };
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf('c1', [table], agentTimes)));
  const job = jobOf({ nodes: ['c1'], end, interval_seconds: EVERY, asked: { gpus: table === gpuTable ? 1 : 0 } });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  return folder;
}

/** What a rule says, unsealed and sealed, and how often it looked at samples for that. */
function judgedOf(folder: string, id: string): { text: string | undefined; looked: number } {
  const of = () => {
    const material = gather(openRecording(folder));
    const { series } = material;
    let looked = 0;
    material.series = (...asked) => {
      looked++;
      return series!(...asked);
    };
    return { text: report(material).findings.find((finding) => finding.id === id)?.text, looked };
  };
  const live = of();
  sealRecording(openRecording(folder));
  assert.deepEqual(of(), live);
  return live;
}

const gpu = (busy: (t: number) => number) =>
  recorded(gpuTable, (t) => ({
    gpu: '0',
    mine: 'yes',
    utilization_percent: busy(t),
    power_watts: busy(t) > 0 ? 500 : 100,
  }));

test('GPUs that stood idle after they had worked, or before, are not told to be fed faster', async () => {
  const after = await gpu((t) => (t < 240 ? 90 : 0));
  assert.match(
    judgedOf(after, 'gpu-low').text!,
    /^The GPU was idle for 16 min.* at the end, and 9\d % busy in the rest/,
  );
  const [, , drawn] = report(gather(openRecording(after))).findings.find(({ id }) => id === 'gpu-low')!.evidence;
  // 100 W
  assert.match(drawn!.text, /^26\.\d Wh were drawn meanwhile$/);
  const before = await gpu((t) => (t > 960 ? 90 : 0));
  assert.match(
    judgedOf(before, 'gpu-low').text!,
    /^The GPU was idle for 16 min.* at the start, and \d\d % busy in the rest/,
  );
  const between = await gpu((t) => (t < 120 || t > 1080 ? 90 : 0));
  assert.match(judgedOf(between, 'gpu-low').text!, / in between, and \d\d % busy in the rest/);
});

test('GPUs that were never busy, or now and then, are hardly used; of the first no sample is read', async () => {
  assert.deepEqual(judgedOf(await gpu(() => 20), 'gpu-low'), { text: 'The GPU was busy 20 % of the time', looked: 0 });
  const nowAndThen = await gpu((t) => (t % 60 === 0 ? 100 : 0));
  assert.match(judgedOf(nowAndThen, 'gpu-low').text!, /^The GPU was busy 1\d % of the time$/);
});

test('of a job in a store the samples of these columns are enough; without them statistics alone decide', async () => {
  const recording = openRecording(await gpu((t) => (t < 240 ? 90 : 0)));
  const findingText = (columns: readonly string[] | undefined): string => {
    const nodes = recording.nodes.map((node) => {
      const rows = (table: string) => (columns === undefined ? {} : { rows: readTable(node, table, { columns }) });
      const { tables } = summariseNode(node);
      const memory = new Map([...tables].map(([name, statistics]) => [name, { statistics, ...rows(name) }]));
      const files = new Map([...tables.keys()].map((name) => [name, { parts: [] }]));
      return { ...node, folder: '/nowhere', tables: files, memory };
    });
    return report(gather({ ...recording, nodes })).findings.find(({ id }) => id === 'gpu-low')!.text;
  };
  assert.match(findingText(undefined), /^The GPU was busy \d+ % of the time$/);
  assert.match(findingText(gpuLow.overTime!.map(({ name }) => name)), /^The GPU was idle for 16 min.* at the end/);
});

const GIB = 2 ** 30;

function memory(rss: (t: number) => number): Promise<string> {
  let peak = 0;
  return recorded(processTable, (t) => {
    peak = Math.max(peak, Math.round(rss(t)));
    return { pid: '7', start: String(START / 1000), state: 'R', rss_bytes: Math.round(rss(t)), rss_peak_bytes: peak };
  });
}

test('memory that is given back again and again does not grow, however its values are spread', async () => {
  const grows = await memory((t) => GIB + (t / SECONDS) * 8 * GIB);
  // its peak until then is what it has: samples need not be read
  assert.deepEqual(judgedOf(grows, 'memory-growing'), {
    text: 'Memory of 1 process on c1 grew until the end, and would have filled the node after 17 min 30 s more',
    looked: 0,
  });
  const teeth = await memory((t) => GIB + ((t % 300) / 300 + (t === SECONDS ? 1 : 0)) * 8 * GIB);
  assert.deepEqual(judgedOf(teeth, 'memory-growing'), { text: undefined, looked: 1 });
  // garbage is collected now and then
  const collected = await memory(
    (t) => GIB + (t / SECONDS) * 8 * GIB - (t % 50 === 0 ? GIB : 0) + (t === SECONDS ? GIB : 0),
  );
  assert.match(judgedOf(collected, 'memory-growing').text!, /grew until the end/);
});
