import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseListen } from './listen-address.ts';

test('addresses to listen on, and whether others can reach them', () => {
  const parsed = (text: string): unknown[] => Object.values(parseListen(text));
  assert.deepEqual(parsed('127.0.0.1:9000'), ['127.0.0.1', 9000, true]);
  assert.deepEqual(parsed('localhost'), ['localhost', 8471, true]);
  assert.deepEqual(parsed('8000'), ['127.0.0.1', 8000, true]);
  assert.deepEqual(parsed('[::1]:0'), ['::1', 0, true]);
  assert.deepEqual(parsed('::1'), ['::1', 8471, true]);
  assert.deepEqual(parsed(':8471'), ['::', 8471, false]);
  assert.deepEqual(parsed('*:8471'), ['::', 8471, false]);
  assert.deepEqual(parsed('0.0.0.0:1'), ['0.0.0.0', 1, false]);
  assert.deepEqual(parsed('hub.site:1'), ['hub.site', 1, false]);
  assert.deepEqual(parsed('127.evil.site:1'), ['127.evil.site', 1, false]);
  for (const wrong of ['', 'a b', 'x:99999', '[x]:1', 'http://x', 'a:b', '-x:1', 'nonsense', 'hub.site']) {
    assert.throws(() => parseListen(wrong), /is no HOST:PORT to listen on/, wrong);
  }
});

test('where there is no usual port each address needs its own', () => {
  const form = { setting: 'metrics.listen', hint: 'it looks like 127.0.0.1:9471' };
  const parsed = (text: string): unknown[] => Object.values(parseListen(text, form));
  assert.deepEqual(parsed('127.0.0.1:9471'), ['127.0.0.1', 9471, true]);
  assert.deepEqual(parsed(':9471'), ['::', 9471, false]);
  assert.deepEqual(parsed('[::1]:80'), ['::1', 80, true]);
  for (const wrong of ['9471', 'host:70000', '127.0.0.1', '::1', 'localhost']) {
    assert.throws(() => parsed(wrong), /^Fault: metrics\.listen: ".*" is no HOST:PORT to listen on$/, wrong);
  }
});
