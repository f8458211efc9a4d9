import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { Frame } from '../../table/frame.ts';
import { counter, gauge, type Table, text } from '../../table/table.ts';
import { alreadyWritten } from './already-written.ts';
import { TableWriter } from './append.ts';

const table: Table = {
  name: 'sample',
  help: 'For tests.',
  scope: 'node',
  keys: [{ name: 'disk', help: 'Which.' }],
  columns: [
    counter('read_bytes', 'bytes', 'Bytes.'),
    text('label', 'Words.'),
    gauge('load', 'count', 'Load.', 'float', 2),
  ],
};

const folders: string[] = [];
function folder(): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-append-'));
  folders.push(made);
  return made;
}
after(() => {
  for (const made of folders) fs.rmSync(made, { recursive: true, force: true });
});

function frameOf(time: number, rows: [string, number, string, number][]): Frame {
  const frame = new Frame(table);
  frame.clear(time);
  for (const [disk, read, label, load] of rows) {
    const r = frame.row();
    frame.texts[r * frame.textWidth + frame.text('disk')] = disk;
    frame.texts[r * frame.textWidth + frame.text('label')] = label;
    frame.numbers[r * frame.numberWidth + frame.number('read_bytes')] = read;
    frame.numbers[r * frame.numberWidth + frame.number('load')] = load;
  }
  return frame;
}

/** The plainest CSV reader there is, to check the fast writer. */
function parse(csv: string): string[][] {
  const lines: string[][] = [];
  let cells: string[] = [];
  let cell = '';
  let quoted = false;
  for (let i = 0; i < csv.length; i++) {
    const c = csv[i]!;
    if (quoted) {
      if (c === '"' && csv[i + 1] === '"') cell += csv[++i];
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ',' || c === '\n') {
      cells.push(cell);
      cell = '';
      if (c === '\n') {
        lines.push(cells);
        cells = [];
      }
    } else cell += c;
  }
  return lines;
}

test('a frame becomes lines: time, keys, columns; a missing value is empty', async () => {
  const at = folder();
  const writer = new TableWriter(at, table);
  writer.append(
    frameOf(1_700_000_000_000_000, [
      ['sda', 9_007_199_254_740_991, 'a, "b"', 0.5],
      ['sdb', Number.NaN, '', -1.25],
    ]),
  );
  await writer.close();
  assert.equal(
    fs.readFileSync(writer.file, 'utf8'),
    'time,disk,read_bytes,label,load\n1700000000000000,sda,9007199254740991,"a, ""b""",0.5\n1700000000000000,sdb,,,-1.25\n',
  );
  assert.equal(fs.statSync(writer.file).mode & 0o777, 0o600);
});

test('any values come back as they were written', () => {
  const value = fc.oneof(
    fc.nat(),
    fc.maxSafeNat(),
    fc.maxSafeInteger(),
    fc.constant(Number.NaN),
    fc.integer({ min: -1e9, max: 1e9 }).map((n) => n / 100),
  );
  const textArbitrary = fc.string({ unit: 'binary' }).filter((s) => !/[\uD800-\uDFFF\0]/.test(s));
  const at = folder();
  let run = 0;
  fc.assert(
    fc.property(
      fc.array(fc.tuple(textArbitrary, value, textArbitrary, value), { minLength: 1, maxLength: 20 }),
      (rows) => {
        const own = path.join(at, String(run++));
        fs.mkdirSync(own);
        const writer = new TableWriter(own, table);
        writer.append(frameOf(1_700_000_000_123_456, rows));
        const [head, ...lines] = parse(fs.readFileSync(writer.file, 'utf8'));
        void writer.close();
        assert.deepEqual(head, ['time', 'disk', 'read_bytes', 'label', 'load']);
        assert.equal(lines.length, rows.length);
        lines.forEach((cells, i) => {
          const [disk, read, label, load] = rows[i]!;
          assert.deepEqual([cells[0], cells[1], cells[3]], ['1700000000123456', disk, label]);
          for (const [cell, expected] of [
            [cells[2], read],
            [cells[4], load],
          ] as const) {
            if (Number.isNaN(expected)) assert.equal(cell, '');
            else assert.equal(Number(cell), expected === 0 ? 0 : expected);
          }
        });
      },
    ),
    { numRuns: 200 },
  );
});

test('a part that is old enough is rolled and compressed; the next one has its own header', async () => {
  const at = folder();
  const writer = new TableWriter(at, table, { rollSeconds: 10 });
  for (let s = 0; s <= 25; s++) writer.append(frameOf(s * 1_000_000, [['sda', s, '', s]]));
  await writer.close();
  assert.deepEqual(fs.readdirSync(at).sort(), ['sample.0001.csv.zst', 'sample.0002.csv.zst', 'sample.csv']);
  const fileTexts = [
    zstdDecompressSync(fs.readFileSync(path.join(at, 'sample.0001.csv.zst'))).toString(),
    zstdDecompressSync(fs.readFileSync(path.join(at, 'sample.0002.csv.zst'))).toString(),
    fs.readFileSync(path.join(at, 'sample.csv'), 'utf8'),
  ];
  assert.ok(fileTexts.every((p) => p.startsWith('time,disk,read_bytes,label,load\n')));
  const seconds = fileTexts.flatMap((p) =>
    parse(p)
      .slice(1)
      .map((cells) => Number(cells[2])),
  );
  assert.deepEqual(
    seconds,
    Array.from({ length: 26 }, (_, s) => s),
  );
});

test('a new agent sets the part of one that was killed aside instead of appending to a torn line', async () => {
  const at = folder();
  fs.writeFileSync(path.join(at, 'sample.csv'), 'time,disk,read_bytes,label,load\n1,sda,1,,1\n2,sda,2,,');
  const writer = new TableWriter(at, table, { plain: true });
  writer.append(frameOf(3, [['sda', 3, '', 3]]));
  await writer.close();
  assert.equal(fs.readFileSync(path.join(at, 'sample.0001.csv'), 'utf8').split('\n').length, 3);
  assert.equal(fs.readFileSync(path.join(at, 'sample.csv'), 'utf8'), 'time,disk,read_bytes,label,load\n3,sda,3,,3\n');
});

test('an agent that was killed before it had written anything leaves no empty part', async () => {
  const at = folder();
  fs.writeFileSync(path.join(at, 'sample.csv'), '');
  const writer = new TableWriter(at, table);
  writer.append(frameOf(3, [['sda', 3, '', 3]]));
  await writer.close();
  assert.deepEqual(fs.readdirSync(at), ['sample.csv']);
  assert.equal(fs.readFileSync(path.join(at, 'sample.csv'), 'utf8'), 'time,disk,read_bytes,label,load\n3,sda,3,,3\n');
});

test('an agent whose file was sealed and removed goes on in a new one', async () => {
  const at = folder();
  const writer = new TableWriter(at, table, { plain: true, rollSeconds: 10 });
  writer.append(frameOf(1e6, [['sda', 1, '', 1]]));
  fs.rmSync(writer.file);
  writer.append(frameOf(2e6, [['sda', 2, '', 2]]));
  assert.equal(fs.readFileSync(writer.file, 'utf8'), 'time,disk,read_bytes,label,load\n2000000,sda,2,,2\n');
  fs.rmSync(writer.file);
  // also when the next part is due
  writer.append(frameOf(20e6, [['sda', 20, '', 20]]));
  await writer.close();
  assert.equal(fs.readFileSync(writer.file, 'utf8'), 'time,disk,read_bytes,label,load\n20000000,sda,20,,20\n');
});

const root = process.getuid?.() === 0;
test('a full disk: no half line, samples wait in memory and are written when there is room', {
  skip: !root && 'needs root to mount a small disk',
}, async () => {
  const at = folder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', at]);
  try {
    const ballast = path.join(at, 'ballast');
    const writer = new TableWriter(at, table, { plain: true });
    writer.append(frameOf(0, [['sda', 0, 'x'.repeat(100), 0]]));
    fs.writeFileSync(ballast, Buffer.alloc(56 << 10));
    for (let s = 1; s <= 200; s++) writer.append(frameOf(s, [['sda', s, 'x'.repeat(100), s]]));
    assert.equal(writer.trouble?.why, 'no space left on the device');
    assert.ok((writer.trouble?.keptRows ?? 0) > 0);
    assert.equal(writer.trouble?.lostRows, 0);
    assert.equal(writer.trouble?.since, 201 - writer.trouble!.keptRows, 'since the first that waits');
    assert.ok(fs.readFileSync(writer.file, 'utf8').endsWith('\n'), 'whole lines only');
    fs.rmSync(ballast);
    writer.append(frameOf(201, [['sda', 201, 'x'.repeat(100), 201]]));
    await writer.close();
    assert.equal(writer.trouble, undefined);
    assert.deepEqual(
      parse(fs.readFileSync(writer.file, 'utf8'))
        .slice(1)
        .map((cells) => Number(cells[2])),
      Array.from({ length: 202 }, (_, s) => s),
    );
  } finally {
    execFileSync('umount', [at]);
  }
});

test('when memory for waiting samples runs out the oldest are given up, and counted', {
  skip: !root && 'needs root to mount a small disk',
}, async () => {
  const at = folder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8k', 'tmpfs', at]);
  try {
    const ballast = path.join(at, 'ballast');
    const writer = new TableWriter(at, table, { plain: true, keepBytes: 1000 });
    fs.writeFileSync(ballast, Buffer.alloc(8 << 10));
    for (let s = 0; s < 100; s++) writer.append(frameOf(s, [['sda', s, 'x'.repeat(80), s]]));
    const trouble = writer.trouble!;
    assert.equal(trouble.keptRows + trouble.lostRows, 100);
    assert.equal(fs.existsSync(writer.file), false, 'no empty file that would look damaged');
    fs.rmSync(ballast);
    writer.append(frameOf(100, [['sda', 100, '', 100]]));
    await writer.close();
    const written = parse(fs.readFileSync(writer.file, 'utf8'))
      .slice(1)
      .map((cells) => Number(cells[2]));
    assert.equal(written.length, 101 - writer.trouble!.lostRows);
    assert.equal(written.at(-1), 100);
    assert.equal(writer.trouble!.keptRows, 0);
  } finally {
    execFileSync('umount', [at]);
  }
});

test('events that an agent had written before it was killed are not written again by the next one', async () => {
  const nodePath = folder();
  const events: Table = { ...table, events: true };
  const rows = (...labels: string[]) =>
    frameOf(
      7,
      labels.map((label) => [label === 'two words, "é"' ? 'z' : label, 1, label, 0.5]),
    );
  new TableWriter(nodePath, events, { plain: true }).append(rows('a', 'b', 'two words, "é"'));
  fs.appendFileSync(path.join(nodePath, 'sample.csv'), '7,sda,1,tor');
  const next = new TableWriter(nodePath, events, { plain: true });
  next.append(rows('b', 'two words, "é"'));
  assert.equal(fs.existsSync(next.file), false);
  next.append(rows('two words, "é"', 'c'));
  next.append(rows('d'));
  next.append(rows('d'));
  await next.close();
  assert.equal(next.rowsWritten, 3);
  const labels = parse(fs.readFileSync(next.file, 'utf8')).map((cells) => cells[3]);
  assert.deepEqual(labels, ['label', 'c', 'd', 'd']);
});

test('rows whose texts have newlines are told apart as rows, wherever the end of a long file is looked at', async () => {
  const nodePath = folder();
  const events: Table = { ...table, events: true };
  const script = (n: number) => `true "${n}"\nx=1\ndone`;
  // what else is known of an event may differ
  const rows = (...numbers: number[]) =>
    frameOf(
      7,
      numbers.map((n) => [`sd${n}`, 1, script(n), Math.random()]),
    );
  const first = new TableWriter(nodePath, events, { plain: true });
  for (let n = 0; n < 9; n++) first.append(rows(n));
  await first.close();
  const { size } = fs.statSync(first.file);
  const all = [...alreadyWritten(first.file, 1)].slice(1);
  assert.equal(all.length, 9);
  for (let tail = 1; tail < size; tail++) {
    const writtenLines = [...alreadyWritten(first.file, 1, tail)];
    assert.deepEqual(writtenLines, all.slice(all.length - writtenLines.length), `the last ${tail} bytes`);
  }
  const next = new TableWriter(nodePath, events, { plain: true });
  next.append(rows(8, 9));
  next.append(rows(10, 8));
  next.append(rows(11));
  await next.close();
  const labels = parse(fs.readFileSync(next.file, 'utf8')).map((cells) => cells[3]);
  assert.deepEqual(labels, ['label', script(9), script(10), script(11)]);
});
