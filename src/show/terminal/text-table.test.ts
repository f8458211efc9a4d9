import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ascii, cut, cutCommand, pad, printable, textTable, textWidth, wrap } from './text-table.ts';

test('columns line up, empty ones are left out', () => {
  const lines = textTable(
    [{ head: 'node' }, { head: 'CPU %', align: 'right' }, { head: 'GPU %', align: 'right' }],
    [
      ['c1', '97', '-'],
      ['login-2', '5', ''],
    ],
  );
  assert.deepEqual(lines, ['node     CPU %', 'c1          97', 'login-2      5']);
});

test('a table that is too wide is cut where it hurts least', () => {
  const columns = [
    { head: 'name', shrinks: true },
    { head: 'first', spare: 2 },
    { head: 'second', spare: 1 },
  ];
  const row = ['a-name-of-twenty-four-ch', 'xxxxxxxx', 'yyyyyyyy'];
  assert.equal(textTable(columns, [row], 40)[1], 'a-name-of-twenty-f..  xxxxxxxx  yyyyyyyy');
  assert.equal(textTable(columns, [row], 30)[1], 'a-name-of-twenty-f..  yyyyyyyy');
});

test('what can neither be left out nor shortened is cut in the end; without a page nothing is', () => {
  const columns = [
    { head: 'node', shrinks: true },
    { head: 'job', most: 20 },
    { head: 'age', align: 'right' },
  ] as const;
  const row = ['c1', 'fleet-2026-11-16-and-more', '12 min 05 s'];
  assert.equal(textTable(columns, [row], 40)[1], 'c1    fleet-2026-11-16-a..  12 min 05 s');
  assert.equal(textTable(columns, [row], 30)[1], 'c1    fleet-202..  12 min 05 s');
  assert.equal(textTable(columns, [row])[1], 'c1    fleet-2026-11-16-and-more  12 min 05 s');
});

test('of a command the folders go first, then its end; its name stays', () => {
  const most = 30;
  for (const [command, shown] of [
    ['/short/burn 1', '/short/burn 1'],
    ['/tmp/look/lab/home/tacho-c/burn 1 20 8', '.../home/tacho-c/burn 1 20 8'],
    ['/tmp/look/lab/home/tacho-c/burn 1 20 8 and so much more', '.../burn 1 20 8 and so much ..'],
    ['/opt/very/long/bin/python3 /home/ada/train/model.py -v', '.../python3 .../model.py -v'],
    ['curl https://host.site/with/a/long/path', 'curl https://host.site/with/..'],
    ['/b/cp --from=/scratch/ada/one/two/three', '/b/cp --from=/scratch/ada/on..'],
    ['a-name-without-any-folder-at-all 3', 'a-name-without-any-folder-at..'],
  ])
    assert.equal(cutCommand(command!, most), shown);
  const columns = [{ head: 'command', most: 12, command: true }];
  assert.equal(textTable(columns, [['/tmp/look/lab/burn 1']], 78)[1], '.../burn 1');
});

test('a table fits its page, whatever the texts', () => {
  const texts = fc.array(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 4, maxLength: 4 }), { minLength: 1 });
  fc.assert(
    fc.property(texts, fc.integer({ min: 34, max: 90 }), (rows, width) => {
      const columns = [{ head: 'a', shrinks: true }, { head: 'b', most: 20 }, { head: 'c', spare: 1 }, { head: 'd' }];
      for (const line of textTable(columns, rows, width)) assert.ok(textWidth(line) <= width, line);
    }),
  );
});

test('wide characters take two places, colours none', () => {
  assert.equal(textWidth('日本'), 4);
  assert.equal(textWidth('\x1b[31mred\x1b[39m'), 3);
  assert.equal(pad('日本', 6), '日本  ');
  assert.equal(cut('日本語の名前', 7), '日本..');
});

test('a number and its unit stay together', () => {
  assert.deepEqual(wrap('the highest use was 20 %.', 24), ['the highest use was', '20 %.']);
  assert.deepEqual(wrap('clock 1 290 MHz', 10), ['clock', '1 290 MHz']);
});

test('every line fits, and no word is lost', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { minLength: 1 }),
      fc.integer({ min: 10, max: 80 }),
      (all, width) => {
        const lines = wrap(all.join(' '), width);
        for (const line of lines) assert.ok(line.length <= width);
        assert.equal(lines.join('').replaceAll(' ', ''), all.join(''));
      },
    ),
  );
});

test('text of others is made harmless, our own punctuation plain', () => {
  assert.equal(printable('a\x1b]0;x\x07\u202eb\n'), 'a\\x1b]0;x\\x07\\u202eb\\n');
  assert.equal(ascii('the job’s 8 × 2 … 79 °C → µs, UTC−04'), "the job's 8 x 2 ... 79 C -> us, UTC-04");
});
