/** A file of rows of one table: `<table>.csv` (live), `<table>.0001.csv` (rolled), either also as `.zst`. */
export interface FilePart {
  table: string;
  /** Undefined: the live part, or what a small table was sealed as (`<table>.csv.zst`). */
  part: number | undefined;
  packed: boolean;
}

const PART = /^(.+?)(?:\.(\d{4,}))?\.csv(\.zst)?$/;

/** Undefined: the name is that of something else. */
export function parsePart(name: string): FilePart | undefined {
  const match = PART.exec(name);
  if (match === null) return undefined;
  const [, table, part, packed] = match;
  return { table: table!, part: part === undefined ? undefined : Number(part), packed: packed !== undefined };
}

const COMPLETE = /^(.+?)(?:\.\d{4,})?\.(csv\.zst|parquet)$/;

/** The table and the form of a file to which nothing is appended: a compressed part, or what was sealed. Undefined: it is none. */
export function parseComplete(name: string): { table: string; form: string } | undefined {
  const [, table, form] = COMPLETE.exec(name) ?? [];
  return table === undefined ? undefined : { table, form: form! };
}

/** Beside its compressed form it is the same part. Others that are compressed, too, are sealed: what is beside them came later. */
export function isNumbered(name: string): boolean {
  const file = parsePart(name);
  return file?.part !== undefined && !file.packed;
}

export const partName = (table: string, part: number): string => `${table}.${String(part).padStart(4, '0')}.csv`;
export const liveName = (table: string): string => `${table}.csv`;
