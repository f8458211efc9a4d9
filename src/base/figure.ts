const MISSING = '-';

/** A number with about three digits that matter: 0.0042, 1.5, 17, 1,234,567. */
export function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return MISSING;
  const size = Math.abs(value);
  if (size >= 99.95 || Number.isInteger(value)) {
    return value.toFixed(0).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  }
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.1) return value.toFixed(2).replace(/0$/, '');
  return Number(value.toPrecision(2)).toString();
}

/** A number with all the digits it was given: 0.98765432, 4,100.5. What binary fractions add behind them is left out. */
export function allDigits(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return MISSING;
  // rounding takes the largest numbers beyond the largest that there is
  const short = Number(value.toPrecision(15));
  const [whole, ...rest] = String(Number.isFinite(short) ? short : value).split('.');
  return [whole!.replace(/\B(?=(\d{3})+$)/g, ','), ...rest].join('.');
}

/** '1 node', '3 nodes'. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${figure(number)} ${number === 1 ? one : many}`;
}
