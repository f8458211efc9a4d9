import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asMarkup } from './markup.ts';

test('nothing that anybody wrote becomes markup', () => {
  assert.equal(asMarkup(`<a href="x" title='y'>&amp;`), '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;');
  assert.equal(asMarkup('Größe 3 µs'), 'Größe 3 µs');
});
