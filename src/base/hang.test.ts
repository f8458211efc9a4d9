import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { hang } from './hang.ts';

test('what fits stays as it is, the rest hangs below; long words stay whole', () => {
  assert.equal(hang('tacho:  no  such', 20, 7), 'tacho:  no  such');
  assert.equal(hang('tacho: there is no folder here', 16, 7), 'tacho: there is\n       no folder\n       here');
  assert.equal(
    hang('tacho: /a/rather/long/path is no recording', 16, 7),
    ['tacho:', '       /a/rather/long/path', '       is no', '       recording'].join('\n'),
  );
});

test('no word is lost, and no line is too long but for one word', () => {
  const pathWords = fc.array(fc.stringMatching(/^[a-z/]{1,12}$/), { minLength: 1 });
  fc.assert(
    fc.property(pathWords, fc.integer({ min: 10, max: 60 }), (all, width) => {
      const lines = hang(all.join(' '), width, 4).split('\n');
      assert.deepEqual(
        lines.flatMap((line) => line.trim().split(' ')),
        all,
      );
      for (const line of lines) assert.ok(line.length <= width || !line.trim().includes(' '));
    }),
  );
});
