import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../test/made/eventually.ts';
import { testAgent, testJob, testRecording } from '../../../test/made/spool.ts';
import { bytesRead } from '../../recording/folder/record-file.ts';
import { ArchiveFolders } from '../receive/archive-folder.ts';
import { Descriptors } from '../receive/descriptors.ts';
import { Filing } from '../receive/filing.ts';
import { ONE_OWNER } from '../receive/owner.ts';
import { Compressor } from './compress.ts';
import { Finisher } from './finish.ts';

/** An archive, its finisher, and what was said. */
function finisherOf(t: TestContext, holds: (folder: string) => boolean) {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-finish-'));
  t.after(() => fs.rmSync(archive, { recursive: true, force: true }));
  const archiveFolders = new ArchiveFolders(archive, ONE_OWNER);
  t.after(() => archiveFolders.close());
  const filing = new Filing({ folders: archiveFolders, descriptors: new Descriptors(16), rolled: () => {} });
  const messages: string[] = [];
  const finisher = new Finisher(filing, new Compressor(archiveFolders), { tell: (text) => messages.push(text), holds });
  t.after(() => finisher.close());
  const recording = (user: string, id = '1') => {
    const shelf = path.join(archive, `user=${user}`);
    const folder = testRecording(shelf, `job=${id}`, testJob(id, { user }), testAgent('c1'));
    fs.writeFileSync(path.join(folder, 'counted.csv'), 'time,who,n,label\n1,c1,1,one\n');
    return filing.adopt({ way: [`user=${user}`, `job=${id}`], owner: undefined }, 'job', user)!;
  };
  const isSealed = async ({ key }: { key: string }): Promise<boolean> => {
    const sealed = path.join(archive, key, 'node=c1/counted.csv.zst');
    return eventually(sealed, () => fs.existsSync(sealed));
  };
  return { finisher, messages, recording, isSealed, archive };
}

test('a recording of which nobody can say whether it is still read is left for later, and the others are sealed', async (t) => {
  const { finisher, messages, recording, isSealed } = finisherOf(t, (folder) => {
    if (folder.endsWith('user=eve/job=1')) throw new Error('too many levels of symbolic links');
    return false;
  });
  const [eve, ada] = [recording('eve'), recording('ada')];
  finisher.giveUpWaiting(eve);
  assert.equal(messages.length, 1);
  assert.match(messages[0]!, /^cannot seal user=eve\/job=1: too many levels of symbolic links; it stays as it is/);
  assert.deepEqual([finisher.hasWaiting(eve), finisher.isPaused(eve.key)], [false, true]);
  finisher.giveUpWaiting(ada);
  assert.ok(await isSealed(ada), messages.join('\n'));
});

test('a user whose recordings take long to look at is asked for a few at a time, in turn', async (t) => {
  let busy = true;
  let asked: string[] = [];
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { finisher, recording, isSealed } = finisherOf(t, (folder) => {
    const name = folder.slice(folder.indexOf('user='));
    asked.push(name);
    if (!name.startsWith('user=eve')) return false;
    now += 40;
    return busy;
  });
  const eve = ['1', '2', '3', '4'].map((id) => recording('eve', id));
  const ada = recording('ada');
  for (const each of eve) finisher.giveUpWaiting(each);
  asked = [];
  finisher.giveUpWaiting(ada);
  assert.equal(asked.length, 3, 'two of one user, and the other one');
  assert.equal(asked[2], 'user=ada/job=1');
  assert.ok(await isSealed(ada));
  // all have their turn
  await eventually('a turn for each', () => new Set(asked).size >= 5);
  assert.equal(new Set(asked).size, 5);
  busy = false;
  for (const each of eve) assert.ok(await isSealed(each));
});

test('a user with very many folders of nodes delays nobody while they are looked at', async (t) => {
  const { finisher, recording, isSealed, archive } = finisherOf(t, () => false);
  const [eve, ada] = [recording('eve'), recording('ada')];
  const note = (node: string, fields: object): void => {
    const folder = path.join(archive, eve.key, `node=${node}`);
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'received.json'), JSON.stringify({ done: true, tables: {}, ...fields }));
  };
  note('c1', {});
  for (let i = 0; i < 100; i++) note(`x${i}`, { more: 'x'.repeat(4e5) });
  const before = bytesRead();
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  t.after(() => clearInterval(timer));
  finisher.consider(eve);
  assert.equal(bytesRead(), before, 'whoever says that a node is done does not wait');
  finisher.giveUpWaiting(ada);
  assert.ok((await isSealed(ada)) && (await isSealed(eve)));
  assert.ok(bytesRead() - before > 40e6 && turns > 2, `${bytesRead() - before} bytes, ${turns} turns`);
});
