import * as path from 'node:path';
import { replaceJson } from '../src/recording/folder/replace.ts';
import { TableWriter } from '../src/recording/live/append.ts';
import { parseHubAddress } from '../src/sinks/hub/address.ts';
import { HubSink } from '../src/sinks/hub/sink.ts';
import { Spool } from '../src/sinks/spool/spool.ts';
import { spoolStreams } from '../src/sinks/spool/streams.ts';
import { eventually } from './made/eventually.ts';
import { COUNTED, countedRows, testAgent, testJob, testRecording } from './made/spool.ts';

/** An agent that writes known rows as fast as it is told to; it may be killed at any moment, and goes on where it was. */
export interface WriterOrders {
  spool: string;
  hubs: string[];
  /** Rows of each table: numbers from `first` on; what is written so far is said on standard output. */
  first: number;
  rows: number;
  rowsPerTick: number;
  tickMs: number;
  rollBytes: number;
  limitBytes: number;
  /** Sends until everything is there, and says so. */
  finish: boolean;
}

const orders = JSON.parse(process.argv[2]!) as WriterOrders;
const { spool } = orders;
const uid = process.getuid!();
const job = testJob('4711', { uid, user: uid === 0 ? 'root' : `user${uid}` });
const folder = testRecording(spool, 'job-4711', job, testAgent('c1'));
const tables = ['first', 'second'].map((name) => ({ ...COUNTED, name }));
const writers = tables.map((table) => new TableWriter(folder, table, { rollBytes: orders.rollBytes }));
const streams = spoolStreams(spool);
const sink = new HubSink({
  addresses: orders.hubs.map((each) => parseHubAddress(each)),
  spool,
  streams,
  node: 'c1',
  spreadSeconds: 0,
  requestSeconds: 2,
  connectSeconds: 1,
  returnSeconds: 1,
});
const outlet = new Spool(spool, {
  limitBytes: orders.limitBytes,
  sinks: [sink],
  streams,
  checkSeconds: 0.1,
  roll() {
    for (const writer of writers) writer.roll();
  },
});
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

for (let n = orders.first; n < orders.first + orders.rows; n += orders.rowsPerTick) {
  const to = Math.min(n + orders.rowsPerTick, orders.first + orders.rows);
  for (const [i, table] of tables.entries()) {
    // each row has a time of its own: n seconds
    for (let row = n; row < to; row++) writers[i]!.append(Object.assign(countedRows('c1', row, row + 1), { table }));
  }
  process.stdout.write(`${to}\n`);
  outlet.wake();
  await sleep(orders.tickMs);
}
await Promise.all(writers.map((writer) => writer.close()));
if (orders.finish) {
  const end = Date.now() * 1000;
  replaceJson(path.join(folder, 'agent.json'), testAgent('c1', { end }));
  replaceJson(path.join(spool, 'job-4711/job.json'), { ...job, end, state: 'completed' });
  await eventually('an empty spool', () => {
    outlet.wake();
    return streams.list().length === 0;
  });
  process.stdout.write('all there\n');
}
await outlet.close(5);
