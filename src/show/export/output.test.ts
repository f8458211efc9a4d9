import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { Fault } from '../../base/fault.ts';
import { fileOutput, standardOutput } from './output.ts';
import { TextBuffer } from './text-buffer.ts';

function folder(t: TestContext): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-output-'));
  t.after(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

test('a file has its name only when it is whole', (t) => {
  const file = path.join(folder(t), 'new', 'a.csv');
  const output = fileOutput(file);
  output.write(Buffer.from('hello'), 5);
  assert.ok(!fs.existsSync(file));
  output.finish();
  assert.equal(fs.readFileSync(file, 'utf8'), 'hello');
  assert.ok(!fs.existsSync(`${file}.part`));
  assert.equal(output.bytesWritten, 5);
});

test('an export that is given up leaves nothing, and the file that was there before stays', (t) => {
  const file = path.join(folder(t), 'a.csv');
  fs.writeFileSync(file, 'old');
  const output = fileOutput(file);
  output.write(Buffer.from('new'), 3);
  output.abandon();
  output.abandon();
  assert.equal(fs.readFileSync(file, 'utf8'), 'old');
  assert.ok(!fs.existsSync(`${file}.part`));
});

test('a full disk is said in words, and the part is removed', (t) => {
  const file = path.join(folder(t), 'a.csv');
  const output = fileOutput(file);
  const full = t.mock.method(fs, 'writeSync', () => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  });
  syncBuiltinESMExports();
  assert.throws(
    () => output.write(Buffer.from('x'), 1),
    (error) =>
      error instanceof Fault &&
      /a\.csv: no space left/.test(error.message) &&
      /free some space, or choose another folder with -o,/.test(error.hint!),
  );
  full.mock.restore();
  syncBuiltinESMExports();
  assert.ok(!fs.existsSync(file));
  assert.equal(fs.readdirSync(path.dirname(file)).length, 0);
});

test('what a link by the name of its part leads to is not written', (t) => {
  const file = path.join(folder(t), 'a.csv');
  const other = path.join(folder(t), 'other');
  fs.writeFileSync(other, 'other');
  fs.symlinkSync(other, `${file}.part`);
  const output = fileOutput(file);
  output.write(Buffer.from('hello'), 5);
  output.finish();
  assert.deepEqual([fs.readFileSync(file, 'utf8'), fs.readFileSync(other, 'utf8')], ['hello', 'other']);
});

test('a folder that may not be written to is named', (t) => {
  const outputFolder = folder(t);
  fs.writeFileSync(path.join(outputFolder, 'file'), '');
  assert.throws(
    () => fileOutput(path.join(outputFolder, 'file', 'a.csv')),
    (error) => error instanceof Fault && /cannot write/.test(error.message),
  );
});

test('standard output says when it is full', { skip: !fs.existsSync('/dev/full') }, () => {
  const fd = fs.openSync('/dev/full', 'w');
  assert.throws(() => standardOutput(fd).write(Buffer.from('x'), 1), /cannot write to standard output: no space left/);
  fs.closeSync(fd);
});

test('a text buffer takes rows larger than itself and texts in any language', (t) => {
  const file = path.join(folder(t), 'a.txt');
  const output = fileOutput(file);
  const text = new TextBuffer(output);
  const large = 'ж'.repeat(2_000_000);
  text.put('a');
  text.put(large);
  text.put('z');
  text.flush();
  output.finish();
  assert.equal(fs.readFileSync(file, 'utf8'), `a${large}z`);
});
