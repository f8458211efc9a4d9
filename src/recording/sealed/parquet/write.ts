import * as fs from 'node:fs';
import { openNew } from '../../../base/plain-file.ts';
import type { Table } from '../../../table/table.ts';
import { withoutOwnHelp } from '../../folder/own-help.ts';
import type { Batch, TextColumn } from '../../read/batch.ts';
import { packText } from '../pack-text.ts';
import { type Chunk, numberChunk, textChunk } from './chunk.ts';
import { Codec, Converted, MAGIC, PACKED_TABLE_KEY, type ParquetType, Repetition, TABLE_KEY, Type } from './format.ts';
import { encodeStruct, i32, i64, type Struct, struct } from './thrift.ts';

const ROWS_PER_GROUP = 1 << 20;
const WRITE_BYTES = 1 << 18;

export interface ParquetColumn {
  name: string;
  type: ParquetType;
}

interface Placed {
  chunk: Chunk;
  offset: number;
  type: ParquetType;
}

export interface WriteOptions {
  rowsPerGroup?: number;
  /** Half the time for a few percent more bytes. */
  quick?: boolean;
  /** False: the caller brings the file to the disk, with others. */
  sync?: boolean;
  /** Columns whose numbers are known to be whole and exact. */
  whole?: ReadonlySet<string>;
  /** What its footer says beside the columns; of a whole batch it is the table's description. */
  metadata?: Record<string, string>;
}

/**
 * Writes a Parquet file column by column, so that not all of a large table need be in memory at once.
 * Columns may come in any order, each exactly once; `finish` writes the footer and brings the file to the disk.
 */
export class ParquetWriter {
  private readonly fd: number;
  private readonly columns: readonly ParquetColumn[];
  private readonly rows: number;
  private readonly rowsPerGroup: number;
  private readonly metadata: Record<string, string>;
  private readonly quick: boolean;
  private readonly sync: boolean;
  private readonly whole: ReadonlySet<string> | undefined;
  private readonly placed: Placed[][] = [];
  private offset = 0;
  private pending: Buffer[] = [];
  private pendingBytes = 0;

  constructor(file: string, columns: readonly ParquetColumn[], rows: number, options: WriteOptions = {}) {
    this.columns = columns;
    this.rows = rows;
    this.rowsPerGroup = options.rowsPerGroup ?? ROWS_PER_GROUP;
    this.metadata = options.metadata ?? {};
    this.quick = options.quick === true;
    this.sync = options.sync !== false;
    this.whole = options.whole;
    this.fd = openNew(file);
    this.write(Buffer.from(MAGIC));
  }

  /** Numbers with NaN for missing, or texts with '' for missing. */
  column(name: string, data: Float64Array | TextColumn): void {
    const index = this.columns.findIndex((column) => column.name === name);
    const column = this.columns[index];
    if (column === undefined) throw new Error(`no column ${name} was announced`);
    const { type } = column;
    // a whole-number column in which a fraction turned up becomes a float: nothing is rounded away
    const isInt = type !== 'int' || !(data instanceof Float64Array) || this.whole?.has(name) === true || isWhole(data);
    const real = isInt ? type : 'float';
    const placed: Placed[] = [];
    for (let row = 0; row < this.rows; row += this.rowsPerGroup) {
      const chunk = this.encode(data, row, real);
      placed.push({ chunk: { ...chunk, pages: [] }, offset: this.offset, type: real });
      for (const page of chunk.pages) this.write(page);
    }
    this.placed[index] = placed;
  }

  private encode(data: Float64Array | TextColumn, row: number, type: ParquetType): Chunk {
    const end = Math.min(this.rows, row + this.rowsPerGroup);
    return data instanceof Float64Array
      ? numberChunk(data.subarray(row, end), type === 'float' ? 'float' : 'int', type !== 'time', this.quick)
      : textChunk(data.codes.subarray(row, end), data.bytes ?? data.values, type === 'text', this.quick);
  }

  /** Returns the file's size. */
  finish(): number {
    const footer = encodeStruct(this.footer());
    this.write(footer);
    const tail = Buffer.alloc(8);
    tail.writeUInt32LE(footer.length, 0);
    tail.write(MAGIC, 4);
    this.write(tail);
    this.flush();
    if (this.sync) fs.fsyncSync(this.fd);
    fs.closeSync(this.fd);
    return this.offset;
  }

  /** Gives up: the file stays unfinished and is the caller's to remove. */
  abandon(): void {
    fs.closeSync(this.fd);
  }

  /** Small pieces go to the file together. */
  private write(bytes: Buffer): void {
    this.pending.push(bytes);
    this.pendingBytes += bytes.length;
    this.offset += bytes.length;
    if (this.pendingBytes >= WRITE_BYTES) this.flush();
  }

  private flush(): void {
    const bytes = this.pending.length === 1 ? this.pending[0]! : Buffer.concat(this.pending, this.pendingBytes);
    let at = 0;
    while (at < bytes.length) at += fs.writeSync(this.fd, bytes, at, bytes.length - at);
    this.pending = [];
    this.pendingBytes = 0;
  }

  private footer(): Struct {
    const types = this.columns.map((column, i) => this.placed[i]?.[0]?.type ?? column.type);
    const schema = [
      struct([4, 'table'], [5, i32(this.columns.length)]),
      ...this.columns.map((column, i) => schemaElement(column.name, types[i]!)),
    ];
    const groups: Struct[] = [];
    for (let g = 0; g * this.rowsPerGroup < this.rows; g++) {
      const rows = Math.min(this.rowsPerGroup, this.rows - g * this.rowsPerGroup);
      const chunks = this.columns.map((column, i) => {
        const placed = this.placed[i]?.[g];
        if (placed === undefined) throw new Error(`column ${column.name} was never written`);
        return placed;
      });
      const size = (pick: (chunk: Chunk) => number): number => chunks.reduce((sum, { chunk }) => sum + pick(chunk), 0);
      groups.push(
        struct(
          [1, chunks.map((placed, i) => columnChunk(this.columns[i]!.name, placed, rows))],
          [2, i64(size((chunk) => chunk.plainBytes))],
          [3, i64(rows)],
          [5, i64(Math.min(...chunks.map(({ offset }) => offset)))],
          [6, i64(size((chunk) => chunk.bytes))],
        ),
      );
    }
    const metadata = Object.entries(this.metadata).map(([key, value]) => struct([1, key], [2, value]));
    return struct(
      [1, i32(2)],
      [2, schema],
      [3, i64(this.rows)],
      [4, groups],
      [5, metadata.length > 0 ? metadata : undefined],
      [6, 'tacho'],
      // without a declared order readers ignore min and max
      [7, this.columns.map(() => struct([1, struct()]))],
    );
  }
}

const physical: Record<ParquetType, number> = {
  time: Type.INT64,
  int: Type.INT64,
  float: Type.DOUBLE,
  key: Type.BYTE_ARRAY,
  text: Type.BYTE_ARRAY,
};

function schemaElement(name: string, type: ParquetType): Struct {
  const required = type === 'time' || type === 'key';
  const text = type === 'key' || type === 'text';
  const converted = type === 'time' ? Converted.TIMESTAMP_MICROS : Converted.UTF8;
  const logical = type === 'time' ? struct([8, struct([1, true], [2, struct([2, struct()])])]) : struct([1, struct()]);
  return struct(
    [1, i32(physical[type])],
    [3, i32(required ? Repetition.REQUIRED : Repetition.OPTIONAL)],
    [4, name],
    [6, type === 'time' || text ? i32(converted) : undefined],
    [10, type === 'time' || text ? logical : undefined],
  );
}

function columnChunk(name: string, { chunk, offset, type }: Placed, rows: number): Struct {
  return struct(
    [2, i64(0)],
    [
      3,
      struct(
        [1, i32(physical[type])],
        [2, chunk.encodings.map(i32)],
        [3, [name]],
        [4, i32(Codec.ZSTD)],
        [5, i64(rows)],
        [6, i64(chunk.plainBytes)],
        [7, i64(chunk.bytes)],
        [9, i64(offset + chunk.dictionaryBytes)],
        [11, chunk.dictionaryBytes > 0 ? i64(offset) : undefined],
        [12, struct([3, i64(chunk.nulls)], [5, chunk.max], [6, chunk.min])],
      ),
    ],
  );
}

function isWhole(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    // most are small, which is seen without a call
    if (value === (value | 0)) continue;
    if (!Number.isNaN(value) && !Number.isSafeInteger(value)) return false;
  }
  return true;
}

/** The columns of a table's file: time, keys, columns. */
export function parquetColumns(table: Table): ParquetColumn[] {
  return [
    { name: 'time', type: 'time' },
    ...table.keys.map(({ name }): ParquetColumn => ({ name, type: 'key' })),
    ...table.columns.map(({ name, type }): ParquetColumn => ({ name, type })),
  ];
}

/** The table's description travels in the file's footer. */
export const tableMetadata = (table: Table): Record<string, string> => ({ [TABLE_KEY]: JSON.stringify(table) });

/** The same in a tenth of the room: in a recording it is also beside the file. */
export const packedMetadata = (table: Table): Record<string, string> => ({
  [PACKED_TABLE_KEY]: packText(JSON.stringify(withoutOwnHelp(table))).toString('base64'),
});

/** A whole batch as one file; returns its size. */
export function writeParquet(file: string, batch: Batch, options: WriteOptions = {}): number {
  const has = (name: string): boolean => batch.numbers.has(name) || batch.texts.has(name);
  const columns = parquetColumns(batch.table).filter(({ name }) => name === 'time' || has(name));
  const writer = new ParquetWriter(file, columns, batch.rows, { metadata: tableMetadata(batch.table), ...options });
  for (const { name } of columns) {
    writer.column(name, name === 'time' ? batch.time : (batch.numbers.get(name) ?? batch.texts.get(name)!));
  }
  return writer.finish();
}
