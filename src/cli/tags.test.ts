import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTags } from './tags.ts';

test('several tags at once', () => {
  assert.deepEqual(parseTags(['k:v:w;x:1', 'a=b']), { k: 'v:w', x: '1', a: 'b' });
  assert.throws(() => parseTags(['k:v;x']), /"x" is not a tag/);
});
