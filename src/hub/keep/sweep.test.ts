import assert from 'node:assert/strict';
import nodeFs, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../test/tacho.ts';
import { archiveFolderKey } from '../receive/archive-folder.ts';
import { type Kept, keptRecordings } from './sweep.ts';

function archiveOf(t: TestContext, ...recordings: string[]): string {
  const root = temporaryFolder(t);
  for (const each of recordings) {
    fs.mkdirSync(path.join(root, each, 'node=c1'), { recursive: true });
    fs.writeFileSync(path.join(root, each, 'node=c1/a.parquet'), 'x'.repeat(1000));
  }
  return root;
}

async function lookedAt(root: string, meanwhile: (kept: Kept) => void = () => {}) {
  const messages: string[] = [];
  const bytes: Record<string, number> = {};
  for await (const kept of keptRecordings(root, false, (text) => messages.push(text))) {
    bytes[archiveFolderKey(kept.archivePath)] = kept.bytes;
    meanwhile(kept);
  }
  return { bytes, messages };
}

test('a file counts with what it takes on the disk, once', async (t) => {
  const root = archiveOf(t, 'user=eve/job=1');
  const node = path.join(root, 'user=eve/job=1/node=c1');
  fs.writeFileSync(path.join(node, 'sparse'), '');
  fs.truncateSync(path.join(node, 'sparse'), 2 ** 40);
  for (let i = 0; i < 9; i++) fs.linkSync(path.join(node, 'a.parquet'), path.join(node, `again${i}`));
  assert.deepEqual(await lookedAt(root), { bytes: { 'user=eve/job=1': 1000 }, messages: [] });
});

test('what is put in the place of a folder while others have their turn is not entered', async (t) => {
  const root = archiveOf(t, 'user=eve/job=1', 'user=eve/job=2', 'elsewhere/job=1', 'elsewhere/job=2');
  for (const job of ['job=1', 'job=2'])
    fs.appendFileSync(path.join(root, 'elsewhere', job, 'node=c1/a.parquet'), 'more');
  const { bytes } = await lookedAt(root, () => {
    if (fs.existsSync(path.join(root, 'eve'))) return;
    fs.renameSync(path.join(root, 'user=eve'), path.join(root, 'eve'));
    fs.symlinkSync('elsewhere', path.join(root, 'user=eve'));
  });
  assert.deepEqual(bytes, { 'user=eve/job=1': 1000, 'user=eve/job=2': 1000 });
});

test('what cannot be looked at is told, and the rest is looked at', async (t) => {
  const root = archiveOf(t, 'user=ada/job=1', 'user=eve/job=1', 'user=zoe/job=1');
  const broken = (call: (file: string) => unknown) => (file: string) => {
    const where = fs.realpathSync(path.dirname(file));
    if (where.includes('user=eve')) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    return call(file);
  };
  t.after(() => syncBuiltinESMExports());
  t.mock.method(nodeFs, 'lstatSync', broken(nodeFs.lstatSync) as never);
  syncBuiltinESMExports();
  const { bytes, messages } = await lookedAt(root);
  assert.deepEqual(bytes, { 'user=ada/job=1': 1000, 'user=eve/job=1': 0, 'user=zoe/job=1': 1000 });
  assert.equal(messages.length, 1);
  assert.match(messages[0]!, /^cannot look at user=eve\/job=1\/node=c1: /);
});
