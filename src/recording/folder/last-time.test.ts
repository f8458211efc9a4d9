import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { START, temporary } from '../../../test/make-recording.ts';
import { lastTime } from './last-time.ts';

test('the time of the last row, whatever stands behind it', () => {
  const file = path.join(temporary(), 'x.csv');
  const of = (text: string): number | undefined => {
    fs.writeFileSync(file, text);
    return lastTime(file);
  };
  const rows = `time,name\n${START},a\n${START + 1e6},b\n`;
  assert.equal(of(rows), START + 1e6);
  assert.equal(of(`${rows}${START + 2e6},to`), START + 2e6);
  assert.equal(of(`${rows}17947757`), START + 1e6);
  assert.equal(of(`${rows}${START + 3e6},"two\nlines\n\n"\n`), START + 3e6);
  assert.equal(of(`${rows}${START + 4e6},${'long'.repeat(50_000)}\n`), START + 4e6);
  assert.equal(of('time,name\n'), undefined);
  assert.equal(of(''), undefined);
  assert.equal(of('noise'), undefined);
  assert.equal(lastTime(`${file}.gone`), undefined);
  fs.writeFileSync(`${file}.zst`, zstdCompressSync(Buffer.from(rows)));
  assert.equal(lastTime(`${file}.zst`), START + 1e6);
  fs.writeFileSync(`${file}.zst`, 'damaged');
  assert.equal(lastTime(`${file}.zst`), undefined);
});
