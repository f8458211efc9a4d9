import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { enumNames } from '../../../test/made/c-enum.ts';
import { CSV_COLUMNS } from '../../../test/made/epmt-archive.ts';
import { sampling } from '../../base/sampling.ts';
import { CELL, CELL_STATE, readCsv } from './csv.ts';
import { ProcessRows, TEXTS } from './rows.ts';

const HEADER = CSV_COLUMNS[48];

const number = fc.oneof(
  { weight: 20, arbitrary: fc.nat() },
  { weight: 5, arbitrary: fc.maxSafeInteger() },
  fc.constantFrom('', '-', '-0', '-1', '0', '1.5', '9007199254740993', '12345678901234567890', 'x', '7\r'),
);
const text = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('', 'cc1', 'make', 'a\\,b', 'a\\\\', 'tail\\', '#tag', 'é€😀', '\r') },
  fc.stringMatching(/^[a-z\\ -]{0,12}$/),
  fc.stringMatching(/^[a-c]{60,70}$/),
);
/** What makes a row odd, or wrong, in rare cases. */
const row = fc.record({
  texts: fc.array(text, { minLength: 5, maxLength: 5 }),
  numbers: fc.array(number, { minLength: HEADER.length, maxLength: HEADER.length }),
  plain: fc.integer({ min: 0, max: 30 }),
  threads: fc.constantFrom(1, 1, 1, 2, 3),
  end: fc.constantFrom('\n', '\n', '\n', '\n', '\r\n', '\n\n', '\n#a comment\n', ',\n'),
});

/** Its lines; most of them are as papiex writes them. */
function linesOf({
  texts,
  numbers,
  plain,
  threads,
  end,
}: typeof row extends fc.Arbitrary<infer T> ? T : never): string {
  let lines = '';
  for (let thread = 0; thread < threads; thread++) {
    const cells = HEADER.map((column, c) => {
      const textIndex = TEXTS.indexOf(column);
      const isOwn = ['exitcode', 'exitsignal', 'pid', 'generation', 'ppid', 'pgid', 'sid', 'mpinumranks'].includes(
        column,
      );
      if (textIndex >= 0) return thread === 0 ? texts[textIndex]! : '';
      if (column === 'numtids') return thread === 0 ? String(threads) : '';
      if (thread > 0 && isOwn) return '';
      return String(plain > 0 && !Number.isInteger(numbers[c]) ? c + 1 : numbers[c]);
    });
    lines += cells.join(',') + (plain > 2 ? '\n' : end);
  }
  return lines;
}

function readWith(bytes: Buffer, native: ReturnType<typeof sampling>) {
  const rows = new ProcessRows();
  // texts of an earlier file are found again
  rows.texts.get('exename')!.pool.codeOf('make');
  try {
    readCsv({ name: 'c1.csv', bytes: Buffer.from(`${HEADER.join(',')}\n`) }, rows, native);
    readCsv({ name: 'c1-papiex.csv', bytes }, rows, native);
  } catch (error) {
    return { fault: (error as Error).message };
  }
  const { processes, threads, empty, first, file, line } = rows;
  return {
    processes,
    threads,
    empty,
    first: [...first.subarray(0, processes + 1)],
    file: [...file.subarray(0, processes)],
    line: [...line.subarray(0, threads)],
    numbers: [...rows.numbers].map(([name, values]) => [name, [...values.subarray(0, threads)]]),
    texts: [...rows.texts].map(([name, { codes, pool }]) => [name, [...codes.subarray(0, processes)], pool.values()]),
  };
}

test('C and JavaScript read the same from a CSV file', {
  skip: sampling() === null && 'there is no C compiler',
}, () => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 40 }), fc.constantFrom('', 'cut off'), (some, tail) => {
      const bytes = Buffer.from(`${HEADER.join(',')}\n${some.map(linesOf).join('').repeat(4)}${tail}`);
      assert.deepEqual(readWith(bytes, sampling()), readWith(bytes, null));
    }),
    { numRuns: 300 },
  );
});

test('C reads on where texts need more room', { skip: sampling() === null && 'there is no C compiler' }, () => {
  const lines = Array.from({ length: 3000 }, (_, i) =>
    HEADER.map((column) => {
      if (TEXTS.includes(column)) return `${column}${i % (column === 'path' ? 7 : 3000)}${'x'.repeat(i % 90)}`;
      return column === 'numtids' ? '1' : String(i + 1);
    }).join(','),
  );
  const bytes = Buffer.from(`${[HEADER.join(','), ...lines].join('\n')}\n`);
  const read = readWith(bytes, sampling());
  assert.equal(read.processes, 3000);
  assert.deepEqual(read, readWith(bytes, null));
});

test('C and JavaScript have the same places and kinds of columns', () => {
  const names = (of: string): string[] => enumNames('cells', of);
  assert.deepEqual(
    names('cell'),
    Object.entries(CELL).map(([name, value]) => (value === CELL.counted ? `${name} = ${value}` : name)),
  );
  assert.deepEqual(Object.values(CELL).slice(0, -1), [...Array(7).keys()]);
  assert.deepEqual(names('cell_state').slice(0, -1), Object.keys(CELL_STATE));
});
