import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from './network.ts';

test('the addresses of one IPv6 host are one network; IPv4 addresses are their own', () => {
  const networks: Record<string, string | undefined> = {
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:db8:1:2::9': '2001:db8:1:2::/64',
    '2001:db8::9': '2001:db8:0:0::/64',
    '::1': '0:0:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '::ffff:10.0.0.1': undefined,
    '10.0.0.1': undefined,
    '': undefined,
  };
  for (const [address, network] of Object.entries(networks)) assert.equal(networkOf(address), network, address);
});
