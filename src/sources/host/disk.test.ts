import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { Unavailable } from '../source.ts';
import { disk } from './disk.ts';

test('whole disks and what is built on them, no partitions, CD, loop or RAM devices', () => {
  const rows = sample(openOn(disk, fixture('host-gpu-node')));
  assert.deepEqual(
    rows.map((row) => [row.disk, row.class, row.label]),
    [
      ['nvme0n1', 'disk', 'SAMSUNG MZQL27T6HBLA-00A07'],
      ['sda', 'disk', 'MTFDDAK480TDS'],
      ['dm-0', 'dm', 'rhel-root'],
      ['md127', 'md', 'raid1'],
    ],
  );
});

test('sectors are 512 bytes', () => {
  const [row] = sample(openOn(disk, fixture('host-small')));
  assert.deepEqual(row, {
    disk: 'vda',
    class: 'disk',
    reads: 29496,
    reads_merged: 5766,
    read_bytes: 2224010 * 512,
    read_ms: 28378,
    writes: 6477,
    writes_merged: 18209,
    written_bytes: 1748680 * 512,
    write_ms: 4575,
    in_flight: 0,
    busy_ms: 13152,
    queue_ms: 33220,
    discards: 3331,
    discards_merged: 46,
    discarded_bytes: 151408 * 512,
    discard_ms: 253,
    flushes: 238,
    flush_ms: 13,
  });
});

test('an older kernel does not know discards and flushes: missing, not 0', () => {
  const [row] = sample(openOn(disk, fixture('host-cray')));
  assert.equal(row!.queue_ms, 44);
  assert.equal('discards' in row!, false);
  assert.equal('flushes' in row!, false);
});

test('disks come and go between reads', (t) => {
  const line = (name: string, reads: number) => `   8       0 ${name} ${reads} 0 8 1 0 0 0 0 0 1 1\n`;
  const machine = frozen(t, {
    '/proc/diskstats': line('sda', 1) + line('sdb', 2),
    '/sys/block/sda/device/model': 'A\n',
    '/sys/block/sdb/device/model': 'B\n',
  });
  const source = openOn(disk, machine.host);
  assert.deepEqual(
    sample(source).map((row) => [row.disk, row.reads]),
    [
      ['sda', 1],
      ['sdb', 2],
    ],
  );
  machine.write('/proc/diskstats', line('sdb', 5));
  assert.deepEqual(
    sample(source).map((row) => [row.disk, row.label, row.reads]),
    [['sdb', 'B', 5]],
  );
  machine.write('/sys/block/sdaa/device/model', 'C\n');
  machine.write('/proc/diskstats', line('sdaa', 7) + line('sdb', 6));
  assert.deepEqual(
    sample(source).map((row) => [row.disk, row.label, row.reads]),
    [
      ['sdaa', 'C', 7],
      ['sdb', 'B', 6],
    ],
  );
});

test('a machine without block devices misses nothing', (t) => {
  const { host } = frozen(t, { '/proc/diskstats': '' });
  assert.throws(
    () => openOn(disk, host),
    (error) => error instanceof Unavailable && error.why === 'absent',
  );
});
