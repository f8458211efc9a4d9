import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { printable } from '../../base/printable.ts';
import { ProcessStat, readStat } from './stat.ts';

const REST =
  ' S 17 18 19 0 -1 4194304 20 21 22 23 24 25 26 27 20 -5 28 0 29 30 31 18446744073709551615 1 2 3 0 0 0 0 0 1 0 0 0 17 63 0 0 0 0 0\n';

const line = (name: Uint8Array): Buffer => Buffer.concat([Buffer.from('4711 ('), name, Buffer.from(`)${REST}`)]);

test('any name: blanks, brackets, newlines, numbers, bytes that are no text', () => {
  const hostile = fc.oneof(
    fc.uint8Array({ maxLength: 64 }),
    fc.constantFrom(') R 1 2 3', '((', '))) ', '\n\n', ' (a) S 1', '1 2 3 4 5 6 7').map((s) => Buffer.from(s)),
  );
  fc.assert(
    fc.property(hostile, (name) => {
      const bytes = line(name);
      const stat = new ProcessStat();
      assert.equal(readStat(bytes, bytes.length, stat), true);
      assert.deepEqual(Buffer.from(bytes.subarray(stat.nameFrom, stat.nameEnd)), Buffer.from(name));
      const { nameFrom, nameEnd, ...fields } = stat;
      assert.deepEqual(fields, {
        state: 83,
        parent: 17,
        group: 18,
        session: 19,
        minorFaults: 20,
        majorFaults: 22,
        user: 24,
        system: 25,
        childrenUser: 26,
        childrenSystem: 27,
        threads: 28,
        start: 29,
        virtualBytes: 30,
        residentPages: 31,
        cpu: 63,
      });
    }),
  );
});

test('what is cut off before its last field is refused, whatever lay in the buffer before', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 15 }), fc.nat(), (name, cut) => {
      const bytes = line(name);
      const complete = bytes.lastIndexOf(' 63 ') + 4;
      assert.equal(readStat(bytes, cut % (complete - 1), new ProcessStat()), false);
    }),
  );
});

test('arbitrary bytes never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      readStat(Buffer.from(bytes), bytes.length, new ProcessStat());
    }),
  );
});

test('names for people keep letters and lose what would break a line', () => {
  assert.equal(printable('größe 数 a,b"c'), 'größe 数 a,b"c');
  assert.equal(printable('a\nb\x1b[31m\tc\x7f'), 'a\\nb\\x1b[31m\\tc\\x7f');
});
