import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../test/tacho.ts';
import { ArchiveFolders } from '../receive/archive-folder.ts';
import { Descriptors } from '../receive/descriptors.ts';
import { type FiledRecording, Filing } from '../receive/filing.ts';
import { ONE_OWNER } from '../receive/owner.ts';
import { Caretaker, type CaretakerOptions, sweepEvery } from './caretaker.ts';
import type { Finisher } from './finish.ts';

test('a short time to seal after is kept to', () => {
  assert.deepEqual([3600, 600, 45, 1].map(sweepEvery), [600, 600, 45, 10]);
});

function caring(t: TestContext, options: Partial<CaretakerOptions>) {
  const root = temporaryFolder(t);
  const archiveFolders = new ArchiveFolders(root, ONE_OWNER);
  t.after(() => archiveFolders.close());
  const filing = new Filing({ folders: archiveFolders, descriptors: new Descriptors(16), rolled: () => {} });
  const waiting = new Set<FiledRecording>();
  // it never comes to sealing anything
  const finisher = {
    isPaused: () => false,
    hasWaiting: (each: FiledRecording) => waiting.has(each),
    consider: (each: FiledRecording) => void waiting.add(each),
    giveUpWaiting: () => {},
  } as unknown as Finisher;
  const messages: string[] = [];
  const caretaker = new Caretaker(filing, finisher, (text) => messages.push(text), { sealAfter: 3600, ...options });
  const add = (recording: string, file: string, job = '{}'): void => {
    fs.mkdirSync(path.join(root, recording, 'node=c1'), { recursive: true });
    fs.writeFileSync(path.join(root, recording, 'job.json'), job);
    fs.writeFileSync(path.join(root, recording, 'node=c1', file), 'x');
  };
  return { root, messages, caretaker, waiting, add };
}

test('a clock that is set removes nothing by age, and that is told once', async (t) => {
  const DAY = 86_400_000;
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const { root, messages, caretaker, add } = caring(t, { age: 90 * 86_400 });
  add('user=ada/job=1', 'a.parquet');
  const now = Date.now();
  t.mock.timers.setTime(now + 100 * DAY);
  for (let i = 0; i < 3; i++) await caretaker.look();
  assert.deepEqual(fs.readdirSync(path.join(root, 'user=ada')), ['job=1']);
  assert.equal(messages.length, 1);
  assert.match(messages[0]!, /^the clock was set 100 d.* forward since the hub began: nothing is removed by age;/);
  // and when it is right again, what is old goes
  const old = (now - 91 * DAY) / 1000;
  for (const name of ['job.json', 'node=c1/a.parquet'])
    fs.utimesSync(path.join(root, 'user=ada/job=1', name), old, old);
  t.mock.timers.setTime(now);
  await caretaker.look();
  assert.deepEqual(fs.readdirSync(path.join(root, 'user=ada')), []);
  assert.match(messages[1]!, /^the clock is right again/);
});

test('a look reads a bounded part of what one user has not sealed, and no more until that is sealed', async (t) => {
  const { waiting, caretaker, add } = caring(t, {});
  const large = JSON.stringify({ format: 1, name: 'x'.repeat(500_000) });
  for (let i = 0; i < 100; i++) add(`user=eve/job=${i}`, 'a.csv', large);
  add('user=zoe/job=1', 'a.csv');
  const users = (): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { user } of waiting) counts[user] = (counts[user] ?? 0) + 1;
    return counts;
  };
  await caretaker.look();
  const { eve, ...others } = users();
  assert.deepEqual(others, { zoe: 1 });
  assert.ok(eve! > 10 && eve! < 40, `${eve}`);
  await caretaker.look();
  assert.deepEqual(users(), { eve, zoe: 1 });
  // those go on that come next
  waiting.clear();
  for (let i = 0; i < 10; i++) await caretaker.look();
  assert.ok(users().eve! > 0);
});
