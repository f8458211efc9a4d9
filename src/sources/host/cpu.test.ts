import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { Frame } from '../../table/frame.ts';
import { cpu } from './cpu.ts';

test('ticks are milliseconds, busy is what is neither idle nor waiting', () => {
  const [all, first, second] = sample(openOn(cpu, fixture('host-small')));
  assert.deepEqual(first, {
    cpu: '0',
    user_ms: 17920,
    nice_ms: 30,
    system_ms: 15130,
    idle_ms: 992730,
    iowait_ms: 410,
    irq_ms: 0,
    softirq_ms: 50,
    steal_ms: 350,
    guest_ms: 0,
    guest_nice_ms: 0,
    busy_ms: 17920 + 30 + 15130 + 50 + 350,
  });
  assert.equal(second!.cpu, '1');
  assert.equal(all!.cpu, 'all');
  assert.equal(all!.busy_ms, Number(first!.busy_ms) + Number(second!.busy_ms));
});

test('what is counted for the whole node stands in the row of all CPUs only', () => {
  const [all, first] = sample(openOn(cpu, fixture('host-small')));
  assert.equal(all!.context_switches, 894924);
  assert.equal(all!.interrupts, 282);
  assert.equal(all!.forks, 20817);
  assert.equal(all!.procs_running, 2);
  assert.equal(all!.procs_blocked, 1);
  assert.equal('context_switches' in first!, false);
});

test('a CPU that goes offline has no row, and the others keep theirs', (t) => {
  const machine = frozen(t, { '/proc/stat': 'cpu  6 0 0 6\ncpu0 1 0 0 2\ncpu1 2 0 0 2\ncpu2 3 0 0 2\nctxt 9\n' });
  const source = openOn(cpu, machine.host);
  const frame = new Frame(source.table);
  assert.deepEqual(
    sample(source, frame).map((row) => row.cpu),
    ['all', '0', '1', '2'],
  );
  machine.write('/proc/stat', 'cpu  4 0 0 4\ncpu0 1 0 0 2\ncpu2 4 0 0 2\nctxt 10\n');
  assert.deepEqual(sample(source, frame).slice(1), [
    { cpu: '0', user_ms: 10, nice_ms: 0, system_ms: 0, idle_ms: 20, busy_ms: 10 },
    { cpu: '2', user_ms: 40, nice_ms: 0, system_ms: 0, idle_ms: 20, busy_ms: 40 },
  ]);
});

test('256 CPUs and a very long line of interrupts', (t) => {
  const lines = Array.from({ length: 256 }, (_, i) => `cpu${i} ${1e9 + i} 0 1 2 3 0 4 0 0 0`);
  const text = `cpu  7 0 0 0 0 0 0 0 0 0\n${lines.join('\n')}\nintr 77 ${'123456 '.repeat(12_000)}\nctxt 88\n`;
  assert.ok(text.length > 1 << 16);
  const { host } = frozen(t, { '/proc/stat': text });
  const source = openOn(cpu, host);
  const frame = new Frame(source.table);
  sample(source, frame);
  const rows = sample(source, frame);
  assert.equal(rows.length, 257);
  assert.equal(rows[256]!.cpu, '255');
  assert.equal(rows[256]!.user_ms, (1e9 + 255) * 10);
  assert.equal(rows[0]!.interrupts, 77);
  assert.equal(rows[0]!.context_switches, 88);
});

test('a torn last line gives no row', (t) => {
  const { host } = frozen(t, { '/proc/stat': 'cpu  6 0 0 6\ncpu0 1 0 0 2\ncpu1 2 0' });
  assert.deepEqual(
    sample(openOn(cpu, host)).map((row) => row.cpu),
    ['all', '0'],
  );
});
