import * as path from 'node:path';
import type { Labels } from '../../src/prometheus/series-labels.ts';
import { spoolStreams } from '../../src/sinks/spool/streams.ts';
import { VictoriaSink } from '../../src/sinks/victoria/sink.ts';

/** Pushes the recordings of a folder, which are not sealed, with the sink that agents have; every process of them. */
export async function pushRecordings(url: string, folder: string, labels: Labels = []): Promise<void> {
  const spool = path.resolve(folder);
  const sink = new VictoriaSink({ url, spool, streams: spoolStreams(spool), processCpuSeconds: 0, labels });
  await sink.close(60);
  if (sink.trouble !== undefined) throw new Error(sink.trouble);
  await fetch(`${url}/internal/force_flush`);
}
