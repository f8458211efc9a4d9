import * as fs from 'node:fs';
import * as path from 'node:path';
import { makeFolder } from '../../base/folder.ts';
import type { Column, Table } from '../../table/table.ts';
import { parquetName, type TableFiles } from '../folder/files.ts';
import type { NodeRecording } from '../folder/open.ts';
import { arrange } from '../read/arrange.ts';
import type { Batch } from '../read/batch.ts';
import { type Buckets, bucketsOf } from '../read/buckets.ts';
import { levelPoints, ratePoints } from '../read/points.ts';
import { Rows } from '../read/rows.ts';
import { readParquet } from './parquet/read.ts';
import { ParquetWriter, packedMetadata, parquetColumns } from './parquet/write.ts';

/*
 * What a large sealed table did in each minute: count, least, mean and greatest of every column of every series. A chart of
 * a day reads it instead of all samples, and no spike is lost: the greatest of minutes is the greatest of their samples
 * (docs/decisions/overview.md).
 */

/** Microseconds. Longer steps that are multiples of it are made of it. */
export const OVERVIEW_STEP = 60e6;

/** Smaller tables are read in the time that it takes to look for an overview. */
const WORTH_ROWS = 1 << 16;
/** Fewer samples in a minute than this gain too little. */
const WORTH_FACTOR = 8;

const FOLDER = '.overview';
const FIGURES = ['count', 'min', 'mean', 'max'] as const;

/** The name says of which sealed file it is: one that was sealed again has another size. */
const fileOf = (folder: string, table: string, bytes: number): string =>
  path.join(folder, FOLDER, `${table}.${bytes}.parquet`);

/** Collects the columns of a table while it is sealed. */
export class OverviewMaker {
  readonly #batch: Batch;
  readonly #buckets: Buckets;
  readonly #columns: { column: Column; figures: Float64Array[] }[] = [];

  private constructor(batch: Batch, buckets: Buckets) {
    this.#batch = batch;
    this.#buckets = buckets;
  }

  /** Undefined: the table gains nothing from an overview. */
  static of(batch: Batch): OverviewMaker | undefined {
    const { rows, table, interval_seconds = 1 } = batch;
    if (rows < WORTH_ROWS || table.events === true || table.sparse === true) return undefined;
    const buckets = bucketsOf(batch, OVERVIEW_STEP, interval_seconds * 1e6);
    return buckets.length * WORTH_FACTOR > rows ? undefined : new OverviewMaker(batch, buckets);
  }

  add(column: Column, values: Float64Array): void {
    const { count, min, mean, max } = (column.kind === 'counter' ? ratePoints : levelPoints)(
      this.#batch,
      values,
      this.#buckets,
    );
    this.#columns.push({ column, figures: [Float64Array.from(count), min, mean, max] });
  }

  /** Writes it beside the sealed file, in the place of that of an earlier one. */
  write(folder: string, sealedBytes: number): void {
    const { table, texts } = this.#batch;
    const { length, rows, time } = this.#buckets;
    const overviewFolder = path.join(folder, FOLDER);
    makeFolder(overviewFolder, 0o700);
    const described = overviewTable(
      table,
      this.#columns.map(({ column }) => column),
    );
    const file = fileOf(folder, table.name, sealedBytes);
    const writer = new ParquetWriter(`${file}.tmp`, parquetColumns(described), length, {
      metadata: packedMetadata(described),
      quick: true,
    });
    writer.column('time', time);
    for (const { name } of table.keys) {
      const { codes, values } = texts.get(name)!;
      writer.column(name, { values, codes: Uint32Array.from({ length }, (_, b) => codes[rows[b]!]!) });
    }
    for (const { column, figures } of this.#columns)
      for (const [i, values] of figures.entries()) writer.column(`${column.name}.${FIGURES[i]}`, values);
    writer.finish();
    fs.renameSync(`${file}.tmp`, file);
    for (const name of fs.readdirSync(overviewFolder))
      if (name.startsWith(`${table.name}.`) && path.join(overviewFolder, name) !== file && /\.\d+\.parquet$/.test(name))
        fs.rmSync(path.join(overviewFolder, name), { force: true });
  }
}

function overviewTable(table: Table, columns: readonly Column[]): Table {
  const figures = columns.flatMap((column): Column[] =>
    FIGURES.map((figure) => {
      const { exact: _, ...rest } = column;
      return { ...rest, name: `${column.name}.${figure}`, kind: 'gauge', type: figure === 'count' ? 'int' : 'float' };
    }),
  );
  return { ...table, columns: figures };
}

/** A column of an overview: rows by series and minute. */
export interface Overview extends Pick<Batch, 'table' | 'rows' | 'time' | 'texts' | 'series'> {
  figures: Record<(typeof FIGURES)[number], Float64Array>;
}

/** What each minute of a column showed; undefined: there is no overview of the table as it is now. */
export function readOverview(node: NodeRecording, table: string, column: string): Overview | undefined {
  const file = overviewFile(node, table);
  if (file === undefined) return undefined;
  const names = FIGURES.map((figure) => `${column}.${figure}`);
  try {
    const rows = new Rows();
    const described = readParquet(file, rows, { wanted: new Set(names) });
    const { numbers, ...batch } = arrange(rows, described);
    const [count, min, mean, max] = names.map((name) => numbers.get(name));
    if (count === undefined || min === undefined || mean === undefined || max === undefined) return undefined;
    return { ...batch, figures: { count, min, mean, max } };
  } catch {
    // the samples themselves say the same
    return undefined;
  }
}

/** Live parts have samples that it lacks. */
function overviewFile({ folder, tables, memory, unfiled }: NodeRecording, table: string): string | undefined {
  const files: TableFiles | undefined = tables.get(table);
  if (memory !== undefined || unfiled?.has(table) === true || files === undefined) return undefined;
  if (files.sealed !== parquetName(table) || files.parts.length > 0) return undefined;
  const bytes = fs.statSync(path.join(folder, files.sealed), { throwIfNoEntry: false })?.size;
  const file = bytes === undefined ? undefined : fileOf(folder, table, bytes);
  return file !== undefined && fs.existsSync(file) ? file : undefined;
}
