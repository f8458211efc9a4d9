import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { type Received, readReceived, writeReceived } from './received.ts';

const RECEIVED: Received = {
  format: 1,
  done: true,
  tables: { vmstat: { part: 3, bytes: 40, live: 0, header: 'time,a,b\n' } },
  dropped: [{ table: 'vmstat', from: { part: 1, bytes: 0 }, to: { part: 2, bytes: 0 }, rows: 60 }],
};

function folderOf(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-received-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

test('what was received is noted in few bytes: the headers of wide tables are compressed', (t) => {
  const folder = folderOf(t);
  const header = `time,${Array.from({ length: 200 }, (_, i) => `pages_of_kind_${i}`).join(',')}\n`;
  const tables = { vmstat: { part: 1, bytes: 9, live: 0, header } };
  writeReceived(folder, { format: 1, tables });
  assert.deepEqual(readReceived(folder), { format: 1, tables });
  assert.deepEqual(fs.readdirSync(folder), ['received.json.zst']);
  assert.ok(fs.statSync(path.join(folder, 'received.json.zst')).size < header.length / 3);
});

test('what an earlier version noted is read, and replaced', (t) => {
  const folder = folderOf(t);
  fs.writeFileSync(path.join(folder, 'received.json'), JSON.stringify(RECEIVED));
  assert.deepEqual(readReceived(folder), RECEIVED);
  writeReceived(folder, readReceived(folder));
  assert.deepEqual(fs.readdirSync(folder), ['received.json.zst']);
  assert.deepEqual(readReceived(folder), RECEIVED);
});

test('a file that is damaged, or becomes too large, is as none', (t) => {
  const folder = folderOf(t);
  const file = path.join(folder, 'received.json.zst');
  writeReceived(folder, RECEIVED);
  const whole = fs.readFileSync(file);
  const large = zstdCompressSync(Buffer.alloc((64 << 20) + 1, ' '));
  for (const bytes of [whole.subarray(0, 20), Buffer.from('{}'), large, Buffer.alloc(0)]) {
    fs.writeFileSync(file, bytes);
    assert.deepEqual(readReceived(folder), { format: 1, tables: {} });
  }
});
