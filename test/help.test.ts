import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verbs } from '../src/cli/verbs.ts';
import { tacho } from './tacho.ts';

test('no line of any help is wider than 80 places', () => {
  for (const args of [[], ...verbs.map(({ name }) => [name])]) {
    const { out, code } = tacho([...args, '--help']);
    assert.equal(code, 0, args.join(' '));
    const wide = out.split('\n').filter((line) => line.length > 80);
    assert.deepEqual(wide, [], args.join(' '));
    assert.doesNotMatch(out, /default: \[\]/);
  }
});
