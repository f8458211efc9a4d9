import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAt, isLoopback, plain } from './same-host.ts';

const hosts: Record<string, string[]> = { c1: ['10.0.0.1'], c2: ['10.0.0.2'], here: ['127.0.1.1'] };
const resolve = (name: string): Promise<string[]> => Promise.resolve(hosts[name] ?? []);

test('a node is where its credential was made or its connection comes from', async () => {
  assert.equal(await isAt('c1', '10.0.0.1', '10.0.0.1', resolve), true);
  assert.equal(await isAt('c1', '127.0.1.1', '::ffff:10.0.0.1', resolve), true);
  assert.equal(await isAt('c1', '10.0.0.1', '192.168.0.9', resolve), true);
  assert.equal(await isAt('c2', '10.0.0.1', '10.0.0.1', resolve), false);
  assert.equal(await isAt('c2', '127.0.1.1', '10.0.0.1', resolve), false);
  assert.equal(await isAt('unknown', '10.0.0.1', '10.0.0.1', resolve), false);
});

test('on one machine loopback is loopback, and nobody from outside', async () => {
  assert.equal(await isAt('here', '127.0.1.1', '127.0.0.1', resolve), true);
  assert.equal(await isAt('here', '127.0.1.1', '10.0.0.1', resolve), false);
  assert.equal(await isAt('c1', '127.0.1.1', '127.0.0.1', resolve), false);
});

test('addresses as sockets say them', () => {
  assert.equal(plain('::ffff:10.1.2.3'), '10.1.2.3');
  assert.equal(plain('fe80::1'), 'fe80::1');
  assert.equal(isLoopback('::ffff:127.0.0.1'), true);
  assert.equal(isLoopback('::1'), true);
  assert.equal(isLoopback('10.127.0.1'), false);
});
