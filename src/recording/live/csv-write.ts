import { cell } from '../../base/csv.ts';
import { putNumber } from '../../base/number-text.ts';
import { type Sampling, sampling } from '../../base/sampling.ts';
import type { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';

/** Numbers with at most so many decimals are written without making a string. */
const EXPECTED_DECIMALS = 6;
/** No number takes more bytes, with its comma. */
const NUMBER_BYTES = 26;

/** Columns side by side that are written in one go: one text, or numbers of which none or all are exact. */
type Span =
  | { readonly text: number }
  | { readonly from: number; readonly decimals: Uint8Array; readonly exact: boolean };

/** Digits straight into bytes: the agent writes thousands of numbers a second and must not make a string of each. */
export class CsvText {
  bytes: Buffer = Buffer.allocUnsafeSlow(1 << 14);
  length = 0;
  private readonly native: Sampling | null;
  private table: Table | undefined;
  private spans: readonly Span[] = [];

  constructor(native = sampling()) {
    this.native = native;
  }

  /** Appends the rows of a frame. */
  frame(frame: Frame): void {
    const { numbers, texts, times, numberWidth, textWidth, table } = frame;
    if (table !== this.table) this.spans = spansOf(frame);
    this.table = table;
    const keys = table.keys.length;
    for (let r = 0; r < frame.rows; r++) {
      this.room(NUMBER_BYTES);
      this.integer(times === undefined ? frame.time : times[r]!);
      for (let k = 0; k < keys; k++) this.nextText(texts[r * textWidth + k]!);
      for (const span of this.spans) {
        if ('text' in span) this.nextText(texts[r * textWidth + span.text]!);
        else this.nextNumbers(numbers, r * numberWidth + span.from, span.decimals, span.exact);
      }
      this.nextByte(10);
    }
  }

  nextByte(byte: number): void {
    this.room(1);
    this.bytes[this.length++] = byte;
  }

  nextText(value: string): void {
    this.nextByte(44);
    if (value !== '') this.text(value);
  }

  private nextNumbers(numbers: Float64Array, from: number, decimals: Uint8Array, exact: boolean): void {
    this.room(decimals.length * NUMBER_BYTES);
    if (!exact && this.native !== null) {
      const end = this.native.putNumbers(this.bytes, this.length, numbers, from, decimals);
      if (end >= 0) {
        this.length = end;
        return;
      }
    }
    for (let i = 0; i < decimals.length; i++) {
      this.bytes[this.length++] = 44;
      if (exact) this.exactNumber(numbers[from + i]!);
      else this.number(numbers[from + i]!, decimals[i]!);
    }
  }

  line(cells: readonly string[]): void {
    for (let i = 0; i < cells.length; i++) {
      this.room(2);
      if (i > 0) this.bytes[this.length++] = 44;
      this.text(cells[i]!);
    }
    this.room(1);
    this.bytes[this.length++] = 10;
  }

  private room(bytes: number): void {
    if (this.length + bytes <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.length + bytes));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  /** The shortest text that reads back as the same number. */
  private exactNumber(value: number): void {
    if (Number.isFinite(value)) this.length = putNumber(this.bytes, this.length, value, EXPECTED_DECIMALS);
  }

  /** What is not a finite number is missing: nothing is written. */
  private number(value: number, decimals: number): void {
    if (!Number.isFinite(value)) return;
    const positive = value < 0 ? -value : value;
    if (value < 0) this.bytes[this.length++] = 45;
    if (positive < 9007199254740992 && Math.floor(positive) === positive) {
      this.integer(positive);
      return;
    }
    const scale = 10 ** decimals;
    const scaled = Math.round(positive * scale);
    if (!(scaled < 9007199254740992)) {
      this.length += this.bytes.write(String(positive), this.length, 'latin1');
      return;
    }
    const whole = Math.floor(scaled / scale);
    let rest = scaled - whole * scale;
    this.integer(whole);
    if (rest === 0) return;
    this.bytes[this.length] = 46;
    let decimalPlaces = decimals;
    while (rest % 10 === 0) {
      rest /= 10;
      decimalPlaces--;
    }
    for (let p = decimalPlaces; p > 0; p--) {
      const tenth = Math.floor(rest / 10);
      this.bytes[this.length + p] = 48 + rest - tenth * 10;
      rest = tenth;
    }
    this.length += decimalPlaces + 1;
  }

  private integer(value: number): void {
    const { bytes } = this;
    if (value < 10) {
      bytes[this.length++] = 48 + value;
      return;
    }
    let digits = 1;
    for (let limit = 10; limit <= value; limit *= 10) digits++;
    let at = this.length + digits;
    this.length = at;
    let rest = value;
    // 32-bit arithmetic is several times faster than doubles: take nine digits at a time
    while (rest >= 1e9) {
      const high = Math.floor(rest / 1e9);
      let low = (rest - high * 1e9) | 0;
      for (let i = 0; i < 9; i++) {
        const tenth = (low / 10) | 0;
        bytes[--at] = 48 + low - tenth * 10;
        low = tenth;
      }
      rest = high;
    }
    let low = rest | 0;
    do {
      const tenth = (low / 10) | 0;
      bytes[--at] = 48 + low - tenth * 10;
      low = tenth;
    } while (low > 0);
  }

  private text(value: string): void {
    const written = cell(value);
    this.room(written.length * 3 + 2);
    this.length += this.bytes.write(written, this.length);
  }
}

/** The columns of a frame's table in their order. */
function spansOf({ table, indexes }: Frame): Span[] {
  const spans: Span[] = [];
  let run: { from: number; decimals: number[]; exact: boolean } | undefined;
  const end = (): void => {
    if (run !== undefined) spans.push({ ...run, decimals: Uint8Array.from(run.decimals) });
    run = undefined;
  };
  for (const [c, { exact = false, decimals = 3 }] of table.columns.entries()) {
    const at = indexes[c]!;
    if (at < 0 || run?.exact !== exact) end();
    if (at < 0) spans.push({ text: -1 - at });
    else {
      run ??= { from: at, decimals: [], exact };
      run.decimals.push(decimals);
    }
  }
  end();
  return spans;
}

/**
 * How C writes the rows of a frame: what stands between time and numbers of each, ended by 0, and the decimals of the
 * numbers. Undefined: it cannot, where texts or exact numbers come after others.
 */
export function rowForm(frame: Frame): { texts: Buffer; decimals: Uint8Array } | undefined {
  const { table, rows, texts, textWidth } = frame;
  const spans = spansOf(frame);
  const last = spans.pop();
  if (last === undefined || 'text' in last || last.exact || !spans.every((span) => 'text' in span)) return undefined;
  const keyCells = new CsvText(null);
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < textWidth; i++) keyCells.nextText(texts[row * textWidth + i]!);
    keyCells.nextByte(0);
  }
  return table.events === true
    ? undefined
    : { texts: keyCells.bytes.subarray(0, keyCells.length), decimals: last.decimals };
}
