import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figure } from './fom.ts';

test('a number is kept as it was given, or refused', () => {
  const kept: [given: string, value: number][] = [
    ['9007199254740992', 2 ** 53],
    ['9007199254740991', 2 ** 53 - 1],
    ['-36893488147419103232', -(2 ** 65)],
    ['0x20000000000000', 2 ** 53],
    ['1e23', 1e23],
    ['000123.4500', 123.45],
    ['0.10000000000000001', 0.1],
    ['0.1000000000000000055511151231257827', 0.1],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['5e-324', 5e-324],
    ['0.000', 0],
    ['-4.7e-12', -4.7e-12],
  ];
  for (const [given, value] of kept) assert.deepEqual(figure(`x=${given}`), { action: 'fom', name: 'x', value }, given);
  const refused = [
    '12345678901234567890',
    '9007199254740993',
    '-9007199254740993.0',
    '1.2345678901234567890e19',
    '0x20000000000001',
    '0.123456789012345678901',
    `1${'2'.repeat(200)}`,
  ];
  for (const given of refused) assert.throws(() => figure(`x=${given}`), /has more digits than can be kept/, given);
});
