import * as path from 'node:path';
import { bytesOf, textOf } from '../../base/byte-text.ts';
import { shellText } from '../../base/shell-words.ts';

const BACKSLASH = 92;
const ZERO = 48;
const LOWER_N = 110;
const LOWER_R = 114;
const LOWER_T = 116;
const LOWER_X = 120;
const DOLLAR = 36;
const SLASH = 47;

/** The letters of control characters. */
const LETTERS: ReadonlyMap<number, number> = new Map([
  [ZERO, 0],
  [LOWER_N, 10],
  [LOWER_T, 9],
  [LOWER_R, 13],
]);

/** A program's path; a relative one is meant from the folder. */
export function programPath(directory: string, program: string): string {
  if (program === '' || program.startsWith('/') || program.startsWith("$'/")) return program;
  if (!program.startsWith("$'") && !directory.startsWith("$'")) return path.resolve(directory || '/', program);
  return textOf(Buffer.concat([bytesOf(directory), Buffer.of(SLASH), bytesOf(program)]));
}

/** The last part of a path. */
export function nameOf(file: string): string {
  if (!file.startsWith("$'")) return file.slice(file.lastIndexOf('/') + 1);
  const bytes = bytesOf(file);
  return textOf(bytes.subarray(bytes.lastIndexOf(SLASH) + 1));
}

/** A text of a line: what native/record-text.c wrote out is itself again. */
export function decoded(bytes: Buffer, from: number, to: number): string {
  let simple = bytes[from] !== DOLLAR;
  let escapes = false;
  for (let p = from; p < to; p++) {
    const c = bytes[p]!;
    if (c > 127) simple = false;
    else if (c === BACKSLASH) escapes = true;
  }
  if (simple && !escapes) return bytes.toString('latin1', from, to);
  return textOf(escapes ? unescaped(bytes.subarray(from, to)) : bytes.subarray(from, to));
}

/** Arguments, each ended by a zero, as one text. */
export function decodedArguments(bytes: Buffer, from: number, to: number): string {
  const text = bytes.subarray(from, to);
  return shellText(text.includes(BACKSLASH) ? unescaped(text) : text);
}

/** A backslash is followed by another, by the letter of a control character or by the two digits of one. */
function unescaped(text: Buffer): Buffer {
  const out = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let p = 0; p < text.length; p++) {
    if (text[p] !== BACKSLASH) {
      out[length++] = text[p]!;
      continue;
    }
    const next = text[++p];
    if (next === LOWER_X) {
      out[length++] = Number.parseInt(text.toString('latin1', p + 1, p + 3), 16);
      p += 2;
    } else out[length++] = next === undefined ? BACKSLASH : (LETTERS.get(next) ?? BACKSLASH);
  }
  return out.subarray(0, length);
}
