import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import type { KeptFile } from '../host.ts';
import { Host } from '../host.ts';
import { Unavailable } from '../source.ts';
import { pressure } from './pressure.ts';

test('shares in percent and the time since boot', () => {
  const rows = sample(openOn(pressure, fixture('host-small')));
  assert.deepEqual(
    rows.map((row) => row.resource),
    ['cpu', 'memory', 'io'],
  );
  assert.deepEqual(rows[2], {
    resource: 'io',
    some_avg10_percent: 0.82,
    some_avg60_percent: 0.16,
    some_total_us: 10234965,
    full_avg10_percent: 0.8,
    full_avg60_percent: 0.15,
    full_total_us: 9828667,
  });
});

test('an older kernel has no "full" for CPUs, a newer one has interrupts', (t) => {
  const { host } = frozen(t, {
    '/proc/pressure/cpu': 'some avg10=1.00 avg60=2.00 avg300=3.00 total=4\n',
    '/proc/pressure/irq': 'full avg10=5.00 avg60=6.00 avg300=7.00 total=8\n',
  });
  assert.deepEqual(sample(openOn(pressure, host)), [
    { resource: 'cpu', some_avg10_percent: 1, some_avg60_percent: 2, some_total_us: 4 },
    { resource: 'irq', full_avg10_percent: 5, full_avg60_percent: 6, full_total_us: 8 },
  ]);
});

test('no such files: absent; switched off at boot: denied, with what would help', (t) => {
  const { host } = frozen(t, {});
  assert.throws(
    () => openOn(pressure, host),
    (error) => error instanceof Unavailable && error.why === 'absent',
  );
  class SwitchedOff extends Host {
    override tryKeep(path: string): KeptFile {
      const refuse = (): never => {
        throw Object.assign(new Error('operation not supported'), { code: 'EOPNOTSUPP' });
      };
      return { path, fd: -1, bytes: this.bytes, read: refuse, close: () => {} };
    }
  }
  assert.throws(
    () => openOn(pressure, new SwitchedOff()),
    (error) => error instanceof Unavailable && error.why === 'denied' && error.hint === 'boot the kernel with psi=1',
  );
});
