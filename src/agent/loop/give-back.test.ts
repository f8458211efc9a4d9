import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { sampling } from '../../base/sampling.ts';
import { dropProgram } from './give-back.ts';

/** Kilobytes of files that are in this process's memory. */
const residentFiles = (): number =>
  Number(/^RssFile:\s+(\d+) kB$/m.exec(fs.readFileSync('/proc/self/status', 'latin1'))![1]);

test('the program goes on without the parts of its file that it does not need now', {
  skip: sampling() === null && 'there was no C compiler',
}, () => {
  const before = residentFiles();
  dropProgram();
  const after = residentFiles();
  assert.ok(before - after > 5_000, `${before} kB before, ${after} kB after`);
  assert.deepEqual(JSON.parse(JSON.stringify({ a: [1, 2.5, 'x'] })), { a: [1, 2.5, 'x'] });
  assert.equal(new Intl.NumberFormat('en-US').format(1_234_567), '1,234,567');
});
