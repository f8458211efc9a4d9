import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampling } from '../../base/sampling.ts';
import { spareCompilers } from './spare-compilers.ts';

const skip = sampling() === null ? 'needs gcc' : false;

test('an agent that does little has no optimising compilers, one that gets busy has them, and at the end they are back', {
  skip,
}, (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const used = { user: 0, system: 0 };
  t.mock.method(process, 'cpuUsage', () => ({ ...used }));
  let milliseconds = 0;
  t.mock.method(performance, 'now', () => milliseconds);
  const flags: string[] = [];
  const pass = (userMicroseconds: number): string[] => {
    used.user += userMicroseconds;
    milliseconds += 10_000;
    t.mock.timers.tick(10_000);
    return flags.splice(0);
  };
  const restore = spareCompilers((flag) => flags.push(flag));
  // its start
  assert.deepEqual(pass(400_000), []);
  assert.deepEqual(pass(15_000), ['--no-turbofan', '--no-maglev']);
  assert.deepEqual(pass(15_000), []);
  assert.deepEqual(pass(3_000_000), ['--turbofan', '--maglev']);
  assert.deepEqual(pass(15_000), ['--no-turbofan', '--no-maglev']);
  restore();
  assert.deepEqual(flags.splice(0), ['--turbofan', '--maglev']);
  assert.deepEqual(pass(15_000), []);
});
