/** A number of 64 bits has the digits that were given. Of up to 17 the nearest number will do, if it is not a count. */
export function isHeld(text: string, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  const given = digits(/^0[xob]/i.test(text) ? String(BigInt(text)) : text);
  // what is closer to zero than any number of 64 bits would be kept as 0
  if (value === 0) return given === '';
  const isLargeCount = Number.isInteger(value) && !Number.isSafeInteger(value);
  if (given.length <= 17 && !isLargeCount) return true;
  // more than 100 cannot be asked for
  return given.length <= 100 && digits(value.toPrecision(given.length)) === given;
}

/** Those that count: without sign, point, exponent and zeros at either end. */
const digits = (number: string): string =>
  number
    .replace(/e.*/i, '')
    .replace(/[^\d]/g, '')
    .replace(/^0+|0+$/g, '');
