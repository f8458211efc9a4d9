import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { Client, HEADER, jobOf, rows, startHubProcess } from './hub/hub-process.ts';
import { temporaryFolder } from './tacho.ts';

const FIRST = `${HEADER}${rows(0, 3)}`;

test('samples are filed by user, job and node, each once, whatever is sent again', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = new Client(hub.address);
  t.after(() => client.close());
  const { body, status } = await client.open({ node: 'c1', job: jobOf('7', ['c1']) });
  assert.equal(status, 200, body.error);
  assert.deepEqual(body.tables, {});
  const { stream } = body;
  const file = path.join(archive, 'user=nobody/job=7/node=c1/loadavg.csv');
  const have = async (part: number, from: number, text: string) =>
    (await client.append([stream, 'loadavg', part, from, text])).body.have;
  assert.deepEqual(await have(1, 0, FIRST), [[stream, 'loadavg', 1, FIRST.length]]);
  // the same again, an overlap, a gap
  assert.deepEqual(await have(1, 0, FIRST), [[stream, 'loadavg', 1, FIRST.length]]);
  const more = rows(3, 2);
  assert.deepEqual(await have(1, FIRST.length - 5, FIRST.slice(-5) + more), [
    [stream, 'loadavg', 1, FIRST.length + more.length],
  ]);
  assert.deepEqual(await have(1, 10_000, more), [[stream, 'loadavg', 1, FIRST.length + more.length]]);
  assert.deepEqual(await have(3, 0, more), [[stream, 'loadavg', 1, FIRST.length + more.length]]);
  assert.equal(fs.readFileSync(file, 'utf8'), FIRST + more);
  assert.equal(JSON.parse(fs.readFileSync(path.join(archive, 'user=nobody/job=7/job.json'), 'utf8')).id, '7');
  assert.equal(await hub.kill('SIGTERM'), 0);
});
