import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { openRecording } from '../../src/recording/folder/open.ts';
import { sealRecording } from '../../src/recording/sealed/seal.ts';
import { makeRecording } from '../make-recording.ts';
import { tacho, temporaryFolder } from '../tacho.ts';
import { startVictoria, whyNoVictoria } from './server.ts';

test('a finished recording is in the store as if it had been pushed while it was made', {
  skip: whyNoVictoria(),
}, async (t) => {
  const server = await startVictoria();
  t.after(() => server.remove());
  const folder = path.join(temporaryFolder(t), 'tacho-17');
  await makeRecording({ folder, seconds: 130 });
  sealRecording(openRecording(folder), { force: true, parquet: true });
  const pushed = tacho(['push', folder, '--store', server.url, '--format', 'json']);
  assert.equal(pushed.code, 0, pushed.err);
  const [{ id, nodes, rows }] = JSON.parse(pushed.out);
  const recording = openRecording(folder);
  assert.deepEqual([id, nodes], [recording.job.id, recording.nodes.length]);
  assert.ok(rows > 130);
  await server.flush();
  const listed = tacho(['list', '--store', server.url, '--format', 'json']);
  assert.equal(listed.code, 0, listed.err);
  assert.match(listed.out, new RegExp(`"${id}"`));
  // the card of the job in the store is that of the recording
  const card = (args: string[]) => JSON.parse(tacho(['report', ...args, '--format', 'json']).out);
  const [here, there] = [card([folder]), card(['--store', server.url, '--job', id])];
  assert.deepEqual(there.summary.wall_seconds, here.summary.wall_seconds);
  assert.deepEqual(
    there.nodes.map(({ node }: { node: string }) => node),
    here.nodes.map(({ node }: { node: string }) => node),
  );
  const all = await fetch(
    `${server.url}/api/v1/export?match[]=${encodeURIComponent(`{job="${id}",__name__=~"tacho_.+"}`)}`,
  );
  const samples = (await all.text())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { timestamps: number[] });
  assert.ok(samples.some(({ timestamps }) => timestamps.length >= 130));
  const again = tacho(['push', folder, '--store', server.url]);
  assert.match(again.out, new RegExp(`^${folder}: job ${id}: `));
  const nobody = tacho(['push', folder, '--store', 'http://127.0.0.1:9']);
  assert.equal(nobody.code, 1);
  assert.match(nobody.err, /cannot push .*127\.0\.0\.1:9: nobody listens there/);
  assert.match(tacho(['push', folder]).err, /no store is named/);
});
