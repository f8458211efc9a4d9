import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldHelp } from './fold-help.ts';

test('paragraphs are broken anew, comments move below, commands stay whole', () => {
  const text = `
A paragraph of two lines of which the first
is too long.

Examples:
  tacho a                  short
  tacho b --option value   what it is good for
  tacho c --with a --very-long command --line
`;
  assert.equal(
    foldHelp(text, 36),
    `
A paragraph of two lines of which
the first is too long.

Examples:
  tacho a                  short
  tacho b --option value
      what it is good for
  tacho c --with a --very-long command --line
`,
  );
});

test('what fits stays as it is', () => {
  const text = 'Usage: tacho\n\nOne\nline.\n\n  -h, --help   prints\n               more\n';
  assert.equal(foldHelp(text, 80), text);
});
