/** Longer numbers are no counts, times or codes of anything. */
const LONGEST_NUMBER = 100;

/** Reads what stands behind a pickle's opcodes. */
export class PickleBytes {
  private readonly bytes: Buffer;
  private at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  byte(): number {
    const value = this.bytes[this.at++];
    if (value === undefined) throw new Error('it is cut off');
    return value;
  }

  take(length: number): Buffer {
    if (length > this.bytes.length - this.at) throw new Error('it is cut off');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** Up to the end of the line, without it. */
  line(): Buffer {
    const end = this.bytes.indexOf(10, this.at);
    if (end < 0) throw new Error('it is cut off');
    const from = this.at;
    this.at = end + 1;
    return this.bytes.subarray(from, end);
  }

  uint(length: 1 | 2 | 4 | 8): number {
    const raw = this.take(length);
    if (length < 8) return raw.readUIntLE(0, length);
    return raw.readUInt32LE(0) + raw.readUInt32LE(4) * 2 ** 32;
  }

  int32(): number {
    return this.take(4).readInt32LE(0);
  }

  double(): number {
    return this.take(8).readDoubleBE(0);
  }

  protocol(): void {
    const version = this.byte();
    if (version > 5) throw new Error(`it has protocol ${version}; 0 to 5 are known`);
  }

  index(): number {
    const text = this.line().toString('latin1');
    if (!/^\d{1,9}$/.test(text)) throw new Error('it is damaged');
    return Number(text);
  }

  decimal(): number {
    const text = this.line().toString('latin1');
    const value = /^[+-]?(inf|nan)$/.test(text) ? Number(text.replace('inf', 'Infinity')) : Number(text);
    if (text.trim() === '' || (Number.isNaN(value) && !text.includes('nan')))
      throw new Error('a number in it is damaged');
    return value;
  }

  /** Decimal digits; `I01` and `I00` are True and False; Python 2's long ends with an L. */
  integerLine(short: boolean): number | bigint | boolean {
    const text = this.line().toString('latin1').trim();
    if (short && text === '01') return true;
    if (short && text === '00') return false;
    const digits = short ? text : text.replace(/L$/, '');
    if (digits.length > LONGEST_NUMBER || !/^-?\d+$/.test(digits)) throw new Error('a number in it is damaged');
    return small(BigInt(digits));
  }

  /** Little-endian, two's complement. */
  long(length: number): number | bigint {
    if (length > LONGEST_NUMBER) throw new Error('a number in it is damaged');
    const raw = this.take(length);
    let value = 0n;
    for (let i = length - 1; i >= 0; i--) value = value * 256n + BigInt(raw[i]!);
    return small(length > 0 ? BigInt.asIntN(length * 8, value) : 0n);
  }
}

const small = (value: bigint): number | bigint => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
};

// biome-ignore format: one escape, one entry
const ESCAPES: Record<string, number> = { '\\': 92, "'": 39, '"': 34, a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** Python 2's `repr` of a str: quoted, with backslash escapes. */
export function unquote(line: Buffer): Buffer {
  const text = line.toString('latin1').trim();
  const quote = text[0];
  if (text.length < 2 || (quote !== "'" && quote !== '"') || text.at(-1) !== quote) {
    throw new Error('a text in it is damaged');
  }
  const out = text.slice(1, -1).replace(/\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)/g, (whole, behind: string) => {
    if (behind[0] === 'x' && behind.length === 3) return String.fromCharCode(Number.parseInt(behind.slice(1), 16));
    if (/^[0-7]/.test(behind)) return String.fromCharCode(Number.parseInt(behind, 8) & 255);
    const code = ESCAPES[behind];
    return code === undefined ? whole : String.fromCharCode(code);
  });
  return Buffer.from(out, 'latin1');
}

/** Python's raw-unicode-escape: Latin-1 with \uXXXX and \UXXXXXXXX. */
export function unquoteUnicode(line: Buffer): string {
  return line
    .toString('latin1')
    .replace(/\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})/g, (whole, short?: string, long?: string) => {
      const code = Number.parseInt(short ?? long!, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    });
}
