import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as os from 'node:os';
import * as path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import zlib, { constants, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { Frame } from '../../table/frame.ts';
import { gauge, type Table, text } from '../../table/table.ts';
import { TableWriter } from './append.ts';
import { listParts } from './file-parts.ts';
import { BEGINNING, type Position } from './position.ts';
import { type Lines, type Run, Tail } from './tail.ts';

const table: Table = {
  name: 'sample',
  help: 'For tests.',
  scope: 'node',
  keys: [],
  columns: [gauge('n', 'count', 'Number.'), text('label', 'Words.')],
};

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-tail-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const file = (name: string): string => path.join(folder, name);
const put = (name: string, content: string): void => fs.appendFileSync(file(name), content);
const pack = (name: string, content: string): void => fs.writeFileSync(file(name), zstdCompressSync(content));

function row(writer: TableWriter, n: number, label = ''): void {
  const frame = new Frame(table);
  frame.clear(n * 1e6);
  const r = frame.row();
  frame.numbers[r] = n;
  frame.texts[r] = label;
  writer.append(frame);
}

/** Everything from a position on, in runs of at most so many bytes. */
function drain(tail: Tail, from: Position = BEGINNING, maxBytes = 1 << 20, ended = false): [string, Run[]] {
  const runs: Run[] = [];
  let at = from;
  for (let run = tail.read(at, maxBytes, ended); run !== undefined; run = tail.read(at, maxBytes, ended)) {
    runs.push(run);
    at = { part: run.part, bytes: run.from + run.bytes.length };
  }
  return [runs.map((run) => run.bytes.toString()).join('|'), runs];
}

test('parts follow each other in their order, whatever form they have', () => {
  pack('sample.0001.csv.zst', 'h\n1\n');
  put('sample.0002.csv', 'h\n2\n');
  put('sample.csv', 'h\n3\n');
  put('sample.stats.csv', 'h\nother table\n');
  const [all, runs] = drain(new Tail(folder, 'sample'));
  assert.equal(all, 'h\n1\n|h\n2\n|h\n3\n');
  assert.deepEqual(
    runs.map(({ part, from }) => [part, from]),
    [
      [1, 0],
      [2, 0],
      [3, 0],
    ],
  );
});

test('a live part is read up to its last whole line; its torn line once nobody writes any more', () => {
  put('sample.csv', 'h\n1\n2');
  const tail = new Tail(folder, 'sample');
  assert.equal(drain(tail)[0], 'h\n1\n');
  put('sample.csv', '0\n3');
  assert.equal(drain(tail, { part: 1, bytes: 4 })[0], '20\n');
  // the next agent sets it aside as it is
  fs.renameSync(file('sample.csv'), file('sample.0001.csv'));
  assert.equal(drain(tail, { part: 1, bytes: 7 })[0], '3');
  put('sample.csv', 'h\nlast');
  assert.equal(drain(tail, { part: 1, bytes: 8 })[0], 'h\n');
  assert.equal(drain(tail, { part: 2, bytes: 2 }, 100, true)[0], 'last');
});

test('a live part that is renamed and compressed while it is read is read to its end', () => {
  put('sample.csv', 'h\n1\n');
  const tail = new Tail(folder, 'sample');
  assert.equal(drain(tail)[0], 'h\n1\n');
  put('sample.csv', '2\n');
  fs.renameSync(file('sample.csv'), file('sample.0001.csv'));
  pack('sample.0001.csv.zst', 'h\n1\n2\n');
  fs.rmSync(file('sample.0001.csv'));
  put('sample.csv', 'h\n3\n');
  assert.equal(drain(tail, { part: 1, bytes: 4 })[0], '2\n|h\n3\n');
  // and by somebody who comes later
  assert.equal(drain(new Tail(folder, 'sample'), { part: 1, bytes: 4 })[0], '2\n|h\n3\n');
});

test('what is gone is said, and only that', () => {
  pack('sample.0001.csv.zst', 'h\n1\n');
  const tail = new Tail(folder, 'sample');
  const [, first] = drain(tail);
  assert.equal(first[0]!.gone, undefined);
  put('sample.0004.csv', 'h\n4\n');
  fs.rmSync(file('sample.0001.csv.zst'));
  const [text, runs] = drain(tail, { part: 1, bytes: 4 });
  assert.equal(text, 'h\n4\n');
  assert.deepEqual(runs[0]!.gone, { from: { part: 2, bytes: 0 }, to: { part: 4, bytes: 0 } });
  assert.deepEqual(drain(new Tail(folder, 'sample'), { part: 3, bytes: 7 })[1][0]!.gone, {
    from: { part: 3, bytes: 7 },
    to: { part: 4, bytes: 0 },
  });
});

test('a position beyond the end of a finished part goes on with the next one', () => {
  put('sample.0001.csv', 'h\n1\n');
  put('sample.csv', 'h\n2\n');
  const [text, runs] = drain(new Tail(folder, 'sample'), { part: 1, bytes: 400 });
  assert.equal(text, 'h\n2\n');
  assert.equal(runs[0]!.gone, undefined);
  assert.equal(new Tail(folder, 'sample').read({ part: 3, bytes: 0 }, 100), undefined);
});

test('runs of any size make up what a real writer wrote, while it rolls and compresses', async () => {
  const writer = new TableWriter(folder, table, { rollBytes: 200 });
  const tail = new Tail(folder, 'sample');
  const got = new Map<number, string>();
  let at: Position = BEGINNING;
  for (let n = 0; n < 400; n++) {
    row(writer, n, n % 7 === 0 ? 'two\nlines, "quoted"' : 'word');
    if (n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    for (let run = tail.read(at, 1 + (n % 90)); run !== undefined; run = tail.read(at, 1 + (n % 90))) {
      assert.equal(run.gone, undefined);
      assert.equal(run.from, got.get(run.part)?.length ?? 0);
      got.set(run.part, (got.get(run.part) ?? '') + run.bytes.toString('latin1'));
      at = { part: run.part, bytes: run.from + run.bytes.length };
    }
  }
  await writer.close();
  const [whole] = drain(new Tail(folder, 'sample'));
  assert.equal([...got.values()].join('|'), whole);
  assert.ok(got.size > 10, `${got.size} parts`);
  tail.close();
});

test('whole rows: quoted newlines are inside of rows, headers and torn lines are no rows', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.boolean()), { maxLength: 30 }), fc.nat(60), (labels, most) => {
      for (const name of fs.readdirSync(folder)) fs.rmSync(file(name));
      const writer = new TableWriter(folder, table, { plain: true });
      labels.forEach(([label, roll], n) => {
        row(writer, n, label);
        if (roll) {
          // killed in the middle of a line
          put('sample.csv', '17,"torn');
          writer.roll();
        }
      });
      const tail = new Tail(folder, 'sample');
      const lines: Lines[] = [];
      let at: Position = BEGINNING;
      for (;;) {
        const next = tail.wholeLines(at, most + 1);
        if (next === undefined) break;
        assert.equal(next.header, 'time,n,label');
        assert.deepEqual(next.next, { part: next.part, bytes: next.from + next.bytes.length });
        lines.push(next);
        at = next.next;
      }
      const expected = labels.map(([label], n) => {
        const quoted = /[",\n\r]/.test(label) ? `"${label.replaceAll('"', '""')}"` : label;
        return `${n * 1e6},${n},${quoted}\n`;
      });
      assert.equal(lines.map((each) => each.bytes.toString()).join(''), Buffer.from(expected.join('')).toString());
      tail.close();
      void writer.close();
    }),
    { numRuns: 60 },
  );
});

test('pipes, links and rows without an end in a folder of somebody else lead nowhere', () => {
  const read = (): Lines | undefined => {
    const tail = new Tail(folder, 'sample');
    try {
      return tail.wholeLines(BEGINNING, 1 << 16, true);
    } finally {
      tail.close();
    }
  };
  put('elsewhere', 'time,n\n1,2\n');
  execFileSync('mkfifo', [file('sample.csv')]);
  assert.equal(read(), undefined);
  fs.rmSync(file('sample.csv'));
  fs.symlinkSync(file('elsewhere'), file('sample.csv'));
  assert.equal(read(), undefined);
  fs.rmSync(file('sample.csv'));
  // sparse: it takes no room, and a reader that looks for the end of its row takes all that there is
  put('sample.csv', 'time,n\n1,2');
  fs.truncateSync(file('sample.csv'), 2 ** 40);
  assert.equal(read(), undefined);
  fs.rmSync(file('sample.csv'));
  execFileSync('mkfifo', [file('sample.0001.csv.zst')]);
  assert.equal(read(), undefined);
  fs.rmSync(file('sample.0001.csv.zst'));
  fs.writeFileSync(file('sample.0001.csv.zst'), zstdCompressSync(Buffer.alloc(300 << 20, 'time,n\n')));
  // passed over, once
  assert.deepEqual([read()?.bytes.length, read()?.next], [0, { part: 2, bytes: 0 }]);
  fs.rmSync(file('sample.0001.csv.zst'));
  put('sample.csv', 'time,n\n1,2\n');
  assert.equal(read()?.bytes.toString(), '1,2\n');
});

test('parts that have nothing, or a row without an end, are passed over one at a time', () => {
  const whole = zstdCompressSync(Buffer.from('time,n\n1,2\n'));
  const damaged = zstdCompressSync(Buffer.alloc(1 << 20, 'x'), {
    params: { [constants.ZSTD_c_checksumFlag]: 1 },
  });
  damaged[damaged.length - 1]! ^= 1;
  const endless = zstdCompressSync(Buffer.concat([Buffer.from('time,n\n1,"'), Buffer.alloc(8 << 20, '\n')]));
  for (const [part, bytes] of [damaged, damaged, endless, whole].entries())
    fs.writeFileSync(file(`sample.000${part + 1}.csv.zst`), bytes);
  const tail = new Tail(folder, 'sample');
  const tailedLines: [number, number, string][] = [];
  let at: Position = BEGINNING;
  for (let lines = tail.wholeLines(at, 1 << 16); lines !== undefined; lines = tail.wholeLines(at, 1 << 16)) {
    at = lines.next;
    tailedLines.push([at.part, at.bytes, lines.bytes.toString()]);
  }
  assert.deepEqual(tailedLines, [
    [2, 0, ''],
    [3, 0, ''],
    [4, 0, ''],
    [4, 11, '1,2\n'],
  ]);
  tail.close();
  // bytes are given as they are: whoever reads them does not care about rows
  assert.equal(new Tail(folder, 'sample').read(BEGINNING, 4)?.part, 3);
});

test('a compressed part is unpacked once, also when it was read to its end, or cut off', (t) => {
  const packed = zstdCompressSync(Buffer.from(`time,n\n${'1,2\n'.repeat(100_000)}`));
  const unpacked = t.mock.method(zlib, 'zstdDecompressSync');
  syncBuiltinESMExports();
  t.after(() => {
    unpacked.mock.restore();
    syncBuiltinESMExports();
  });
  const count = (bytes: Buffer): [number, number] => {
    fs.writeFileSync(file('sample.0001.csv.zst'), bytes);
    unpacked.mock.resetCalls();
    const tail = new Tail(folder, 'sample');
    let rows = 0;
    let at: Position = BEGINNING;
    for (let lines = tail.wholeLines(at, 1 << 16); lines !== undefined; lines = tail.wholeLines(at, 1 << 16)) {
      at = lines.next;
      rows += lines.bytes.length / 4;
    }
    if (bytes === packed) assert.equal(tail.wholeLines(at, 1 << 16), undefined);
    tail.close();
    return [unpacked.mock.callCount(), rows];
  };
  assert.deepEqual(count(packed), [1, 100_000]);
  // its beginning is had by unpacking it once more
  const [calls, rows] = count(packed.subarray(0, packed.length - 3));
  assert.equal(calls, 2);
  assert.ok(rows <= 100_000, `${rows}`);
});

test('a folder of somebody else is not read to its end, nor for every part', (t) => {
  for (let part = 1; part <= 50; part++) put(`sample.${String(part).padStart(4, '0')}.csv`, `time,n\n${part},2\n`);
  const looks = t.mock.method(fs, 'opendirSync');
  syncBuiltinESMExports();
  t.after(() => {
    looks.mock.restore();
    syncBuiltinESMExports();
  });
  const listed = listParts(folder, 30);
  assert.deepEqual([listed.get('sample')!.numbered.length, listParts(folder).get('sample')!.numbered.length], [30, 50]);
  const tail = new Tail(folder, 'sample', process.getuid!());
  tail.listed = listParts(folder).get('sample');
  looks.mock.resetCalls();
  let rows = 0;
  for (let at: Position = BEGINNING; ; rows++) {
    const lines = tail.wholeLines(at, 1 << 16, true);
    if (lines === undefined) break;
    at = lines.next;
  }
  tail.close();
  assert.deepEqual([rows, looks.mock.callCount()], [50, 0]);
  for (let table = 0; table < 600; table++) put(`t${table}.csv`, 'time\n');
  assert.deepEqual([listParts(folder, 10_000).size, listParts(folder).size], [512, 601]);
});
