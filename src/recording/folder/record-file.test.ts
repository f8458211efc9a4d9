import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { packText } from '../sealed/pack-text.ts';
import { readJson } from './record-file.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-record-file-'));
test.after(() => fs.rmSync(folder, { recursive: true }));

function holds(name: string, content: string | Buffer): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, content);
  return file;
}

test('plain and compressed JSON is read', () => {
  assert.deepEqual(readJson(holds('a.json', '{"a":1}'), 100), { a: 1 });
  assert.deepEqual(readJson(holds('a.json.zst', packText('{"a":1}')), 100), { a: 1 });
  assert.deepEqual(readJson(holds('a.json.zst.7.tmp', packText('{"a":1}')), 100, 'a.json.zst'), { a: 1 });
});

test('what is damaged is a SyntaxError, compressed or not', () => {
  assert.throws(() => readJson(holds('b.json', '{"a":'), 100), SyntaxError);
  assert.throws(() => readJson(holds('b.json.zst', 'no zstd at all'), 100), SyntaxError);
  const torn = packText(JSON.stringify({ a: 'x'.repeat(50) })).subarray(0, -6);
  assert.throws(() => readJson(holds('b.json.zst', torn), 100), SyntaxError);
});

test('a few bytes that unpack to gigabytes are not unpacked', () => {
  const bomb = packText(Buffer.alloc(64 << 20, 32), 1);
  assert.ok(bomb.length < 10_000);
  assert.throws(() => readJson(holds('c.json.zst', bomb), 1 << 20), {
    message: 'it unpacks to more than 1048576 bytes, which are not read',
  });
});
