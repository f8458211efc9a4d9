import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../../base/random.ts';
import { matrixOf } from './matrix.ts';
import { principalComponents } from './principal-components.ts';

/** Rows that vary together: the second column follows the first, the third is the difference of both, with some noise. */
function rows(number: number): number[][] {
  const next = random(11);
  return Array.from({ length: number }, () => {
    const x = (next() - 0.5) * 10;
    const y = (next() - 0.5) * 10;
    const noise = (): number => (next() - 0.5) * 0.2;
    return [x + noise(), y + noise(), x - y + noise()];
  });
}

test('one that breaks the pattern is found, although each of its values is ordinary', () => {
  const all = [...rows(60), [3, 3, 4]];
  const reconstruction = principalComponents(matrixOf(all))!;
  const errors = reconstruction.errors(matrixOf(all));
  assert.equal(reconstruction.components, 2);
  assert.ok(errors[60]! > reconstruction.cut);
  // the plane x − y − z = 0 is 4 / √3 away, and bent a little by the one itself
  assert.ok(Math.abs(errors[60]! - 4 / Math.sqrt(3)) < 0.3, String(errors[60]));
  assert.ok(errors.subarray(0, 60).filter((error) => error > reconstruction.cut).length <= 1);
});

test('one that is far out along the pattern is not its business', () => {
  const all = [...rows(60), [30, 10, 20]];
  const reconstruction = principalComponents(matrixOf(all))!;
  assert.ok(reconstruction.errors(matrixOf([[30, 10, 20]]))[0]! < 1);
});

test('the order of the rows does not matter', () => {
  const all = rows(40);
  const [a, b] = [principalComponents(matrixOf(all))!, principalComponents(matrixOf(all.toReversed()))!];
  assert.ok(Math.abs(a.cut - b.cut) < 1e-9);
});

test('nothing but the pattern, and nothing at all, say nothing', () => {
  assert.equal(principalComponents(matrixOf(Array.from({ length: 30 }, (_, i) => [i, 2 * i, -i]))), undefined);
  assert.equal(principalComponents(matrixOf(new Array<number[]>(30).fill([1, 2]))), undefined);
});
