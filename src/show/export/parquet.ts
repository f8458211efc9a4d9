import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { type Batch, isNumber, type TextColumn } from '../../recording/read/batch.ts';
import { ParquetWriter, parquetColumns, tableMetadata } from '../../recording/sealed/parquet/write.ts';
import type { Table } from '../../table/table.ts';
import type { NodeBatch } from './node-batch.ts';
import { attempt } from './output.ts';

/** A table whose keys are those of a long file: node and job come first. */
function longTable(table: Table, recordings: boolean): Table {
  const about = [
    { name: 'node', help: 'Name of the node.' },
    { name: 'job', help: 'Id of the job.' },
    ...(recordings ? [{ name: 'recording', help: 'Folder of the recording.' }] : []),
  ];
  return { ...table, keys: [...about, ...table.keys] };
}

/**
 * A Parquet file in the long layout. It is written column by column: `read` hands over all pieces with the columns asked
 * for, so that no more than `groups` of columns are in memory at a time.
 */
export function writeLongParquet(
  file: string,
  table: Table,
  groups: readonly (readonly string[])[],
  read: (columns: readonly string[]) => NodeBatch[],
  recordings = false,
): { rows: number; bytes: number } {
  const partialFile = `${file}.part`;
  const first = read(groups[0] ?? []);
  const rows = first.reduce((sum, nodeBatch) => sum + nodeBatch.batch.rows, 0);
  const described = longTable(table, recordings);
  const writer = attempt(file, 0, () => {
    makeFolder(path.dirname(file));
    return new ParquetWriter(partialFile, parquetColumns(described), rows, { metadata: tableMetadata(described) });
  });
  try {
    return attempt(file, 0, () => {
      writer.column(
        'time',
        numbers(first, rows, (batch) => batch.time),
      );
      writer.column(
        'node',
        labels(first, rows, (nodeBatch) => nodeBatch.node),
      );
      writer.column(
        'job',
        labels(first, rows, (nodeBatch) => nodeBatch.job),
      );
      if (recordings) {
        writer.column(
          'recording',
          labels(first, rows, (nodeBatch) => nodeBatch.recording ?? ''),
        );
      }
      for (const { name } of table.keys) writer.column(name, textColumnOf(first, rows, name));
      for (const [g, group] of groups.entries()) {
        const nodeBatches = g === 0 ? first : read(group);
        if (nodeBatches.reduce((sum, nodeBatch) => sum + nodeBatch.batch.rows, 0) !== rows) {
          throw new Fault(`table ${table.name} grew while it was exported`, {
            hint: 'confine the export with --until',
          });
        }
        for (const name of group) {
          const column = table.columns.find((c) => c.name === name)!;
          writer.column(
            name,
            isNumber(column)
              ? numbers(nodeBatches, rows, (b) => b.numbers.get(name))
              : textColumnOf(nodeBatches, rows, name),
          );
        }
      }
      const bytes = writer.finish();
      fs.renameSync(partialFile, file);
      fs.chmodSync(file, 0o666 & ~process.umask());
      return { rows, bytes };
    });
  } catch (error) {
    try {
      writer.abandon();
    } catch {
      // it was closed already
    }
    fs.rmSync(partialFile, { force: true });
    throw error;
  }
}

function numbers(
  nodeBatches: readonly NodeBatch[],
  rows: number,
  of: (batch: Batch) => Float64Array | undefined,
): Float64Array {
  const all = new Float64Array(rows);
  let at = 0;
  for (const { batch } of nodeBatches) {
    const own = of(batch);
    if (own === undefined) all.fill(Number.NaN, at, at + batch.rows);
    else all.set(own, at);
    at += batch.rows;
  }
  return all;
}

/** The same text in every row of a piece. */
function labels(nodeBatches: readonly NodeBatch[], rows: number, of: (nodeBatch: NodeBatch) => string): TextColumn {
  const codes = new Uint32Array(rows);
  let at = 0;
  nodeBatches.forEach(({ batch }, i) => {
    codes.fill(i, at, at + batch.rows);
    at += batch.rows;
  });
  return merged({ codes, values: nodeBatches.map(of) });
}

function textColumnOf(nodeBatches: readonly NodeBatch[], rows: number, name: string): TextColumn {
  const codes = new Uint32Array(rows);
  const values = [''];
  let at = 0;
  for (const { batch } of nodeBatches) {
    const own = batch.texts.get(name);
    if (own !== undefined) {
      const base = values.length;
      for (const value of own.values) values.push(value);
      for (let r = 0; r < batch.rows; r++) codes[at + r] = base + own.codes[r]!;
    }
    at += batch.rows;
  }
  return merged({ codes, values });
}

/** Each value once. */
function merged(column: TextColumn): TextColumn {
  const indexOfText = new Map<string, number>();
  const own = column.values.map((value) => {
    if (!indexOfText.has(value)) indexOfText.set(value, indexOfText.size);
    return indexOfText.get(value)!;
  });
  return { codes: column.codes.map((code) => own[code]!), values: [...indexOfText.keys()] };
}
