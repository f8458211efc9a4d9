import type { Batch, TextColumn } from '../../src/recording/read/batch.ts';
import type { NodeBatch } from '../../src/show/export/node-batch.ts';
import type { Output } from '../../src/show/export/output.ts';
import type { Table } from '../../src/table/table.ts';

/** A row as tests write it: the time, the keys and the columns by name; what is not there is missing. */
export type Row = { time: number } & Record<string, number | string>;

/** A batch made by hand, for tests; rows must come sorted by keys and time. */
export function batchOf(table: Table, rows: readonly Row[]): Batch {
  const texts = new Map<string, TextColumn>();
  for (const name of [...table.keys, ...table.columns.filter((c) => c.type === 'text')].map((c) => c.name)) {
    const values = [...new Set(rows.map((row) => String(row[name] ?? '')))];
    texts.set(name, { values, codes: Uint32Array.from(rows, (row) => values.indexOf(String(row[name] ?? ''))) });
  }
  const numbers = new Map<string, Float64Array>();
  for (const { name, type } of table.columns) {
    if (type !== 'text')
      numbers.set(
        name,
        Float64Array.from(rows, (row) => Number(row[name] ?? Number.NaN)),
      );
  }
  const series: number[] = [];
  const about = (row: Row): string => table.keys.map((key) => row[key.name]).join('\0');
  rows.forEach((row, i) => {
    if (i === 0 || about(row) !== about(rows[i - 1]!)) series.push(i);
  });
  return {
    table,
    rows: rows.length,
    time: Float64Array.from(rows, (row) => row.time),
    numbers,
    texts,
    series: Uint32Array.from([...series, rows.length]),
  };
}

/** An output that keeps what it is given. */
export function memoryOutput(): Output & { text(): string } {
  const chunks: Buffer[] = [];
  return {
    name: 'memory',
    get bytesWritten() {
      return chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    },
    write(bytes, length) {
      chunks.push(Buffer.from(bytes.subarray(0, length)));
    },
    finish() {},
    abandon() {},
    text: () => Buffer.concat(chunks).toString(),
  };
}

/** Pieces as an export hands them over. */
export async function* stream<T extends NodeBatch | NodeBatch[]>(...items: T[]): AsyncGenerator<T> {
  yield* items;
}

/** A CSV parser that is too simple to be wrong: a character at a time. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') {
        cell += '"';
        i++;
      } else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ',' || c === '\n') {
      row.push(cell);
      cell = '';
      if (c === '\n') {
        rows.push(row);
        row = [];
      }
    } else cell += c;
  }
  return rows;
}
