import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWhole, sampling } from '../src/base/sampling.ts';
import { CsvText } from '../src/recording/live/csv-write.ts';
import { fields } from '../src/sources/fields.ts';
import { gauge, type Table } from '../src/table/table.ts';
import { frameOf, START, temporary } from './make-recording.ts';

const native = sampling();
const skip = native === null && 'there is no C compiler';

test('C and JavaScript write the same numbers', { skip }, () => {
  const table: Table = {
    name: 't',
    help: '',
    scope: 'node',
    keys: [{ name: 'key', help: '' }],
    columns: [
      gauge('whole', 'count', ''),
      gauge('two', 'count', '', 'float', 2),
      gauge('nine', 'count', '', 'float', 9),
      { name: 'word', type: 'text', unit: 'none', kind: 'gauge', help: '' } as Table['columns'][number],
      gauge('after', 'count', '', 'float', 6),
    ],
  };
  const number = fc.oneof(
    fc.double(),
    fc.double({ min: -1e6, max: 1e6, noNaN: true }),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.constantFrom(
      0,
      -0,
      0.5,
      1.005,
      2.5,
      999.9999999995,
      0.0004,
      -0.0004,
      2 ** 53,
      2 ** 53 - 1,
      1e15 + 0.5,
      Number.NaN,
    ),
  );
  fc.assert(
    fc.property(number, number, number, number, fc.string(), (whole, two, nine, after, word) => {
      const frame = frameOf(table, [{ time: START, key: word, whole, two, nine, word, after }]);
      const [inC, inJavaScript] = [new CsvText(native), new CsvText(null)];
      for (const csv of [inC, inJavaScript]) csv.frame(frame);
      assert.equal(
        inC.bytes.toString('utf8', 0, inC.length),
        inJavaScript.bytes.toString('utf8', 0, inJavaScript.length),
      );
    }),
  );
});

test('C and JavaScript take the same fields, also of files whose lines change or are torn', { skip }, () => {
  const line = fc.tuple(
    fc.constantFrom('MemFree:', 'nr_dirty', 'Active(anon):', 'a', 'ab'),
    fc.constantFrom(' ', '    '),
    fc.oneof(fc.nat().map(String), fc.constantFrom('18446744073709551615', '007', '', '-1', 'x')),
    fc.constantFrom('', ' kB'),
  );
  const text = fc.array(line).map((lines) => lines.map((cells) => `${cells.join('')}\n`).join(''));
  const torn = fc.tuple(text, fc.nat({ max: 20 })).map(([whole, cut]) => whole.slice(0, whole.length - cut));
  fc.assert(
    fc.property(fc.array(fc.oneof(text, torn), { minLength: 1, maxLength: 4 }), (texts) => {
      const names: string[] = [];
      const columnOf = (name: string): number => {
        if (!names.includes(name)) names.push(name);
        return names.indexOf(name);
      };
      const [inC, inJavaScript] = [fields(columnOf, native), fields(columnOf, null)];
      const [one, other] = [new Float64Array(8).fill(-1), new Float64Array(8).fill(-1)];
      for (const each of texts) {
        // what a longer file left behind the end of this one
        const bytes = Buffer.from(`${each}12345 kB\n`);
        inC(bytes, each.length, one, 1, 7);
        inJavaScript(bytes, each.length, other, 1, 7);
        assert.deepEqual(one, other);
      }
    }),
  );
});

test('files are read whole, and errors come back as numbers below zero', { skip }, () => {
  const file = path.join(temporary(), 'file');
  fs.writeFileSync(file, 'x'.repeat(10_000));
  const fd = fs.openSync(file, 'r+');
  const bytes = Buffer.alloc(20_000);
  assert.equal(native!.readFile(fd, bytes, 0), 10_000);
  assert.equal(native!.readFile(fd, bytes.subarray(0, 100), 0), 100);
  assert.equal(native!.isRemoved(fd), 0);
  assert.equal(native!.writeFile(fd, Buffer.from('abcdef'), 2, 5), 3);
  assert.equal(fs.readFileSync(file, 'latin1').slice(0, 5), 'cdexx');
  fs.unlinkSync(file);
  assert.equal(native!.isRemoved(fd), 1);
  fs.closeSync(fd);
  const EBADF = -9;
  assert.equal(native!.readFile(fd, bytes, 0), EBADF);
  assert.equal(native!.writeFile(fd, bytes, 0, 1), EBADF);
  assert.equal(native!.isRemoved(fd), 0);
  const EINVAL = -22;
  assert.equal(native!.writeFile(1, bytes, 5, 20_001), EINVAL);
  assert.equal(native!.writeFile('1' as unknown as number, bytes, 0, 1), EINVAL);
});

test('schedules: idle, ran, and what has to be looked at in another way', { skip }, () => {
  const folder = temporary();
  const [ran, idle, uncounted, empty] = ['7 9000000 3\n', '5 6 7\n', '0 0 0\n', ''].map((text, i) => {
    const file = path.join(folder, String(i));
    fs.writeFileSync(file, text);
    return fs.openSync(file, 'r');
  });
  const counts = Float64Array.of(6, 1, 3, 5, 0, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  const results = new Uint8Array(5);
  assert.equal(native!.lookAtSchedules(Int32Array.of(ran!, idle!, uncounted!, empty!, -1), counts, results), 0);
  assert.deepEqual([...results], [1, 0, 2, 2, 2]);
  assert.deepEqual([...counts], [7, 9000000, 3, 5, 6, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
  for (const fd of [ran, idle, uncounted, empty]) fs.closeSync(fd!);
});

test('a module of an earlier version, which lacks a function, is not used', {
  skip: native === null && 'no C compiler',
}, () => {
  assert.equal(isWhole(native!), true);
  const { readRows: _, ...earlier } = native!;
  assert.equal(isWhole(earlier), false);
});
