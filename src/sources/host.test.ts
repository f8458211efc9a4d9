import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'node:test';
import { frozen } from '../../test/frozen.ts';
import { numberFile } from './host/number-file.ts';
import { Host, type KeptFile } from './host.ts';

function contents(file: KeptFile): string {
  const end = file.read();
  // after the read: a file that does not fit brings a new buffer
  return file.bytes.toString('latin1', 0, end);
}

test('a kept file gives its newest contents at every read', (t) => {
  const machine = frozen(t, { '/proc/loadavg': 'old\n' });
  const file = machine.host.keep('/proc/loadavg', true);
  assert.equal(contents(file), 'old\n');
  machine.write('/proc/loadavg', 'newer\n');
  assert.equal(contents(file), 'newer\n');
  file.close();
  file.close();
});

test('the buffer grows when a file does not fit, also when it is read in one piece', (t) => {
  const long = `${'x'.repeat(200_000)}\n`;
  for (const single of [true, false]) {
    const machine = frozen(t, { '/proc/interrupts': long });
    const file = machine.host.keep('/proc/interrupts', single);
    assert.equal(contents(file), long);
    file.close();
  }
});

test('a file of a process that has ended reads as −1', async () => {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  const file = new Host().keep(`/proc/${child.pid}/stat`, true);
  assert.ok(file.read() > 0);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(file.read(), -1);
  file.close();
});

test('what is not there is empty or undefined, never an exception', (t) => {
  const { host } = frozen(t, { '/sys/a': 'word \n' });
  assert.deepEqual(host.list('/sys/none'), []);
  assert.equal(host.text('/sys/none'), undefined);
  assert.equal(host.text('/sys/a'), 'word');
  assert.equal(host.link('/sys/a'), undefined);
  assert.equal(host.tryKeep('/sys/none'), undefined);
  assert.equal(numberFile(host, '/sys/none'), undefined);
});

test('a note is kept once', () => {
  const host = new Host();
  host.note({ table: 'power', what: 'rapl', why: 'closed' });
  host.note({ table: 'power', what: 'rapl', why: 'closed' });
  host.note({ table: 'power', what: 'hwmon', why: 'closed' });
  assert.equal(host.notes.length, 2);
});

test('a number file takes the first number and is NaN without one', (t) => {
  const machine = frozen(t, { '/sys/n': '812 W 1762381164118204 us\n' });
  const file = numberFile(machine.host, '/sys/n')!;
  assert.equal(file.read(), 812);
  machine.write('/sys/n', '17@1762381164.5\n');
  assert.equal(file.read(), 17);
  machine.write('/sys/n', 'N/A (no PMA)\n');
  assert.equal(file.read(), Number.NaN);
  machine.write('/sys/n', '');
  assert.equal(file.read(), Number.NaN);
  file.close();
});
