import { constants, zstdCompressSync } from 'node:zlib';
import { statedSize, unzstd } from '../../base/unzstd.ts';
import { LARGEST_SAMPLES, type TableBytes } from './protocol.ts';

/** Rows of numbers: level 3 takes more time for more bytes. */
const COMPRESS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Some ten thousand pieces: no node has as many, and a list must not cost more than its samples. */
const LONGEST_LIST = 1 << 19;

/** The body of POST /v1/append: a line of JSON that lists the pieces, then their bytes one after the other; zstd. */
export function packAppend(tableRuns: readonly TableBytes[], bytes: readonly Uint8Array[]): Buffer {
  return zstdCompressSync(Buffer.concat([Buffer.from(`${JSON.stringify(tableRuns)}\n`), ...bytes]), COMPRESS);
}

export interface Unpacked {
  tableRuns: TableBytes[];
  /** The bytes of each piece, in the same order. */
  bytes: Buffer[];
}

/** Throws (an Error with the reason) when the body is not one that `packAppend` makes, or is larger than allowed. */
export function unpackAppend(body: Buffer, largest = LARGEST_SAMPLES): Unpacked {
  const whole = unzstd(body, statedSize(body), { maxOutputLength: largest });
  const line = whole.indexOf(10);
  if (line < 0) throw new Error('the list of pieces is missing');
  if (line > LONGEST_LIST) throw new Error(`the list of pieces is longer than ${LONGEST_LIST} bytes`);
  const tableRuns: unknown = JSON.parse(whole.toString('utf8', 0, line));
  if (!Array.isArray(tableRuns)) throw new Error('the list of pieces is no list');
  const bytes: Buffer[] = [];
  let at = line + 1;
  for (const tableRun of tableRuns) {
    if (!isPiece(tableRun)) throw new Error(`this is no piece: ${JSON.stringify(tableRun).slice(0, 100)}`);
    bytes.push(whole.subarray(at, at + tableRun[4]));
    at += tableRun[4];
  }
  if (at !== whole.length)
    throw new Error(`the pieces have ${at - line - 1} bytes, the body ${whole.length - line - 1}`);
  return { tableRuns, bytes };
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function isPiece(tableRun: unknown): tableRun is TableBytes {
  if (!Array.isArray(tableRun) || tableRun.length !== 5) return false;
  const [stream, table, filePart, from, length] = tableRun;
  return (
    isCount(stream) &&
    typeof table === 'string' &&
    isCount(filePart) &&
    filePart > 0 &&
    isCount(from) &&
    isCount(length)
  );
}
