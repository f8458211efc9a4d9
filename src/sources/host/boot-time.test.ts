import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { frozen } from '../../../test/frozen.ts';
import { bootMilliseconds, keepBootTime } from './boot-time.ts';

const BOOT = 1_800_000_000;

test('a machine was started once: later answers are the first one, also those of the next agent', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: (BOOT + 100) * 1000 + 234 });
  const machine = frozen(t, {
    '/proc/stat': `cpu 1\nbtime ${BOOT}\n`,
    '/proc/uptime': '100.00 5.0\n',
    '/proc/sys/kernel/random/boot_id': 'one\n',
  });
  const { host } = machine;
  assert.equal(bootMilliseconds(host), BOOT * 1000 + 230);
  t.mock.timers.setTime((BOOT + 200) * 1000 + 246);
  machine.write('/proc/uptime', '200.00 5.0\n');
  assert.equal(bootMilliseconds(host), BOOT * 1000 + 230, 'not 250');
  const file = path.join(host.root, 'boot.json');
  fs.writeFileSync(file, JSON.stringify({ boot: 'one', milliseconds: BOOT * 1000 + 190 }));
  keepBootTime(host, file);
  assert.equal(bootMilliseconds(host), BOOT * 1000 + 190);
  fs.writeFileSync(file, JSON.stringify({ boot: 'before', milliseconds: 5 }));
  keepBootTime(host, file);
  assert.deepEqual(JSON.parse(fs.readFileSync(file, 'utf8')), { boot: 'one', milliseconds: BOOT * 1000 + 190 });
  machine.write('/proc/stat', `cpu 1\nbtime ${BOOT + 3600}\n`);
  t.mock.timers.setTime((BOOT + 3800) * 1000);
  assert.equal(bootMilliseconds(host), (BOOT + 3600) * 1000, 'the clock was set');
});
