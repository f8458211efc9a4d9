import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { readJob } from '../src/recording/folder/open.ts';
import { BEGAN, jobOf } from './hub/hub-process.ts';
import { DAEMON, hubFor, NOBODY, record, senderTo } from './hub/senders.ts';
import { temporaryFolder } from './tacho.ts';

test('a hub takes recordings from agents alone, unless users may send theirs', async (t) => {
  const hub = await hubFor(t, { archive: path.join(temporaryFolder(t), 'archive') });
  const agent = await senderTo(t, hub, 'node c1');
  const user = await senderTo(t, hub, 'user nobody 65534');
  assert.equal((await record(agent, NOBODY, 1, BEGAN)).status, 200);
  const refused = await record(user, NOBODY, 7, BEGAN);
  assert.equal(refused.status, 403);
  assert.match(refused.body.error!, /from the agents of nodes alone \(trust\.users_write\)/);
  assert.deepEqual(fs.readdirSync(path.join(hub.archive, 'user=nobody')), ['job=436']);
});

test('what a user sends lies beside what agents sent, and says so', async (t) => {
  const hub = await hubFor(t, {
    archive: path.join(temporaryFolder(t), 'archive'),
    usersWrite: true,
    holds: () => true,
  });
  const agent = await senderTo(t, hub, 'node c1');
  const user = await senderTo(t, hub, 'user nobody 65534');
  // whoever comes first
  assert.equal((await record(user, NOBODY, 7, BEGAN)).status, 200);
  const opened = await record(agent, NOBODY, 1, BEGAN, { recorded_by: 'user' });
  assert.equal(opened.status, 200);
  const folder = (name: string): string => path.join(hub.archive, 'user=nobody', name);
  assert.equal(readJob(folder('job=436'))?.recorded_by, undefined);
  assert.equal(readJob(folder('job=436+own'))?.recorded_by, 'user');
  assert.match(fs.readFileSync(path.join(folder('job=436'), 'node=c1/load.csv'), 'utf8'), /,1\n.*,1\n$/s);
  assert.match(fs.readFileSync(path.join(folder('job=436+own'), 'node=c1/load.csv'), 'utf8'), /,7\n.*,7\n$/s);

  // the number of a stream is no key to it
  const { stream } = opened.body;
  const result = await user.append([stream, 'load', 1, 0, 'time,load1\n']);
  assert.equal(result.status, 403);
  const job = jobOf('436', ['c1'], { ...NOBODY, name: 'mine' });
  assert.equal((await user.record({ stream, job })).status, 403);

  // nor may users send for others
  const other = await record(user, DAEMON, 7, BEGAN);
  assert.equal(other.status, 403);
  assert.match(other.body.error!, /you may not write for user daemon/);
});
