/** Digits of the values that Sonar's CSV has in `load`: the first of a value comes from one set, the others from another. */
const FIRST = '(){}[]<>+-abcdefghijklmnopqrstuvwxyz!@#$%^&*_';
const FURTHER = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ~|';:.?/`";
const BASE = 45;

/** Busy seconds of every CPU since boot: the first value is added to all others. Undefined: it is no such text. */
export function decodeLoad(text: string): number[] | undefined {
  const values: number[] = [];
  let weight = 0;
  for (const digit of text) {
    const first = FIRST.indexOf(digit);
    const further = FURTHER.indexOf(digit);
    if (first >= 0) {
      values.push(first);
      weight = BASE;
    } else if (further >= 0 && values.length > 0) {
      values[values.length - 1]! += further * weight;
      weight *= BASE;
    } else return undefined;
  }
  const [base, ...above] = values;
  if (base === undefined || above.length === 0 || !values.every(Number.isSafeInteger)) return undefined;
  return above.map((value) => base + value);
}
