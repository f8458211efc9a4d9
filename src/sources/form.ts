/** Where a number of a text goes among the numbers of a frame: one place or two, multiplied (or, by `divisor`, divided). */
export interface Target {
  readonly column: number;
  readonly also?: number | undefined;
  readonly factor?: number;
  readonly divisor?: number;
}

/** One number of a line. */
export interface NumberInLine {
  readonly line: string;
  /** Which number of its line, from 0. */
  readonly index: number;
  /** How many numbers the line has. */
  readonly count: number;
}

/** A file that is read by its form. */
export interface FormFile {
  readonly fd: number;
  readonly single: boolean;
  readonly form: Float64Array;
}

const NONE = -1;

/**
 * How a text of the kernel looks around its numbers, and where these go. While it looks the same, its numbers can be taken
 * without a look at its words (takeNumbers of native/node-sampling.c). The first number of a form is a sum over all that is
 * no digit; then there are three for each number of the text: two places and the factor, below 0 a divisor.
 */
export function formOf(text: string, targetOf: (number: NumberInLine) => Target | undefined): Float64Array {
  const targets: number[] = [];
  let used = 0;
  for (const line of text.split('\n')) {
    const count = line.match(/\d+/g)?.length ?? 0;
    for (let index = 0; index < count; index++) {
      const target = targetOf({ line, index, count });
      const { column = NONE, also = NONE, factor = 1, divisor } = target ?? {};
      targets.push(column, also, divisor === undefined ? factor : -divisor);
      if (target !== undefined) used = targets.length;
    }
  }
  return Float64Array.of(lookOf(text), ...targets.slice(0, used));
}

/** The sum that takeNumbers makes, too: one for each number, whatever its length; spaces in a row count once. */
function lookOf(text: string): number {
  let sum = 0;
  for (const [token] of text.matchAll(/\d+| +|[^\d ]/g)) {
    const c = token.charCodeAt(0);
    sum = (Math.imul(sum, 31) + (c >= 48 && c <= 57 ? 48 : c)) >>> 0;
  }
  return sum;
}
