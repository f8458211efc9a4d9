/**
 * How far somebody has come in what a node has written of one table. Parts are counted from 1; the live part is the one
 * after the newest numbered part. Bytes are those of the part as it was written, its header included.
 */
export interface Position {
  readonly part: number;
  readonly bytes: number;
}

export const BEGINNING: Position = { part: 1, bytes: 0 };

/** Below 0: `a` lies before `b`. */
export function comparePositions(a: Position, b: Position): number {
  return a.part - b.part || a.bytes - b.bytes;
}
