import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PackedTexts } from './packed-texts.ts';

test('many texts come out as they were put in', () => {
  const texts = new PackedTexts();
  const all = Array.from({ length: 300 }, (_, i) => `${i} ü ${'x'.repeat(i * 10)}\n`);
  for (const text of all) texts.add(text);
  assert.equal([...texts.texts()].join(''), all.join(''));
});
