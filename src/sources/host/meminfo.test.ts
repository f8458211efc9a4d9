import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { Frame } from '../../table/frame.ts';
import { Unavailable } from '../source.ts';
import { meminfo } from './meminfo.ts';

test('sizes are in bytes, huge pages are counted, brackets become words', () => {
  const [row] = sample(openOn(meminfo, fixture('host-small')));
  assert.equal(row!.MemTotal_bytes, 4028544 * 1024);
  assert.equal(row!.Inactive_anon_bytes, 370016 * 1024);
  assert.equal(row!.HugePages_Free, 6);
  assert.equal(row!.Hugepagesize_bytes, 2 * 1024 * 1024);
});

test('the table has this kernel’s fields in this kernel’s order, also those nobody has heard of', (t) => {
  const { host } = frozen(t, { '/proc/meminfo': 'MemTotal:  10 kB\nNovel(thing):  7 kB\nNovelPages: 3\n' });
  const source = openOn(meminfo, host);
  assert.deepEqual(
    source.table.columns.map(({ name, unit }) => [name, unit]),
    [
      ['MemTotal_bytes', 'bytes'],
      ['Novel_thing_bytes', 'bytes'],
      ['NovelPages', 'count'],
    ],
  );
  assert.deepEqual(sample(source), [{ MemTotal_bytes: 10240, Novel_thing_bytes: 7168, NovelPages: 3 }]);
});

test('a field that comes, goes or moves never puts a number into another column', (t) => {
  const machine = frozen(t, { '/proc/meminfo': 'MemTotal:  10 kB\nMemFree:   4 kB\nDirty:     1 kB\n' });
  const source = openOn(meminfo, machine.host);
  const frame = new Frame(source.table);
  assert.deepEqual(sample(source, frame), [{ MemTotal_bytes: 10240, MemFree_bytes: 4096, Dirty_bytes: 1024 }]);
  machine.write('/proc/meminfo', 'MemTotal:  10 kB\nDirty:     2 kB\nNew:       9 kB\n');
  assert.deepEqual(sample(source, frame), [{ MemTotal_bytes: 10240, Dirty_bytes: 2048 }]);
  machine.write('/proc/meminfo', 'Dirty:     3 kB\nMemFree:   5 kB\nMemTotal:  10 kB\n');
  assert.deepEqual(sample(source, frame), [{ MemTotal_bytes: 10240, MemFree_bytes: 5120, Dirty_bytes: 3072 }]);
});

test('a torn line is missing, not a smaller number', (t) => {
  const machine = frozen(t, { '/proc/meminfo': 'MemTotal:  10 kB\nMemFree:   4567 kB\n' });
  const source = openOn(meminfo, machine.host);
  machine.write('/proc/meminfo', 'MemTotal:  10 kB\nMemFree:   45');
  assert.deepEqual(sample(source), [{ MemTotal_bytes: 10240 }]);
});

test('without the file the source is unavailable', (t) => {
  const { host } = frozen(t, {});
  assert.throws(
    () => openOn(meminfo, host),
    (error) => error instanceof Unavailable && error.why === 'denied',
  );
});
