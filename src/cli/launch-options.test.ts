import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { launchOptions } from './launch-options.ts';

test('--hosts that is given again adds machines', () => {
  const command = launchOptions(new Command(), { missing: '0', timeout: '30s' });
  command.parse(['--hosts', 'c1', '--hosts', 'c2, c3'], { from: 'user' });
  assert.deepEqual(command.opts().hosts, ['c1', 'c2', 'c3']);
});
