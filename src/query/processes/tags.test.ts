import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTags, tagWords } from './tags.ts';

test('tags as they are written in the environment', () => {
  assert.deepEqual(
    [...parseTags('op:build;seq:4')],
    [
      ['op', 'build'],
      ['seq', '4'],
    ],
  );
  assert.deepEqual(
    [...parseTags(' op : build ; fast ;; :x')],
    [
      ['op', 'build'],
      ['fast', '1'],
    ],
  );
  assert.deepEqual([...parseTags('url:http://x:80')], [['url', 'http://x:80']]);
  assert.equal(parseTags('').size, 0);
  assert.equal(tagWords(parseTags('a:1;b')), 'a:1;b:1');
});
