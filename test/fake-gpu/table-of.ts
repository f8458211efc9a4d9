import type { Source } from '../../src/sources/source.ts';
import { Frame } from '../../src/table/frame.ts';

/** One read of a source as rows by key, values by column: NaN and '' stay as they are. */
export function readRows(source: Source, time = 1_000_000): Record<string, number | string>[] {
  const frame = new Frame(source.table);
  frame.clear(time);
  source.read(frame);
  return rowsOf(frame);
}

export function rowsOf(frame: Frame): Record<string, number | string>[] {
  return Array.from({ length: frame.rows }, (_, r) => {
    const row: Record<string, number | string> = {};
    for (const [i, key] of frame.table.keys.entries()) row[key.name] = frame.texts[r * frame.textWidth + i]!;
    for (const [i, column] of frame.table.columns.entries()) {
      const at = frame.indexes[i]!;
      row[column.name] =
        at < 0 ? frame.texts[r * frame.textWidth - 1 - at]! : frame.numbers[r * frame.numberWidth + at]!;
    }
    return row;
  });
}
