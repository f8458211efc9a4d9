import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { eventually } from '../../../test/made/eventually.ts';
import { testAgent, testJob, testRecording } from '../../../test/made/spool.ts';
import { spoolStreams } from '../spool/streams.ts';
import { VictoriaSink } from './sink.ts';

test('streams take turns: one that has very much keeps no other waiting', async (t) => {
  const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-victoria-'));
  const posts: string[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'POST') posts.push(gunzipSync(Buffer.concat(chunks)).toString());
      response.end(request.url === '/metrics' ? 'process_start_time_seconds 1000\n' : '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const add = (id: string, rows: number): void => {
    const folder = testRecording(spool, `job-${id}`, testJob(id), testAgent('c1'));
    let text = 'time,who,n,label\n';
    for (let n = 1; n <= rows; n++) text += `${n}000,c1,${n},\n`;
    fs.writeFileSync(path.join(folder, 'counted.csv'), text);
  };
  add('1', 500_000);
  add('2', 10);
  const streams = spoolStreams(spool);
  const sink = new VictoriaSink({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    streams: { ...streams, list: () => streams.list().toSorted((a, b) => a.job.id.localeCompare(b.job.id)) },
    spool,
    intervalSeconds: 0.01,
  });
  t.after(async () => {
    await sink.close(0);
    server.close();
    server.closeAllConnections();
    fs.rmSync(spool, { recursive: true, force: true });
  });
  const values = (id: string): number[] =>
    posts.map((post) =>
      post
        .split('\n')
        .filter((line) => line.includes(`"__name__":"tacho_counted_n"`) && line.includes(`"job":"${id}"`))
        .reduce((sum, line) => sum + JSON.parse(line).values.length, 0),
    );
  const sum = (all: number[]): number => all.reduce((a, b) => a + b, 0);
  sink.wake();
  await eventually(
    () => `500,000 values of ${sum(values('1'))}`,
    () => sum(values('1')) >= 500_000,
  );
  assert.deepEqual([sum(values('1')), sum(values('2'))], [500_000, 10]);
  assert.equal(
    values('2').findIndex((count) => count > 0),
    1,
    'behind the first request of the other one',
  );
});
