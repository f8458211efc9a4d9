import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { programParts } from './give-back.ts';

const mapping = (line: string, anonymous: number): string =>
  `${line}\nSize: 100 kB\nRss: 60 kB\nPrivate_Dirty: ${anonymous} kB\nAnonymous: ${anonymous} kB\nVmFlags: rd ex mr\n`;

test('only parts of the program itself that nobody has written to', () => {
  const smaps =
    mapping('00400000-00746000 r--p 00000000 fe:00 1234                               /opt/tacho/bin/node', 0) +
    mapping('0074a000-03044000 r-xp 00349000 fe:00 1234                               /opt/tacho/bin/node', 0) +
    mapping('03201000-03251000 r--p 02e00000 fe:00 1234                               /opt/tacho/bin/node', 320) +
    mapping('06b52000-06b60000 rw-p 06750000 fe:00 1234                               /opt/tacho/bin/node', 0) +
    mapping('301d3000-3076c000 rw-p 00000000 00:00 0                                  [heap]', 40) +
    mapping('7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ', 4) +
    mapping('7fb33b580000-7fb33b785000 r-xp 00000000 fe:00 77                         /usr/lib/libc.so.6', 0);
  assert.deepEqual(programParts(smaps, '/opt/tacho/bin/node'), [
    { from: 0x400000, to: 0x746000 },
    { from: 0x74a000, to: 0x3044000 },
  ]);
});

test('this process has such parts', () => {
  const programRanges = programParts(fs.readFileSync('/proc/self/smaps', 'latin1'), fs.realpathSync(process.execPath));
  assert.ok(programRanges.length > 0);
  for (const { from, to } of programRanges) assert.ok(from < to);
});
