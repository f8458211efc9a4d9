import { cell, line } from '../../base/csv.ts';
import { putIso, putNumber, putWhole, WIDEST } from '../../base/number-text.ts';
import { isNumber } from '../../recording/read/batch.ts';
import type { Table } from '../../table/table.ts';
import { keysOf, type NodeBatch } from './node-batch.ts';
import type { Output } from './output.ts';
import { type TextBuffer, writePieces } from './text-buffer.ts';

export interface TimeForm {
  /** Microseconds since 1970 instead of ISO 8601. */
  epoch?: boolean;
}

export interface LongForm extends TimeForm {
  /** With a column that says which recording of the job a row comes from. */
  recordings?: boolean;
}

/** The header of long files, whatever their format. */
function longHeader(table: Table, recordings = false): string[] {
  const about = ['time', 'node', 'job', ...(recordings ? ['recording'] : [])];
  return [...about, ...table.keys.map((k) => k.name), ...table.columns.map((c) => c.name)];
}

/** A long CSV file: a row a sample, with the columns time, node, job, the keys and the table's columns. */
export async function writeLong(
  output: Output,
  table: Table,
  nodeBatches: AsyncIterable<NodeBatch>,
  form: LongForm = {},
): Promise<number> {
  const header = line(longHeader(table, form.recordings));
  return writePieces(output, header, nodeBatches, (text, nodeBatch) => writePiece(text, table, nodeBatch, form));
}

/** A column of this piece: numbers, or the cells that codes stand for; neither when the node does not have it. */
interface Source {
  numbers: Float64Array | undefined;
  decimals: number;
  codes: Uint32Array | undefined;
  cells: Buffer[];
}

function writePiece(text: TextBuffer, table: Table, nodeBatch: NodeBatch, form: LongForm): void {
  const { batch } = nodeBatch;
  const epoch = form.epoch === true;
  const whose = [nodeBatch.node, nodeBatch.job, ...(form.recordings === true ? [nodeBatch.recording ?? ''] : [])];
  const columns = table.columns.map((column): Source => {
    const texts = isNumber(column) ? undefined : batch.texts.get(column.name);
    return {
      numbers: isNumber(column) ? batch.numbers.get(column.name) : undefined,
      decimals: column.decimals ?? 3,
      codes: texts?.codes,
      cells: texts?.values.map((value) => Buffer.from(cell(value))) ?? [],
    };
  });
  const longest = columns.reduce((sum, c) => sum + c.cells.reduce((most, b) => Math.max(most, b.length), 0), 0);
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const about = Buffer.from([...whose, ...keysOf(batch, s)].map((word) => `,${cell(word)}`).join(''));
    const need = WIDEST + about.length + columns.length * (WIDEST + 1) + longest + 1;
    for (let r = batch.series[s]!; r < batch.series[s + 1]!; r++) {
      text.room(need);
      const { bytes } = text;
      const time = batch.time[r]!;
      let at = epoch ? putWhole(bytes, text.at, time) : putIso(bytes, text.at, time);
      for (let i = 0; i < about.length; i++) bytes[at++] = about[i]!;
      for (let c = 0; c < columns.length; c++) {
        const column = columns[c]!;
        bytes[at++] = 44;
        if (column.numbers !== undefined) at = putNumber(bytes, at, column.numbers[r]!, column.decimals);
        else if (column.codes !== undefined) {
          const value = column.cells[column.codes[r]!]!;
          bytes.set(value, at);
          at += value.length;
        }
      }
      bytes[at++] = 10;
      text.at = at;
    }
  }
}
