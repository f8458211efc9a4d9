/** Enough for any screen, and half of the bytes. */
const DIGITS = 5;

/** A number as the page gets it: NaN is null. */
export function short(value: number): number | null {
  if (Number.isNaN(value)) return null;
  return Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS));
}

export const shortValues = (values: Float64Array): (number | null)[] => Array.from(values, short);
