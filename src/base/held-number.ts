/** Written as a whole number: whoever prints another has rounded it already, and the nearest number will do. */
const COUNT = /^[+-]?(?:\d+\.?0*|0[xob][\da-f]+)$/i;

/** Whether a number of 64 bits is what was given: a count to its last digit, and nothing becomes 0 or infinite. */
export function isHeld(text: string, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  const given = digits(/^0[xob]/i.test(text) ? String(BigInt(text)) : text);
  // what is closer to zero than any number of 64 bits would be kept as 0
  if (value === 0) return given === '';
  if (Number.isSafeInteger(value) || !COUNT.test(text)) return true;
  // more than 100 cannot be asked for
  return given.length <= 100 && digits(value.toPrecision(given.length)) === given;
}

/** Those that count: without sign, point, exponent and zeros at either end. */
const digits = (number: string): string =>
  number
    .replace(/e.*/i, '')
    .replace(/[^\d]/g, '')
    .replace(/^0+|0+$/g, '');
