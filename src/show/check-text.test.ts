import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkText } from './check-text.ts';

test('a line a thing, what to do below it, the verdict last', () => {
  const text = checkText(
    {
      records: false,
      items: [
        { area: 'sources', name: 'meminfo', state: 'ok', text: '54 columns' },
        { area: 'recordings', name: 'folder', state: 'failed', text: 'cannot be written', hint: 'use -o FOLDER' },
      ],
    },
    {},
  );
  assert.match(text, /^What can be recorded\n {2}ok {7}meminfo {6}54 columns$/m);
  assert.match(text, /^ {2}failed {3}folder {7}cannot be written\n {24}→ use -o FOLDER$/m);
  assert.match(text, /\n\nA job cannot be recorded here: folder failed\.\n$/);
  assert.match(checkText({ records: true, items: [] }, {}), /\nA job can be recorded here\.\n$/);
});
