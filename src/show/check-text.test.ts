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
  assert.match(text, /^What can be recorded\n {2}ok {7}meminfo {2}54 columns$/m);
  assert.match(text, /^ {2}failed {3}folder {3}cannot be written\n {20}-> use -o FOLDER$/m);
  assert.match(text, /\n\nA job cannot be recorded here: folder failed\.\n$/);
  assert.match(checkText({ records: true, items: [] }, {}), /\nA job can be recorded here\.\n$/);
});

test('a terminal gets no line wider than it is, columns stay below each other, words whole', () => {
  const long = 'processes cannot record themselves: the library is not there and nobody has built it yet';
  const text = checkText(
    {
      records: true,
      items: [
        { area: 'sources', name: 'process_start', state: 'limited', text: long, hint: `build it: ${long}` },
        { area: 'sources', name: 'cpu', state: 'ok', text: '16 columns' },
      ],
    },
    { isTTY: true, columns: 80 },
  ).replaceAll(/\x1b\[\d+m/g, '');
  for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
  assert.equal(
    text.match(/^.*16 columns$/m)![0].indexOf('16'),
    text.match(/^.*processes cannot.*$/m)![0].indexOf('processes'),
  );
  const advice = text.slice(text.indexOf('processes cannot'), text.indexOf('→')).split(/\s+/).join(' ').trim();
  assert.equal(advice, long);
});
