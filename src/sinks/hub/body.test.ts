import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { packAppend, unpackAppend } from './body.ts';
import type { TableBytes } from './protocol.ts';

test('what is packed comes out again', () => {
  const tableRun = fc.record({
    stream: fc.nat(),
    table: fc.string(),
    part: fc.integer({ min: 1 }),
    from: fc.nat(),
    bytes: fc.uint8Array({ maxLength: 200 }),
  });
  fc.assert(
    fc.property(fc.array(tableRun), (all) => {
      const tableRuns = all.map((p): TableBytes => [p.stream, p.table, p.part, p.from, p.bytes.length]);
      const body = packAppend(
        tableRuns,
        all.map((p) => p.bytes),
      );
      const back = unpackAppend(body);
      assert.deepEqual(back.tableRuns, tableRuns);
      assert.deepEqual(
        back.bytes.map((b) => [...b]),
        all.map((p) => [...p.bytes]),
      );
    }),
  );
});

test('a body that unpacks to more than is allowed is refused', () => {
  const body = packAppend([[0, 'meminfo', 1, 0, 1 << 20]], [Buffer.alloc(1 << 20)]);
  assert.throws(() => unpackAppend(body, 1 << 19), /larger than/);
});

test('what is no body is refused with a reason', () => {
  const packed = (text: string): Buffer => zstdCompressSync(Buffer.from(text));
  assert.throws(() => unpackAppend(Buffer.from('GET / HTTP/1.1')), /prefix|frame|data/i);
  assert.throws(() => unpackAppend(packed('no newline')), /list of pieces is missing/);
  assert.throws(() => unpackAppend(packed('{}\n')), /is no list/);
  assert.throws(() => unpackAppend(packed('[[0,"meminfo",0,0,1]]\nx')), /this is no piece/);
  assert.throws(() => unpackAppend(packed('[[0,"meminfo",1,0,3]]\nx')), /the pieces have 3 bytes, the body 1/);
});
