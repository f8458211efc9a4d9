import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefixOf } from './prefix.ts';

test('the prefix of a key is what Dask makes of it', () => {
  const prefixes = {
    x: 'x',
    'x-1': 'x',
    'x-1-2-3': 'x',
    "('x-2',1)": 'x',
    "('x',1)": 'x',
    'hello-world-1': 'hello-world',
    ae05086432ca935f6eba409a8ecd4896: 'data',
    '<module.submodule.myclass object at 0xdaf372': 'myclass',
    'x-abcdefab': 'x',
    '_(x)': 'x',
    "('sum-aggregate-37ead518a0ed7f111e5d15243f3ac2ea',)": 'sum-aggregate',
    '': 'Other',
  };
  for (const [key, prefix] of Object.entries(prefixes)) assert.equal(prefixOf(key), prefix, key);
});
