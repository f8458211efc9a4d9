import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compressHostlist, expandHostlist, nodesText } from './hostlist.ts';

test('ranges, leading zeros, suffixes and several brackets', () => {
  assert.deepEqual(expandHostlist('c[1-3,07-10],gpu[001-002]-ib'), [
    'c1',
    'c2',
    'c3',
    'c07',
    'c08',
    'c09',
    'c10',
    'gpu001-ib',
    'gpu002-ib',
  ]);
  assert.deepEqual(expandHostlist('login'), ['login']);
  assert.deepEqual(expandHostlist('a,b c'), ['a', 'b', 'c']);
  assert.deepEqual(expandHostlist('rack[1-2]n[8-9]'), ['rack1n8', 'rack1n9', 'rack2n8', 'rack2n9']);
  assert.deepEqual(expandHostlist('n[9-11]'), ['n9', 'n10', 'n11']);
  assert.deepEqual(expandHostlist(''), []);
});

test('what is no list is kept as it is', () => {
  assert.deepEqual(expandHostlist('c[3-1]'), ['c[3-1]']);
  assert.deepEqual(expandHostlist('c[1-'), ['c[1-']);
  assert.deepEqual(expandHostlist('c[a-b]'), ['c[a-b]']);
  assert.deepEqual(expandHostlist('c[0-99999999999]'), ['c[0-99999999999]']);
});

test('a list made from names gives those names back', () => {
  const group = fc.record({
    prefix: fc.stringMatching(/^[a-z]{1,5}-?$/),
    width: fc.integer({ min: 1, max: 4 }),
    ranges: fc.array(fc.tuple(fc.nat(9000), fc.nat(20)), { minLength: 1, maxLength: 4 }),
    suffix: fc.stringMatching(/^(-[a-z]{1,3})?$/),
  });
  fc.assert(
    fc.property(fc.array(group, { maxLength: 4 }), (groups) => {
      const names: string[] = [];
      const listTexts: string[] = [];
      for (const { prefix, width, ranges, suffix } of groups) {
        const rangeTexts = ranges.map(([first, more]) => {
          const digits = (n: number): string => String(n).padStart(width, '0');
          const length = digits(first).length;
          for (let n = first; n <= first + more; n++) names.push(prefix + String(n).padStart(length, '0') + suffix);
          return more === 0 ? digits(first) : `${digits(first)}-${digits(first + more)}`;
        });
        listTexts.push(`${prefix}[${rangeTexts.join(',')}]${suffix}`);
      }
      assert.deepEqual(expandHostlist(listTexts.join(',')), names);
    }),
  );
});

test('no text makes it fail or hang', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-c0-9[\],\- ]{0,40}$/), (text) => {
      assert.ok(Array.isArray(expandHostlist(text)));
    }),
  );
});

test('a list of very many names, in one bracket or in many', () => {
  const names = expandHostlist('c[1-300000],d1');
  assert.deepEqual([names.length, names[299_999], names.at(-1)], [300_001, 'c300000', 'd1']);
});

test('names become a short list of the same names in the same order', () => {
  const names = expandHostlist('c[1-200000],login,n[098-101],c1,c2');
  assert.equal(compressHostlist(names), 'c[1-200000],login,n[098-101],c1,c2');
  const name = fc.stringMatching(/^[a-c.-]{1,2}[019]{1,2}$/);
  fc.assert(
    fc.property(fc.array(fc.oneof(name, fc.constantFrom('c8', 'c9', 'c10', 'c09', 'c11', 'c3x'))), (all) => {
      assert.deepEqual(expandHostlist(compressHostlist(all)), all);
    }),
  );
});

test('of many nodes only the first are named', () => {
  assert.equal(nodesText(['c1', 'c2']), 'c1, c2');
  assert.equal(nodesText(expandHostlist('c[1-2000]')), 'c[1-2000]');
  const odd = Array.from({ length: 2000 }, (_, i) => `c${2 * i + 1}`);
  assert.equal(nodesText(odd), 'c1, c3, c5, c7, c9, c11, c13, c15 and 1,992 more');
});
