import { listCsv } from './process/rows.ts';

/**
 * Objects as CSV: one a row, under these heads. What is missing is empty, and so is a number that is none; lists and
 * objects are JSON.
 */
export function objectCsv(heads: readonly string[], objects: readonly object[]): string {
  return listCsv(
    heads,
    objects.map((one) => heads.map((head) => cell((one as Readonly<Record<string, unknown>>)[head]))),
  );
}

function cell(value: unknown): string | number {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return Number.isFinite(value) ? value : '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
