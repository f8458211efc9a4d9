import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { packRecord, unpackRecord } from './record-labels.ts';

test('what is packed comes out again, in pieces that fit into labels', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (record) => {
      // JSON itself has no -0
      const plain = JSON.parse(JSON.stringify(record));
      const recordPieces = packRecord(plain);
      assert.ok(recordPieces.every((recordPiece) => recordPiece.length > 0 && recordPiece.length <= 4000));
      assert.deepEqual(unpackRecord(recordPieces), plain);
    }),
  );
});

test('a large record takes several pieces, and none of them can be missing', () => {
  const record = { texts: Array.from({ length: 4000 }, (_, i) => String(Math.sin(i))) };
  const recordPieces = packRecord(record);
  assert.ok(recordPieces.length > 3);
  assert.deepEqual(unpackRecord(recordPieces), record);
  assert.equal(unpackRecord(recordPieces.slice(1)), undefined);
  assert.equal(unpackRecord(recordPieces.slice(0, -1)), undefined);
  assert.equal(unpackRecord(['no record']), undefined);
  assert.equal(unpackRecord([]), undefined);
});
