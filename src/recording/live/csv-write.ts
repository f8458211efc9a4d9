import { cell } from '../../base/csv.ts';
import { putNumber } from '../../base/number-text.ts';
import type { Frame } from '../../table/frame.ts';

/** Numbers with at most so many decimals are written without making a string. */
const EXPECTED_DECIMALS = 6;

/** Digits straight into bytes: the agent writes thousands of numbers a second and must not make a string of each. */
export class CsvText {
  bytes: Buffer = Buffer.allocUnsafeSlow(1 << 14);
  length = 0;

  /** Appends the rows of a frame. */
  frame(frame: Frame): void {
    const { numbers, texts, times, numberWidth, textWidth, place, table } = frame;
    const { columns } = table;
    const keys = table.keys.length;
    for (let r = 0; r < frame.rows; r++) {
      this.room(24 + columns.length * 26);
      this.integer(times === undefined ? frame.time : times[r]!);
      for (let k = 0; k < keys; k++) {
        this.bytes[this.length++] = 44;
        this.text(texts[r * textWidth + k]!);
      }
      for (let c = 0; c < columns.length; c++) {
        const at = place[c]!;
        this.bytes[this.length++] = 44;
        if (at >= 0) {
          const { exact, decimals = 3 } = columns[c]!;
          if (exact === true) this.exactNumber(numbers[r * numberWidth + at]!);
          else this.number(numbers[r * numberWidth + at]!, decimals);
        } else {
          this.text(texts[r * textWidth - 1 - at]!);
          this.room((columns.length - c) * 26);
        }
      }
      this.bytes[this.length++] = 10;
    }
  }

  line(words: readonly string[]): void {
    for (let i = 0; i < words.length; i++) {
      this.room(2);
      if (i > 0) this.bytes[this.length++] = 44;
      this.text(words[i]!);
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
    let places = decimals;
    while (rest % 10 === 0) {
      rest /= 10;
      places--;
    }
    for (let p = places; p > 0; p--) {
      const tenth = Math.floor(rest / 10);
      this.bytes[this.length + p] = 48 + rest - tenth * 10;
      rest = tenth;
    }
    this.length += places + 1;
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
