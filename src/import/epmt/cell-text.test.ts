import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { bytesOf } from '../../base/byte-text.ts';
import { TextPool } from '../../recording/read/text-pool.ts';
import { cellMeaning, cellMeanings, repaired } from './cell-text.ts';

test('a backslash escapes a comma, a backslash and control characters; before anything else it is only that', () => {
  const cases: [cell: string, meant: string][] = [
    ['-Wp\\,-MD\\,a.d', '-Wp,-MD,a.d'],
    ['\\,', ','],
    ['a\\\\b', 'a\\b'],
    // an escaped backslash, then an escaped comma
    ['\\\\\\,', '\\,'],
    ['a\\,b\\nc', 'a,b\nc'],
    ['\\,\\d', ',\\d'],
    ['a\\,\\', 'a,\\'],
    ['plain', 'plain'],
  ];
  for (const [cell, meant] of cases) assert.equal(cellMeaning(cell), meant, JSON.stringify(cell));
});

test('what begins as quoted is quoted, so that its bytes are never taken for others', () => {
  const bytes = cellMeaning(repaired(Buffer.from('-o caf\xe9', 'latin1')).toString());
  assert.equal(bytes, "$'-o caf\\xe9'");
  const written = cellMeaning("$'-o caf\\xe9'");
  assert.equal(written, "$'$\\'-o caf\\\\xe9\\''");
  assert.equal(bytesOf(bytes).toString('latin1'), '-o caf\xe9');
  assert.equal(bytesOf(written).toString(), "$'-o caf\\xe9'");
  assert.equal(cellMeaning("-c $'a'"), "-c $'a'");
});

test('a text takes the room of its characters, however many commas were escaped in it', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const cells = Array.from({ length: 1000 }, (_, i) => `-v ${i} ${'temp\\,'.repeat(200)}`);
  collect();
  const before = process.memoryUsage().heapUsed;
  const meant = cells.map(cellMeaning);
  collect();
  const taken = process.memoryUsage().heapUsed - before;
  const characters = meant.reduce((sum, { length }) => sum + length, 0);
  assert.ok(taken < 5 * characters, `${taken} bytes for ${characters} characters`);
});

test('cells mean the same as bytes and as strings', () => {
  const textArbitrary = fc.constantFrom('a', 'ü', ',', '\\,', '\\', '\\\\', '\\n', '$', "'", '\0ff', "$'");
  const cell = fc.array(textArbitrary, { maxLength: 6 }).map((fragments) => fragments.join(''));
  fc.assert(
    fc.property(fc.array(cell, { maxLength: 8 }), (cells) => {
      const pool = new TextPool();
      for (const each of cells) pool.codeOf(each);
      const { bytes, starts } = cellMeanings(pool.packed());
      const decodedTexts = Array.from({ length: pool.size }, (_, i) =>
        bytes.toString('utf8', starts[i], starts[i + 1]),
      );
      assert.deepEqual(decodedTexts, pool.values().map(cellMeaning));
    }),
    { numRuns: 500 },
  );
});
