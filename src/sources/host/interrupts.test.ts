import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { interrupts } from './interrupts.ts';

test('counts are summed over CPUs, and the driver is named', () => {
  const rows = sample(openOn(interrupts, fixture('host-small')));
  assert.deepEqual(
    rows.find((row) => row.interrupt === '38'),
    { interrupt: '38', device: 'virtio2-input.0', count: 3845 },
  );
  assert.deepEqual(
    rows.find((row) => row.interrupt === 'LOC'),
    {
      interrupt: 'LOC',
      device: 'Local timer interrupts',
      count: 24696 + 23684,
    },
  );
});

test('what never fired is left out', () => {
  const rows = sample(openOn(interrupts, fixture('host-small')));
  assert.deepEqual(
    rows.filter((row) => ['28', 'NMI', 'ERR'].includes(String(row.interrupt))),
    [],
  );
});

test('an ARM machine, several drivers on one line, and a line without a driver', (t) => {
  const { host } = frozen(t, {
    '/proc/interrupts': [
      '           CPU0       CPU1       ',
      ' 11:        100        200     GICv3  27 Level     arch_timer',
      ' 12:          5          0     GICv3  33 Level     uart-pl011, rtc',
      ' 13:          1          0   IO-APIC   9-fasteoi ',
      'IPI0:       7          8       Rescheduling interrupts',
      'Err:          0',
      '',
    ].join('\n'),
  });
  assert.deepEqual(sample(openOn(interrupts, host)), [
    { interrupt: '11', device: 'arch_timer', count: 300 },
    { interrupt: '12', device: 'uart-pl011, rtc', count: 5 },
    { interrupt: '13', count: 1 },
    { interrupt: 'IPI0', device: 'Rescheduling interrupts', count: 15 },
  ]);
});

test('a driver that takes over a number, a new line and a CPU that comes are seen', (t) => {
  const machine = frozen(t, {
    '/proc/interrupts': '      CPU0\n 7:  3  IO-APIC  7-edge   old\n 9:  1  IO-APIC  9-edge   acpi\n',
  });
  const source = openOn(interrupts, machine.host);
  assert.deepEqual(
    sample(source).map((row) => row.device),
    ['old', 'acpi'],
  );
  machine.write(
    '/proc/interrupts',
    '      CPU0 CPU1\n 7:  3  1  IO-APIC  7-edge   new\n 8:  2  2  IO-APIC  8-edge   rtc0\n 9:  1  1  IO-APIC  9-edge   acpi\n',
  );
  assert.deepEqual(sample(source), [
    { interrupt: '7', device: 'new', count: 4 },
    { interrupt: '8', device: 'rtc0', count: 4 },
    { interrupt: '9', device: 'acpi', count: 2 },
  ]);
});
