import * as fs from 'node:fs';
import * as path from 'node:path';
import { nodeFolder } from '../../src/recording/folder/node-folder.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { TableWriter } from '../../src/recording/live/append.ts';
import { readTable } from '../../src/recording/read/read.ts';
import { KafkaSink } from '../../src/sinks/kafka/sink.ts';
import { spoolStreams } from '../../src/sinks/spool/streams.ts';
import { COUNTED, countedRows, testAgent, testJob, testRecording } from '../made/spool.ts';

/**
 * Stands for an agent: writes numbered rows to a spool, goes on with the number after the newest one, and sends them to
 * Kafka. Ends after so many rows, or when SIGTERM says that it is enough; either way when they are sent.
 *
 *     node recorder.ts SPOOL BROKERS PREFIX ROWS MILLISECONDS_BETWEEN_TICKS
 */
const [spool, brokers, prefix, rows, pause] = process.argv.slice(2) as [string, string, string, string, string];
const PER_TICK = 7;
const START = 1_700_000_000_000_000;
const job = testJob('4711', { user: 'ada', nodes: ['c1'] });
const recording = path.join(spool, 'job-4711');
const folder = fs.existsSync(recording)
  ? path.join(recording, nodeFolder('c1'))
  : testRecording(spool, 'job-4711', job, testAgent('c1'));
const before = readTable(openRecording(recording).nodes[0]!, COUNTED.name);
let next = before.rows === 0 ? 0 : Math.max(...before.numbers.get('n')!) + 1;
const writer = new TableWriter(folder, COUNTED, { rollBytes: 20_000 });
const sink = new KafkaSink({
  folder: spool,
  streams: spoolStreams(spool),
  brokers: brokers.split(','),
  prefix,
  every: 0.02,
});
let output: string | undefined;
let going = true;
process.on('SIGTERM', () => {
  going = false;
});
while (going && next < Number(rows)) {
  const to = Math.min(next + PER_TICK, Number(rows));
  // two rows of a series never have the same time
  for (; next < to; next++) writer.append(countedRows('a "quoted" é', next, next + 1, START + next * 1000));
  sink.wake();
  if (sink.trouble !== output) {
    output = sink.trouble;
    console.log(`trouble: ${output ?? 'none'}`);
  }
  await new Promise((resolve) => setTimeout(resolve, Number(pause)));
}
await writer.close();
await sink.close(240);
console.log(`passed over: ${sink.passedOver}; trouble: ${sink.trouble ?? 'none'}`);
