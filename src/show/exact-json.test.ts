import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactJson } from './exact-json.ts';

test('microseconds, bytes and given values keep every digit; noise of arithmetic and what is missing go', () => {
  const given = {
    seconds: 1327.237492,
    wall: 1_700_000_000.123456,
    bytes: 4_503_599_627_370_497,
    noise: 0.1 + 0.2,
    missing: Number.NaN,
    figures: [{ name: 'residual', value: Math.PI * 1e-12 }],
  };
  assert.deepEqual(JSON.parse(exactJson(given)), {
    seconds: 1327.237492,
    wall: 1_700_000_000.12346,
    bytes: 4_503_599_627_370_497,
    noise: 0.3,
    figures: given.figures,
  });
});
