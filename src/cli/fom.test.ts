import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figure, figuresOf } from './fom.ts';

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
    ['.33333333333333333333', 1 / 3],
    ['0.123456789012345678901', 0.12345678901234568],
    ['1.2345678901234567890e19', 1.2345678901234567e19],
    ['12345678901234567.25', 12345678901234568],
  ];
  for (const [given, value] of kept) assert.deepEqual(figure(`x=${given}`), { action: 'fom', name: 'x', value }, given);
  const refused = [
    '12345678901234567890',
    '9007199254740993',
    '-9007199254740993.0',
    '0x20000000000001',
    `1${'2'.repeat(200)}`,
  ];
  for (const given of refused) assert.throws(() => figure(`x=${given}`), /has more digits than can be kept/, given);
});

test('a figure that is refused does not take the others with it', () => {
  const { figures, refused } = figuresOf(['residual=4.7e-12', 'a=9007199254740993', 'loss', 'b=0.1']);
  assert.deepEqual(figures, [
    { action: 'fom', name: 'residual', value: 4.7e-12 },
    { action: 'fom', name: 'b', value: 0.1 },
  ]);
  assert.deepEqual(
    refused.map((error) => (error as Error).message.split('"')[1]),
    ['a=9007199254740993', 'loss'],
  );
});
