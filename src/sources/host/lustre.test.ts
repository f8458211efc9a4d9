import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { Unavailable } from '../source.ts';
import { lustre } from './lustre.ts';

const STATS = '/proc/fs/lustre/llite/work-ffff9bc043537800/stats';
const TIME = 'snapshot_time             1762381164.279418700 secs.nsecs\n';
const READ = 'read_bytes                10 samples [bytes] 4096 1048576 5242880 123456\n';

test('bytes are sums, operations are counts, what is not listed never happened', () => {
  const [row] = sample(openOn(lustre, fixture('host-gpu-node')));
  assert.equal(row!.filesystem, 'scratch');
  assert.equal(row!.mount, '/scratch');
  assert.equal(row!.reads, 88120);
  assert.equal(row!.read_bytes, 331204412033);
  assert.equal(row!.writes, 120331);
  assert.equal(row!.written_bytes, 512033144201);
  assert.equal(row!.open, 44120);
  assert.equal(row!.getattr, 512033);
  assert.equal(row!.rename, 0);
});

test('statistics in debugfs, and one file system mounted twice', () => {
  const rows = sample(openOn(lustre, fixture('host-cray')));
  assert.deepEqual(
    rows.map((row) => [row.filesystem, row.read_bytes, row.open]),
    [
      ['lus-ffff8881a0b1c000', 3145728, 6],
      ['lus-ffff8882b4c5d800', 5145728, 10],
    ],
  );
});

test('lines that appear with the first operation of their kind', (t) => {
  const machine = frozen(t, { [STATS]: TIME + READ });
  const source = openOn(lustre, machine.host);
  const lustreFigures = () => sample(source).map((row) => [row.reads, row.read_bytes, row.written_bytes, row.open])[0];
  assert.deepEqual(lustreFigures(), [10, 5242880, 0, 0]);
  const written = 'write_bytes               2 samples [bytes] 1 9 10\n';
  machine.write(STATS, `${TIME}${written}${READ}open                      3 samples [usecs] 1 2 3 4\n`);
  assert.deepEqual(lustreFigures(), [10, 5242880, 10, 3]);
});

test('mounted, but closed to this user: denied, with what would help', (t) => {
  const { host } = frozen(t, { '/proc/self/mounts': '10.0.0.1@tcp:/work /work lustre rw 0 0\n' });
  assert.throws(
    () => openOn(lustre, host),
    (error) => error instanceof Unavailable && error.why === 'denied' && /debug\/lustre/.test(error.hint ?? ''),
  );
});

test('a machine without Lustre misses nothing', () => {
  const small = fixture('host-small');
  assert.throws(
    () => openOn(lustre, small),
    (error) => error instanceof Unavailable && error.why === 'absent',
  );
});
