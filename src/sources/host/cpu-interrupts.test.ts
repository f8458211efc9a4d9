import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { isChosen } from '../index.ts';
import { cpuInterrupts } from './cpu-interrupts.ts';

test('each CPU by itself; what never fired there is left out', () => {
  const rows = sample(openOn(cpuInterrupts, fixture('host-small')));
  assert.deepEqual(
    rows.filter((row) => row.interrupt === 'LOC'),
    [
      { interrupt: 'LOC', cpu: '0', count: 24696 },
      { interrupt: 'LOC', cpu: '1', count: 23684 },
    ],
  );
  assert.ok(rows.every((row) => Number(row.count) > 0));
});

test('CPUs that are off have no column, and numbers of all CPUs together are no CPU’s', (t) => {
  const { host } = frozen(t, {
    '/proc/interrupts': [
      '           CPU0       CPU2       ',
      ' 11:        100        200     GICv3  27 Level     arch_timer',
      'ERR:          7',
      '',
    ].join('\n'),
  });
  assert.deepEqual(sample(openOn(cpuInterrupts, host)), [
    { interrupt: '11', cpu: '0', count: 100 },
    { interrupt: '11', cpu: '2', count: 200 },
  ]);
});

test('it is recorded only when it is named', () => {
  const none = { only: [], without: [], also: [] };
  assert.deepEqual(
    [
      isChosen('cpu_interrupts', none),
      isChosen('interrupts', none),
      isChosen('cpu_interrupts', { ...none, also: ['cpu_interrupts'] }),
      isChosen('cpu_interrupts', { ...none, only: ['cpu_interrupts'] }),
      isChosen('cpu_interrupts', { ...none, also: ['cpu_interrupts'], without: ['cpu_interrupts'] }),
    ],
    [false, true, true, true, false],
  );
});
