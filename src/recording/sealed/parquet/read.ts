import * as fs from 'node:fs';
import { crc32 } from 'node:zlib';
import { reason } from '../../../base/fault.ts';
import { openPlain, readPlain } from '../../../base/plain-file.ts';
import { stated } from '../../../base/stated.ts';
import { unzstd } from '../../../base/unzstd.ts';
import type { Column, Table } from '../../../table/table.ts';
import { TABLES } from '../../folder/agent-record.ts';
import { guessColumn } from '../../folder/describe.ts';
import { withHelp } from '../../folder/own-help.ts';
import { MOST_BYTES } from '../../folder/record-file.ts';
import { invalidValueText } from '../../folder/shape.ts';
import { Rows } from '../../read/rows.ts';
import { SMALL_BYTES } from '../statistics-file.ts';
import { MOST_PART_BYTES, unpackFile, unpackWhole } from '../unpack.ts';
import { ColumnValues, type Stretch, type Wanting } from './column-values.ts';
import { deltaInt64, plainDouble, plainInt64, plainTexts, runsAndBits, splitDouble } from './decode.ts';
import { Codec, Encoding, MAGIC, PACKED_TABLE_KEY, PageType, Repetition, TABLE_KEY, Type } from './format.ts';
import { type Needed, type ReadStruct, ThriftReader } from './thrift.ts';
import { Within } from './within.ts';

export interface ParquetChunk {
  offset: number;
  bytes: number;
  rows: number;
  codec: number;
  /** The least and greatest time, where the file says that. */
  bounds?: [min: number, max: number];
}

export interface ParquetColumnFacts {
  name: string;
  type: number;
  optional: boolean;
  /** One for each row group. */
  chunks: ParquetChunk[];
}

export interface ParquetFooter {
  rows: number;
  columns: ParquetColumnFacts[];
  /** The description that Tacho left. */
  table?: Table;
}

const text = (bytes: unknown): string => (bytes as Buffer).toString('utf8');

/** A few bytes can claim any number of rows: so many values take some. */
const FEW_VALUES = 1 << 25;
const VALUES_PER_BYTE = 256;

const damaged = (): Error => new Error('what it says of itself at its end is damaged');
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function listIn(struct: ReadStruct, id: number): ReadStruct[] {
  const field = struct[id];
  if (!Array.isArray(field) || field.some((each) => typeof each !== 'object' || Array.isArray(each))) throw damaged();
  return field as ReadStruct[];
}

function structIn(struct: ReadStruct, id: number): ReadStruct {
  const field = struct[id];
  if (typeof field !== 'object' || Array.isArray(field) || Buffer.isBuffer(field)) throw damaged();
  return field;
}

/** What is needed of a footer: schema, rows, row groups (of each chunk where it is, not what it is called), description. */
const FOOTER: Needed = {
  2: { 1: true, 3: true, 4: true },
  3: true,
  4: { 1: { 3: { 4: true, 7: true, 9: true, 11: true, 12: 'at' } }, 3: true },
  5: true,
};

/** What a Parquet file says of itself at its end. Throws with the reason when it is damaged or cut off. */
export function readFooter(fd: number, size: number): ParquetFooter {
  const tail = Buffer.alloc(8);
  if (size < 12 || fs.readSync(fd, tail, 0, 8, size - 8) < 8 || tail.toString('latin1', 4) !== MAGIC) {
    throw new Error('it is not a whole Parquet file');
  }
  const length = tail.readUInt32LE(0);
  if (length > size - 12) throw new Error('it is not a whole Parquet file');
  const bytes = Buffer.alloc(length);
  fs.readSync(fd, bytes, 0, length, size - 8 - length);
  const footer = new ThriftReader(bytes).struct(FOOTER);
  const [, ...elements] = listIn(footer, 2);
  const groups = listIn(footer, 4);
  const columns = elements.map((element, i): ParquetColumnFacts => {
    const chunks = groups.map((group): ParquetChunk => {
      const facts = structIn(listIn(group, 1)[i] ?? {}, 3);
      const offset = Math.min(facts[9] as number, (facts[11] as number | undefined) ?? Number.POSITIVE_INFINITY);
      const isTime = i === 0 && element[1] === Type.INT64;
      const bounds = isTime && isCount(facts[12]) ? boundsIn(bytes, facts[12] as number) : undefined;
      const chunk: ParquetChunk = {
        offset,
        bytes: facts[7] as number,
        rows: group[3] as number,
        codec: facts[4] as number,
        ...stated({ bounds }),
      };
      if (![chunk.offset, chunk.bytes, chunk.rows].every(isCount) || chunk.offset + chunk.bytes > size) throw damaged();
      return chunk;
    });
    const optional = element[3] === Repetition.OPTIONAL;
    if (!Buffer.isBuffer(element[4])) throw damaged();
    return { name: text(element[4]), type: element[1] as number, optional, chunks };
  });
  const rows = groups.reduce((sum, group) => sum + (group[3] as number), 0);
  if (footer[3] !== rows || rows * columns.length > Math.max(FEW_VALUES, size * VALUES_PER_BYTE)) throw damaged();
  const table = tableIn(footer[5] === undefined ? [] : listIn(footer, 5));
  return { rows, columns, ...stated({ table }) };
}

function boundsIn(footer: Buffer, at: number): [min: number, max: number] | undefined {
  const { 5: max, 6: min } = new ThriftReader(footer, at).struct();
  if (!Buffer.isBuffer(min) || !Buffer.isBuffer(max) || min.length !== 8 || max.length !== 8) return undefined;
  const [least, greatest] = plainInt64(Buffer.concat([min, max]), 2);
  return [least!, greatest!];
}

/** The last descriptions that were read, by their bytes: those of all nodes are mostly the same. */
const tablesByText = new Map<string, Table>();
const MOST_KNOWN = 64;

function tableIn(pairs: readonly ReadStruct[]): Table | undefined {
  for (const { 1: key, 2: value } of pairs) {
    if (!Buffer.isBuffer(key) || !Buffer.isBuffer(value)) continue;
    const packed = text(key) === PACKED_TABLE_KEY;
    if (!packed && text(key) !== TABLE_KEY) continue;
    const described = value.toString('latin1');
    let table = tablesByText.get(described);
    if (table === undefined) {
      const plain = packed ? unpackWhole(Buffer.from(described, 'base64'), MOST_BYTES.tables) : value;
      const wrong: string[] = [];
      [table] = TABLES([JSON.parse(text(plain))], wrong) as Table[];
      if (table === undefined || wrong.length > 0)
        throw new Error(`its description of the table is damaged (${invalidValueText(wrong)})`);
      table = withHelp(table);
      if (tablesByText.size >= MOST_KNOWN) tablesByText.clear();
      tablesByText.set(described, table);
    }
    return table;
  }
  return undefined;
}

export interface ParquetOptions {
  /** Of the table: a file that describes itself as another one is not read. */
  name?: string;
  /** Only these columns, and all keys. */
  wanted?: ReadonlySet<string>;
  /** Only rows from one moment to another, both included. */
  within?: readonly [from: number, to: number];
  /** For a file that does not describe itself. */
  described?: Table;
  /** Told of a column that cannot be read, and is missing then; without it that is thrown. */
  lost?: (column: string, why: string) => void;
}

/**
 * Puts the rows of a sealed file behind those that `rows` has. Returns the table as the file describes it, with the
 * columns that are in the file.
 */
export function readParquet(file: string, rows: Rows, options: ParquetOptions = {}): Table {
  const { wanted, described } = options;
  const fd = openPlain(file, fs.constants.O_RDONLY, true);
  try {
    const footer = readFooter(fd, fs.fstatSync(fd).size);
    refuseOther(footer, options.name);
    const table = footer.table ?? described ?? guess(footer);
    const keys = new Set(table.keys.map((key) => key.name));
    const start = rows.length;
    const rowsWithin = options.within === undefined ? undefined : partOf(fd, footer, options.within);
    const moments = rowsWithin?.time;
    const count = moments?.length ?? footer.rows;
    rows.reserve(count);
    for (const column of footer.columns) {
      const { name } = column;
      if (name !== 'time' && !keys.has(name) && wanted !== undefined && !wanted.has(name)) continue;
      if (name === 'time' && moments !== undefined) {
        rows.time.set(moments, start);
        continue;
      }
      const text = column.type === Type.BYTE_ARRAY;
      if (text) rows.addText(name);
      else if (name !== 'time') rows.addNumber(name, start === 0 ? count : 0);
      try {
        if (text) readTexts(fd, column, rows.texts.get(name)!, start, rowsWithin?.stretches);
        else
          readNumbers(fd, column, name === 'time' ? rows.time : rows.numbers.get(name)!, start, rowsWithin?.stretches);
      } catch (error) {
        // without times and keys nobody knows what the rest is about
        if (options.lost === undefined || name === 'time' || keys.has(name)) throw error;
        options.lost(name, reason(error));
        rows.numbers.get(name)?.fill(Number.NaN, start);
        rows.texts.get(name)?.codes.fill(0, start);
      }
    }
    rows.length = start + count;
    const columns = footer.columns.filter(({ name }) => name !== 'time' && !keys.has(name));
    return { ...table, columns: columns.map((column) => describe(column, table)) };
  } finally {
    fs.closeSync(fd);
  }
}

/** Reads a file to its end, a column at a time; throws when something in it is damaged, or it is of another table. */
export function checkParquet(file: string, table?: string): void {
  const fd = openPlain(file, fs.constants.O_RDONLY, true);
  try {
    const footer = readFooter(fd, fs.fstatSync(fd).size);
    refuseOther(footer, table);
    for (const { name } of footer.columns) readParquet(file, new Rows(), { wanted: new Set([name]) });
  } finally {
    fs.closeSync(fd);
  }
}

/** What is wrong with a sealed file, as far as a quick look tells: its end, and every checksum if it is small. */
export function quickCheck(file: string, table: string): string | undefined {
  try {
    if (!file.endsWith('.parquet')) return unpackFile(readPlain(file, MOST_PART_BYTES)).unreadable;
    const fd = openPlain(file, fs.constants.O_RDONLY, true);
    try {
      const { size } = fs.fstatSync(fd);
      const footer = readFooter(fd, size);
      refuseOther(footer, table);
      if (size <= SMALL_BYTES)
        for (const column of footer.columns)
          for (const chunk of column.chunks) for (const _ of bodies(fd, column, chunk));
      return undefined;
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    return reason(error);
  }
}

function refuseOther(footer: ParquetFooter, name: string | undefined): void {
  if (name === undefined || footer.table === undefined || footer.table.name === name) return;
  throw new Error(`it holds the table ${footer.table.name}`);
}

const useOf = (column: ParquetColumnFacts) => (column.type === Type.BYTE_ARRAY ? 'text' : 'number');

const describe = (column: ParquetColumnFacts, table: Table): Column =>
  table.columns.find((c) => c.name === column.name) ?? guessColumn(column.name, useOf(column));

function guess(footer: ParquetFooter): Table {
  const keys = footer.columns.filter((column) => column.type === Type.BYTE_ARRAY && !column.optional);
  return { name: '', help: '', scope: 'node', keys: keys.map(({ name }) => ({ name, help: '' })), columns: [] };
}

interface Page {
  encoding: number;
  count: number;
  rows: number;
  values: Buffer;
  present: Uint32Array | undefined;
}

/** The rows between two moments; undefined: all of them are. */
function partOf(
  fd: number,
  { columns }: ParquetFooter,
  [from, to]: readonly [from: number, to: number],
): Within | undefined {
  const column = columns.find(({ name, type }) => name === 'time' && type === Type.INT64);
  if (column === undefined) return undefined;
  const { chunks } = column;
  if (chunks.every(({ bounds }) => bounds !== undefined && bounds[0] >= from && bounds[1] <= to)) return undefined;
  const within = new Within(from, to);
  for (const chunk of chunks) {
    const { bounds: [least, greatest] = [from, to] } = chunk;
    if (least > to || greatest < from) within.passOver(chunk.rows);
    else
      for (const { page, dictionary } of numberPages(fd, column, chunk)) {
        if (page.encoding === Encoding.DELTA_BINARY_PACKED && page.present === undefined)
          within.lookAtDeltas(page.values, page.count);
        else {
          const times = new Float64Array(page.rows);
          decodeNumbers(page, true, dictionary, times);
          spread(times, page, Number.NaN);
          within.look(times);
        }
      }
  }
  return within;
}

/** The data pages of a chunk of numbers, each with the dictionary of the chunk. */
function* numberPages(
  fd: number,
  column: ParquetColumnFacts,
  chunk: ParquetChunk,
  wantedPages?: Wanting,
): Generator<{ page: Page; dictionary: Float64Array }> {
  let dictionary: Float64Array = new Float64Array(0);
  const takeDictionary = (page: Buffer, count: number): void => {
    dictionary = column.type === Type.INT64 ? plainInt64(page, count) : plainDouble(page, count);
  };
  for (const page of pages(fd, column, chunk, takeDictionary, wantedPages)) yield { page, dictionary };
}

function readNumbers(
  fd: number,
  column: ParquetColumnFacts,
  into: Float64Array,
  start: number,
  stretches?: readonly Stretch[],
): void {
  const integer = column.type === Type.INT64;
  if (!integer && column.type !== Type.DOUBLE) throw new Error(`column ${column.name} has a type Tacho does not write`);
  const columnValues = new ColumnValues(into, start, stretches);
  for (const chunk of column.chunks)
    for (const { page, dictionary } of numberPages(fd, column, chunk, columnValues)) {
      const own = columnValues.room(page.rows);
      decodeNumbers(page, integer, dictionary, own);
      spread(own, page, Number.NaN);
      columnValues.take();
    }
}

function decodeNumbers(page: Page, integer: boolean, dictionary: Float64Array, into: Float64Array): void {
  const { values: bytes, count, encoding } = page;
  if (encoding === Encoding.PLAIN) (integer ? plainInt64 : plainDouble)(bytes, count, into);
  else if (encoding === Encoding.DELTA_BINARY_PACKED) deltaInt64(bytes, count, into);
  else if (encoding === Encoding.BYTE_STREAM_SPLIT) splitDouble(bytes, count, into);
  else lookUp(page, dictionary, into);
}

/** Values, which come first without those that are missing, take their places. */
function spread(into: Float64Array | Uint32Array, { present, count }: Page, missing: number): void {
  if (present === undefined) return;
  let at = count;
  for (let i = present.length - 1; i >= 0; i--) into[i] = present[i] === 1 ? into[--at]! : missing;
}

function lookUp<T extends Float64Array | Uint32Array>({ encoding, values, count }: Page, dictionary: T, into: T): void {
  if (encoding !== Encoding.RLE_DICTIONARY)
    throw new Error(`a page has an encoding Tacho does not write (${encoding})`);
  if (count > 0) runsAndBits(values, 1, values.length, values[0]!, count, into, dictionary);
}

function readTexts(
  fd: number,
  column: ParquetColumnFacts,
  into: Rows['texts'] extends Map<string, infer T> ? T : never,
  start: number,
  stretches?: readonly Stretch[],
): void {
  const columnValues = new ColumnValues(into.codes, start, stretches);
  for (const chunk of column.chunks) {
    let codes = new Uint32Array(0);
    const takeDictionary = (page: Buffer, count: number): void => {
      codes = plainTexts(page, count, into.pool);
    };
    for (const page of pages(fd, column, chunk, takeDictionary, columnValues)) {
      const own = columnValues.room(page.rows);
      lookUp(page, codes, own);
      spread(own, page, 0);
      columnValues.take();
    }
  }
}

/** One output buffer of the right size: zlib would collect small ones. */
function unpack(bytes: Buffer, size: number): Buffer {
  if (!isCount(size) || size > MOST_PART_BYTES) throw new Error('a page is not what its header says');
  return unzstd(bytes, size, { chunkSize: Math.max(64, size), maxOutputLength: Math.max(64, size) });
}

function pageRows(facts: ReadStruct, chunk: ParquetChunk): number {
  const rows = facts[3];
  if (!isCount(rows) || (rows as number) > chunk.rows) throw damaged();
  return rows as number;
}

/** The pages of a chunk that are wanted, as they are stored, with their checksums looked at. */
function* bodies(
  fd: number,
  column: ParquetColumnFacts,
  chunk: ParquetChunk,
  wantedPages?: Wanting,
): Generator<{ head: ReadStruct; body: Buffer }> {
  if (wantedPages?.passesOver(chunk.rows)) return;
  if (chunk.codec !== Codec.ZSTD) throw new Error('it is compressed in a way Tacho does not write');
  const bytes = Buffer.allocUnsafe(chunk.bytes);
  if (fs.readSync(fd, bytes, 0, chunk.bytes, chunk.offset) < chunk.bytes) throw new Error('it is cut off');
  const reader = new ThriftReader(bytes);
  let rows = 0;
  while (rows < chunk.rows) {
    const head = reader.struct();
    if (!isCount(head[3])) throw new Error(`column ${column.name} is damaged`);
    const body = bytes.subarray(reader.at, reader.at + (head[3] as number));
    reader.at += head[3] as number;
    if (head[1] === PageType.DATA_V2) {
      const own = pageRows(structIn(head, 8), chunk);
      rows += own;
      if (wantedPages?.passesOver(own)) continue;
    } else if (head[1] !== PageType.DICTIONARY) throw new Error('it has pages of a kind Tacho does not write');
    if (head[4] !== undefined && crc32(body) !== (head[4] as number) >>> 0) {
      throw new Error(`column ${column.name} is damaged (checksum)`);
    }
    yield { head, body };
  }
}

/** The data pages of a chunk that are wanted; its dictionary goes to `takeDictionary` first. */
function* pages(
  fd: number,
  column: ParquetColumnFacts,
  chunk: ParquetChunk,
  takeDictionary: (page: Buffer, count: number) => void,
  wantedPages?: Wanting,
): Generator<Page> {
  for (const { head, body } of bodies(fd, column, chunk, wantedPages)) {
    if (head[1] === PageType.DICTIONARY) {
      const count = structIn(head, 7)[1];
      if (!isCount(count)) throw damaged();
      takeDictionary(unpack(body, head[2] as number), count as number);
      continue;
    }
    const facts = head[8] as ReadStruct;
    const levels = facts[5] as number;
    const rows = facts[3] as number;
    const nulls = facts[2] as number;
    if (!isCount(levels) || !isCount(nulls) || nulls > rows) throw damaged();
    const present = nulls === 0 ? undefined : runsAndBits(body, 0, levels, 1, rows);
    const values = unpack(body.subarray(levels), (head[2] as number) - levels);
    yield { encoding: facts[4] as number, count: rows - nulls, rows, values, present };
  }
}
