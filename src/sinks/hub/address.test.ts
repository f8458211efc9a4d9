import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHubAddress } from './address.ts';

test('addresses of a hub as people write them', () => {
  assert.equal(parseHubAddress('hub').href, 'http://hub:8471/');
  assert.equal(parseHubAddress('hub:9000').href, 'http://hub:9000/');
  assert.equal(parseHubAddress('https://hub').href, 'https://hub:8471/');
  assert.equal(parseHubAddress('https://hub:443').href, 'https://hub/');
  assert.equal(parseHubAddress('[::1]:8471', true).href, 'https://[::1]:8471/');
});

test('what is no address is refused: a folder that is not there, another protocol, a password', () => {
  for (const folder of ['/archive/tacho', './archive', '../archive', '~/archive']) {
    assert.throws(() => parseHubAddress(folder), /there is no folder/);
  }
  for (const wrong of ['', 'ftp://hub', 'http://me:secret@hub', 'http://hub/?x=1', 'a b']) {
    assert.throws(() => parseHubAddress(wrong), /is not the address of a hub/);
  }
});
