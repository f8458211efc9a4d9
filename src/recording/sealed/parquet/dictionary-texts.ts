import type { TextBytes } from '../../read/batch.ts';
import type { Bytes } from './encode.ts';

/** Bounds of texts that are longer than this help nobody. */
const LONGEST_BOUND = 63;
/** Nor do bounds of so many that nearly everything lies between them. */
const MOST_BOUNDED = 4096;

/** Texts that become a dictionary, as strings or as bytes; each is known by its code. */
export interface DictionaryTexts {
  count: number;
  isEmpty(code: number): boolean;
  /** These of them, each behind its length. */
  write(out: Bytes, codes: Uint32Array): void;
  /** First and last of these by their bytes; undefined where one is long, or there are very many or none. */
  bounds(codes: Uint32Array): [min: Buffer, max: Buffer] | undefined;
}

export const dictionaryTexts = (texts: readonly string[] | TextBytes): DictionaryTexts =>
  'starts' in texts ? fromBytes(texts) : fromStrings(texts);

function fromStrings(texts: readonly string[]): DictionaryTexts {
  return {
    count: texts.length,
    isEmpty: (code) => texts[code] === '',
    write(out, codes) {
      // a unit of a text has three bytes at most
      let most = 0;
      for (const code of codes) most += texts[code]!.length * 3 + 4;
      out.room(most);
      for (const code of codes) {
        const length = out.data.write(texts[code]!, out.length + 4);
        out.data.writeUInt32LE(length, out.length);
        out.length += length + 4;
      }
    },
    bounds(codes) {
      if (codes.length === 0 || codes.length > MOST_BOUNDED) return undefined;
      const used = Array.from(codes, (code) => texts[code]!);
      return used.every((text) => text.length <= LONGEST_BOUND) ? stringBounds(used) : undefined;
    },
  };
}

/** The order of bytes is that of the texts themselves unless a character needs two units. */
function stringBounds(texts: readonly string[]): [min: Buffer, max: Buffer] {
  if (texts.some((text) => /[\ud800-\uffff]/.test(text))) {
    const sorted = texts.map((text) => Buffer.from(text)).sort(Buffer.compare);
    return [sorted[0]!, sorted.at(-1)!];
  }
  let min = texts[0]!;
  let max = min;
  for (const text of texts) {
    if (text < min) min = text;
    else if (text > max) max = text;
  }
  return [Buffer.from(min), Buffer.from(max)];
}

function fromBytes({ bytes, starts }: TextBytes): DictionaryTexts {
  /** Below zero: the first comes before the second. */
  const compare = (a: number, b: number): number => {
    const [from, to] = [starts[a]!, starts[b]!];
    const [length, other] = [starts[a + 1]! - from, starts[b + 1]! - to];
    for (let i = 0; i < length && i < other; i++) {
      const difference = bytes[from + i]! - bytes[to + i]!;
      if (difference !== 0) return difference;
    }
    return length - other;
  };
  const copy = (code: number): Buffer => Buffer.from(bytes.subarray(starts[code], starts[code + 1]));
  return {
    count: starts.length - 1,
    isEmpty: (code) => starts[code] === starts[code + 1],
    write(out, codes) {
      out.room(bytes.length + codes.length * 4);
      const { data } = out;
      let at = out.length;
      for (let i = 0; i < codes.length; i++) {
        const from = starts[codes[i]!]!;
        const length = starts[codes[i]! + 1]! - from;
        data[at] = length;
        data[at + 1] = length >>> 8;
        data[at + 2] = length >>> 16;
        data[at + 3] = length >>> 24;
        at += 4;
        // a call into native code pays for long ones only
        if (length > 64) bytes.copy(data, at, from, from + length);
        else for (let b = 0; b < length; b++) data[at + b] = bytes[from + b]!;
        at += length;
      }
      out.length = at;
    },
    bounds(codes) {
      if (codes.length === 0 || codes.length > MOST_BOUNDED) return undefined;
      let [min, max] = [codes[0]!, codes[0]!];
      for (let i = 0; i < codes.length; i++) {
        const code = codes[i]!;
        if (starts[code + 1]! - starts[code]! > LONGEST_BOUND) return undefined;
        if (compare(code, min) < 0) min = code;
        else if (compare(code, max) > 0) max = code;
      }
      return [copy(min), copy(max)];
    },
  };
}
