import type { Report } from '../judge/report.ts';

/** The report object: one recording gives an object, several a list. docs/report.schema.json describes it. */
export function reportJson(reports: readonly Report[]): string {
  const one = reports.length === 1 ? reports[0] : reports;
  return `${JSON.stringify(one, shorten, 2)}\n`;
}

/** Digits beyond a millionth of a value are noise of the arithmetic; missing values are left out, never null. */
function shorten(_key: string, value: unknown): unknown {
  if (typeof value !== 'number') return value;
  if (!Number.isFinite(value)) return undefined;
  return Number.isInteger(value) ? value : Number(value.toPrecision(9));
}
