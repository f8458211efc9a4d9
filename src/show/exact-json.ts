/**
 * JSON for programs. Microseconds of decades and bytes of petabytes keep every digit; what is beyond 15 digits is noise
 * of our own arithmetic. A `value` that somebody gave (a figure of merit) stays as it is. Missing values are left out,
 * never null.
 */
export function exactJson(object: unknown): string {
  return `${JSON.stringify(object, tidy, 2)}\n`;
}

function tidy(key: string, value: unknown): unknown {
  if (typeof value !== 'number') return value;
  if (!Number.isFinite(value)) return undefined;
  return Number.isInteger(value) || key === 'value' ? value : Number(value.toPrecision(15));
}
