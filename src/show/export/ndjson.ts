import { putIso, putNumber, putWhole, WIDEST } from '../../base/number-text.ts';
import { isNumber } from '../../recording/read/batch.ts';
import type { Table } from '../../table/table.ts';
import type { LongForm } from './long.ts';
import { keysOf, type NodeBatch } from './node-batch.ts';
import type { Output } from './output.ts';
import { type TextBuffer, writePieces } from './text-buffer.ts';

const NULL = Buffer.from('null');
const TIME = Buffer.from('{"time":');

/** A JSON object a line and sample, with the fields of the long layout; what is missing is null. */
export async function writeNdjson(
  output: Output,
  table: Table,
  nodeBatches: AsyncIterable<NodeBatch>,
  form: LongForm = {},
): Promise<number> {
  return writePieces(output, '', nodeBatches, (text, nodeBatch) => writePiece(text, table, nodeBatch, form));
}

function writePiece(text: TextBuffer, table: Table, nodeBatch: NodeBatch, form: LongForm): void {
  const { batch } = nodeBatch;
  const epoch = form.epoch === true;
  const columns = table.columns.map((column) => {
    const texts = isNumber(column) ? undefined : batch.texts.get(column.name);
    return {
      label: Buffer.from(`,${JSON.stringify(column.name)}:`),
      numbers: isNumber(column) ? batch.numbers.get(column.name) : undefined,
      decimals: column.decimals ?? 3,
      codes: texts?.codes,
      jsonTexts: texts?.values.map((value) => (value === '' ? NULL : Buffer.from(JSON.stringify(value)))) ?? [],
    };
  });
  const longest = columns.reduce(
    (sum, c) => sum + c.label.length + c.jsonTexts.reduce((most, b) => Math.max(most, b.length), 0),
    0,
  );
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const keys = keysOf(batch, s);
    const facts = {
      node: nodeBatch.node,
      job: nodeBatch.job,
      ...(form.recordings === true ? { recording: nodeBatch.recording ?? '' } : {}),
      ...Object.fromEntries(table.keys.map((k, i) => [k.name, keys[i]])),
    };
    const about = Buffer.from(`,${JSON.stringify(facts).slice(1, -1)}`);
    const need = 16 + WIDEST + about.length + columns.length * WIDEST + longest;
    for (let r = batch.series[s]!; r < batch.series[s + 1]!; r++) {
      text.room(need);
      const { bytes } = text;
      const time = batch.time[r]!;
      let at = text.at;
      bytes.set(TIME, at);
      at += TIME.length;
      if (epoch) at = putWhole(bytes, at, time);
      else {
        bytes[at++] = 34;
        at = putIso(bytes, at, time);
        bytes[at++] = 34;
      }
      bytes.set(about, at);
      at += about.length;
      for (const column of columns) {
        bytes.set(column.label, at);
        at += column.label.length;
        const value = column.numbers?.[r];
        if (value !== undefined && Number.isFinite(value)) at = putNumber(bytes, at, value, column.decimals);
        else {
          const word = column.codes === undefined ? NULL : column.jsonTexts[column.codes[r]!]!;
          bytes.set(word, at);
          at += word.length;
        }
      }
      bytes[at++] = 125;
      bytes[at++] = 10;
      text.at = at;
    }
  }
}
