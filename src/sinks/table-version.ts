import { createHash } from 'node:crypto';
import type { Table } from '../table/table.ts';

const versions = new WeakMap<Table, string>();

/** Twelve digits that differ when anything in a table's definition does. */
export function tableVersion(table: Table): string {
  let version = versions.get(table);
  if (version === undefined) {
    version = createHash('sha256')
      .update(JSON.stringify(ordered(table)))
      .digest('hex')
      .slice(0, 12);
    versions.set(table, version);
  }
  return version;
}

/** The same definition has the same version, in whatever order its properties were written. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, ordered(each)]),
  );
}
