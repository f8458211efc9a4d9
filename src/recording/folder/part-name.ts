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

export const partName = (table: string, part: number): string => `${table}.${String(part).padStart(4, '0')}.csv`;
export const liveName = (table: string): string => `${table}.csv`;
