import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  CSV_COLUMNS,
  csvText,
  type MadeProcess,
  METRICS,
  madeProcess,
  tsvTexts,
} from '../../../test/made/epmt-archive.ts';
import { textOf } from '../../base/byte-text.ts';
import { cellMeaning, repaired } from './cell-text.ts';
import { readCsv } from './csv.ts';
import { ProcessRows, TEXTS } from './rows.ts';
import { readTsv, readTsvHeader } from './tsv.ts';

const file = (name: string, text: string | Buffer) => ({ name, bytes: Buffer.from(text) });

function csv(text: string | Buffer): ProcessRows {
  const rows = new ProcessRows();
  readCsv(file('c1-papiex-1-0.csv', text), rows);
  return rows;
}

function tsv({ header, data }: { header: string; data: string }): ProcessRows {
  const rows = new ProcessRows();
  readTsv(file('c1-papiex.tsv', data), readTsvHeader(file('c1-papiex-header.tsv', header)), rows);
  return rows;
}

const texts = (rows: ProcessRows, column: string): string[] =>
  Array.from({ length: rows.processes }, (_, p) => rows.values(column)[rows.texts.get(column)!.codes[p]!]!);
const numbers = (rows: ProcessRows, column: string): number[] => [...rows.column(column).subarray(0, rows.threads)];

/** Texts are kept as they are, but what looks quoted is quoted once more. */
const kept = (text: string): string => textOf(Buffer.from(text));

/** Commas, backslashes, quotes and control characters, as often as letters. */
const nasty = fc
  .array(fc.oneof(fc.constantFrom(...',\\"\'\t\n\r\x07\b\v\f# {}%:;'.split('')), fc.string({ unit: 'grapheme' })), {
    maxLength: 30,
  })
  .map((fragments) => fragments.join('').replaceAll('\0', ''));

const processes = fc.array(
  fc
    .record({
      args: nasty,
      tags: nasty,
      exename: nasty,
      threads: fc.integer({ min: 1, max: 4 }),
      numbers: fc.array(fc.maxSafeNat(), { minLength: METRICS.length, maxLength: METRICS.length }),
      long: fc.boolean(),
    })
    .map((made) => ({ ...made, args: made.long ? made.args.repeat(40) : made.args })),
  { minLength: 1, maxLength: 8 },
);

const build = (made: typeof processes extends fc.Arbitrary<infer T> ? T : never): MadeProcess[] =>
  made.map(({ args, tags, exename, threads, numbers: values }, i) => {
    const base = madeProcess(100 + i, { args, tags, exename });
    const one = base.threads[0]!;
    const metrics = Object.fromEntries(METRICS.map((name, m) => [name, values[m]!]));
    return {
      ...base,
      threads: Array.from({ length: threads }, (_, t) => ({
        ...one,
        tid: base.pid + t * 1000,
        metrics: { ...metrics, minflt: t },
      })),
    };
  });

for (const width of [41, 46, 48] as const) {
  test(`CSV of ${width} columns: every text and number comes back`, () => {
    assert.equal(CSV_COLUMNS[width].length, width);
    fc.assert(
      fc.property(processes, (made) => {
        const given = build(made);
        const rows = csv(csvText(given, CSV_COLUMNS[width]));
        assert.equal(rows.processes, given.length);
        assert.equal(
          rows.threads,
          given.reduce((sum, p) => sum + p.threads.length, 0),
        );
        for (const column of TEXTS) {
          assert.deepEqual(
            texts(rows, column),
            given.map((p) => kept(String(p[column as keyof MadeProcess]))),
          );
        }
        for (const column of CSV_COLUMNS[width].filter((name) => METRICS.includes(name))) {
          assert.deepEqual(
            numbers(rows, column),
            given.flatMap((p) => p.threads.map((thread) => thread.metrics[column])),
          );
        }
        assert.deepEqual(
          numbers(rows, 'tid'),
          given.flatMap((p) => p.threads.map((thread) => thread.tid)),
        );
      }),
      { numRuns: 150 },
    );
  });
}

test('TSV, of papiex and converted: every text and number comes back', () => {
  for (const converted of [false, true]) {
    fc.assert(
      fc.property(processes, (made) => {
        const given = build(made);
        const rows = tsv(tsvTexts(given, converted));
        assert.equal(rows.processes, given.length);
        // papiex escapes no backslash: what its escapes were is not known any more
        const expected = (text: string): string =>
          converted ? kept(text) : text.replace(/[\x07-\r]/g, (c) => `\\${'abtnvfr'[c.charCodeAt(0) - 7]}`);
        assert.deepEqual(
          texts(rows, 'args'),
          given.map((p) => kept(expected(p.args))),
        );
        assert.deepEqual(
          numbers(rows, 'usertime'),
          given.flatMap((p) => p.threads.map((t) => t.metrics.usertime)),
        );
        assert.deepEqual(
          numbers(rows, 'minflt'),
          given.flatMap((p) => p.threads.map((t) => t.metrics.minflt)),
        );
        assert.equal(rows.numbers.has('num_threads'), !converted);
        assert.deepEqual([...rows.first.subarray(0, rows.processes)], firsts(given));
      }),
      { numRuns: 150 },
    );
  }
});

const firsts = (given: readonly MadeProcess[]): number[] => {
  let at = 0;
  return given.map(({ threads }) => {
    at += threads.length;
    return at - threads.length;
  });
};

test('what a cell means', () => {
  assert.equal(cellMeaning('a\\,b\\\\c'), 'a,b\\c');
  assert.equal(cellMeaning('\\n\\t\\a'), '\n\t\x07');
  assert.equal(cellMeaning('\\\\n'), '\\n');
  assert.equal(cellMeaning('try\\.some\\'), 'try\\.some\\');
  assert.equal(cellMeaning('\x1b[1m'), '\x1b[1m');
  const stray = repaired(Buffer.from('\xe9\\\\xe9\\,', 'latin1')).toString();
  assert.equal(cellMeaning(stray), "$'\\xe9\\\\xe9,'");
  assert.equal(cellMeaning("$'\\\\xe9'"), "$'$\\'\\\\xe9\\''");
});

const COLUMNS = CSV_COLUMNS[41];
const good = csvText([madeProcess(7), madeProcess(8)], COLUMNS);
const lines = good.trimEnd().split('\n');

test('comments hold the tags of processes without any; blank lines and line ends of Windows do not matter', () => {
  const tagged = csvText([madeProcess(7), madeProcess(8, { tags: 'op:a' })], COLUMNS);
  const rows = csv(`# op:old;seq:1\n#more\n\n${tagged.replaceAll('\n', '\r\n')}\n# late comment, of two cells\n`);
  assert.deepEqual(texts(rows, 'tags'), ['op:old;seq:1', 'op:a']);
  assert.deepEqual(texts(csv(csvText([madeProcess(7, { tags: '#1' })], COLUMNS)), 'tags'), ['#1']);
  assert.equal(csv(good.trimEnd()).processes, 2);
  assert.deepEqual(numbers(csv(good), 'rdtsc_duration').length, 2);
});

test('a header without tags: those of the comment count, or none', () => {
  const old = csvText(
    [madeProcess(7), madeProcess(8)],
    COLUMNS.filter((column) => column !== 'tags'),
  );
  assert.deepEqual(texts(csv(`# op:old;seq:1\n${old}`), 'tags'), ['op:old;seq:1', 'op:old;seq:1']);
  assert.deepEqual(texts(csv(old), 'tags'), ['', '']);
  assert.deepEqual(texts(csv(old), 'exename'), ['sh', 'sh']);
});

test('bytes that are no UTF-8 are quoted', () => {
  const bytes = Buffer.from(good.replace('-c true', 'caf\xe9 \xc3\xa9 \xff'), 'latin1');
  assert.deepEqual(texts(csv(bytes), 'args'), ["$'caf\\xe9 é \\xff'", '-c true']);
});

test('negative numbers and empty cells are what they are', () => {
  const cells = lines[1]!.split(',');
  cells[COLUMNS.indexOf('rdtsc_duration')] = '-28050216875977091';
  cells[COLUMNS.indexOf('wchar')] = '';
  const rows = csv([lines[0], cells.join(',')].join('\n'));
  assert.ok(numbers(rows, 'rdtsc_duration')[0]! < -28e15);
  assert.deepEqual(numbers(rows, 'wchar'), [Number.NaN]);
  assert.equal(rows.empty, 1);
});

const change = (line: number, column: string, value: string): string => {
  const changed = [...lines];
  const cells = changed[line - 1]!.split(',');
  cells[COLUMNS.indexOf(column)] = value;
  changed[line - 1] = cells.join(',');
  return changed.join('\n');
};

const corrupted: [text: string, why: RegExp][] = [
  ['', /line 1: it is empty/],
  ['# only a comment\n', /no header/],
  ['a,b,c\n1,2,3\n', /line 1: the header lacks most columns/],
  [good.replace('numtids', 'numthreads'), /line 1: the header lacks numtids/],
  [good.replace('usertime', 'user_time'), /line 1: the header lacks usertime/],
  [good.replace('minflt', 'majflt'), /the header has "majflt" twice/],
  [change(3, 'args', 'a,b'), /line 3: it has 42 columns, the header has 41/],
  [`${good}\n,,,\n`, /line 5: it has 4 columns/],
  [good.slice(0, -20), /line 3: it has 3\d columns/],
  [change(2, 'usertime', ''), /line 2: usertime is empty/],
  [change(3, 'systemtime', ''), /line 3: systemtime is empty/],
  [change(2, 'usertime', '12x'), /line 2: usertime is no whole number: "12x"/],
  [change(2, 'usertime', '1.5'), /line 2: usertime is no whole number: "1.5"/],
  [change(2, 'usertime', '-'), /line 2: usertime is no whole number: "-"/],
  [change(2, 'numtids', '0'), /line 2: numtids is 0/],
  [change(2, 'numtids', ''), /line 2: it is a thread without a process/],
  [change(2, 'numtids', '3'), /line 3: 2 more threads of the process in line 2/],
  [change(3, 'numtids', '2'), /line 3: 1 more threads/],
  [change(3, 'pid', ''), /line 3: pid is missing/],
  [change(3, 'start', '0'), /line 3: start or end is missing/],
  [change(3, 'args', 'a\0ffb'), /line 3: there is a NUL byte in it/],
  [change(2, 'numtids', '9'.repeat(20)), /line 2: numtids is too large/],
];

for (const [text, why] of corrupted)
  test(`a corrupted CSV file: ${why.source}`, () => assert.throws(() => csv(text), why));

test('what editors put before a text does not matter', () => {
  assert.equal(csv(`\ufeff${good}`).processes, csv(good).processes);
});

test('a corrupted TSV file', () => {
  const { header, data } = tsvTexts([madeProcess(7), madeProcess(8)]);
  const wrong = (text: string, why: RegExp, head = header): void =>
    assert.throws(() => tsv({ header: head, data: text }), why);
  wrong(data.replace('{', ''), /line 1: it does not begin with/);
  wrong(data.replace('}', ',5}'), /line 1: there are 31 values for 1 threads with 30 metrics each/);
  wrong(data.replace('}', ',x}'), /line 1: value 31 in the braces is no whole number/);
  wrong(data.replace('}\t', '}x\t'), /a tab should follow/);
  wrong(data.slice(0, data.lastIndexOf('\t')), /line 2: it has 15 columns, the header has 16/);
  wrong(data.replace('-c true', '-c\ttrue'), /line 1: it has more than the header's 16 columns/);
  wrong(data.replace('-c true', '-c\0true'), /line 1: there is a NUL byte in it/);
  wrong(data.replace('\t8\t', '\tx8\t'), /line 2: pid is no whole number: "x8"/);
  wrong(data, /line 1: it does not begin with \{metric/, 'tags\tpid\n');
  wrong(data, /the header lacks systemtime/, header.replace('systemtime', 'stime'));
  // cut off anywhere it is refused, or it ends exactly behind a process
  for (let length = 1; length < data.length; length++) {
    try {
      const rows = tsv({ header, data: data.slice(0, length) });
      assert.ok(rows.processes === 1 || data.slice(length) === '\n' || data.length - length < 10, String(length));
    } catch (error) {
      assert.match((error as Error).message, /c1-papiex\.tsv, line [12]: /);
    }
  }
});

test('files of several versions in one job: what a version does not know is missing', () => {
  const rows = new ProcessRows();
  readCsv(file('a-papiex-1-0.csv', csvText([madeProcess(7)], CSV_COLUMNS[41])), rows);
  readCsv(file('a-papiex-2-0.csv', csvText([madeProcess(8)], CSV_COLUMNS[48])), rows);
  readCsv(file('a-papiex-3-0.csv', csvText([madeProcess(9)], CSV_COLUMNS[41])), rows);
  const made = madeProcess(8).threads[0]!.metrics.cutime!;
  assert.deepEqual(numbers(rows, 'cutime'), [Number.NaN, made, Number.NaN]);
  assert.equal(rows.where(1), 'a-papiex-2-0.csv, line 2');
});

test('columns grow with the file', () => {
  const many = Array.from({ length: 5000 }, (_, i) => madeProcess(i + 1, { args: '' }));
  assert.deepEqual(numbers(csv(csvText(many, COLUMNS)), 'pid').slice(-2), [4999, 5000]);
  const rows = tsv(tsvTexts(many));
  assert.deepEqual(numbers(rows, 'pid').slice(-2), [4999, 5000]);
  assert.deepEqual(
    numbers(rows, 'starttime'),
    many.map((p) => p.threads[0]!.metrics.starttime),
  );
});

test('many files of one process each: columns are moved seldom, whatever their number', () => {
  const rows = new ProcessRows();
  const columns = new Set<Float64Array>();
  for (let i = 1; i <= 5000; i++) {
    readCsv({ name: `c1-papiex-${i}-0.csv`, bytes: Buffer.from(csvText([madeProcess(i)], COLUMNS)) }, rows);
    columns.add(rows.numbers.get('pid')!);
  }
  assert.deepEqual(numbers(rows, 'pid').slice(-2), [4999, 5000]);
  assert.ok(columns.size < 8, `${columns.size} times`);
});
