import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { Unavailable } from '../source.ts';
import { nfs } from './nfs.ts';

const PATH = '/proc/self/mountstats';
const text = readFileSync(fixture('host-gpu-node').path(PATH), 'utf8');

test('one row a mount: bytes, operations, what was sent again, how long the server took', () => {
  const [home, apps] = sample(openOn(nfs, fixture('host-gpu-node')));
  assert.deepEqual(home, {
    mount: '/home/anna',
    server: 'nas1:/export/home/anna',
    normal_read_bytes: 120331442,
    normal_written_bytes: 88120331,
    direct_read_bytes: 4096000,
    direct_written_bytes: 0,
    read_bytes: 98120331,
    written_bytes: 90120442,
    operations: 2 + 4120 + 3890 + 88 + 55120 + 2204,
    read_operations: 4120,
    write_operations: 3890,
    retransmissions: 1 + 2 + 1,
    timeouts: 1,
    queue_ms: 1120 + 88120 + 2 + 420 + 11,
    rtt_ms: 1 + 20331 + 44120 + 5120 + 11024 + 881,
    execute_ms: 1 + 22104 + 133004 + 5140 + 12880 + 912,
    read_rtt_ms: 20331,
    write_rtt_ms: 44120,
  });
  assert.equal(apps!.mount, '/apps shared');
  assert.equal(apps!.server, 'nas2:/apps shared');
  assert.equal(apps!.operations, 4311);
});

test('a mount that the automounter brings later, and one that goes', (t) => {
  const machine = frozen(t, { [PATH]: 'device auto.home mounted on /home with fstype autofs\n' });
  const source = openOn(nfs, machine.host);
  assert.deepEqual(sample(source), []);
  machine.write(PATH, text);
  assert.deepEqual(
    sample(source).map((row) => row.mount),
    ['/home/anna', '/apps shared'],
  );
  machine.write(PATH, text.replace(/device nas1[\s\S]*?\n\n/, ''));
  assert.deepEqual(
    sample(source).map((row) => [row.mount, row.operations]),
    [['/apps shared', 4311]],
  );
});

test('sums that would be too small because the text is torn are not given', (t) => {
  const machine = frozen(t, { [PATH]: text });
  const source = openOn(nfs, machine.host);
  machine.write(PATH, text.slice(0, text.indexOf('GETATTR') + 12));
  assert.deepEqual(sample(source), []);
});

test('a machine without NFS misses nothing', () => {
  const small = fixture('host-small');
  assert.throws(
    () => openOn(nfs, small),
    (error) => error instanceof Unavailable && error.why === 'absent',
  );
});
