import { isUtf8 } from 'node:buffer';
import { quotedBytes } from './byte-text.ts';

/** What no shell gives a meaning to, wherever it stands in a word that is not the first. */
const PLAIN = /^(?:[\w@%+=:,./-]|[^\0-\x7f\s\u0080-\u009f])+$/u;

/** In a list of arguments, separated by zeros: one that is empty, or has another character than the most usual ones. */
const MAYBE_QUOTED = /[^\w@%+=:,./\-\0]|^\0|\0\0|\0$|^$/;

/**
 * Arguments, each ended by a zero, as one text from which a shell reads the same arguments again. A plain one stands as it
 * is; one that is empty, or has a blank or anything else that a shell gives a meaning to, stands in single quotes, with
 * `'\''` for a single quote; one that is no UTF-8 in `$'…'`, with `\xff` for a byte.
 */
export function shellText(zeroEnded: Buffer): string {
  if (zeroEnded.length === 0) return '';
  const all = zeroEnded.at(-1) === 0 ? zeroEnded.subarray(0, -1) : zeroEnded;
  if (isUtf8(all)) {
    const text = all.toString('utf8');
    // there may be thousands of them: most often all are plain
    return MAYBE_QUOTED.test(text) ? text.split('\0').map(quoted).join(' ') : text.replaceAll('\0', ' ');
  }
  const shellWords: string[] = [];
  for (let at = 0; at <= all.length; ) {
    const zero = all.indexOf(0, at);
    const end = zero < 0 ? all.length : zero;
    shellWords.push(shellWord(all.subarray(at, end)));
    at = end + 1;
  }
  return shellWords.join(' ');
}

const shellWord = (argument: Buffer): string =>
  isUtf8(argument) ? quoted(argument.toString('utf8')) : quotedBytes(argument);

const quoted = (text: string): string => (PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** A word as it stands in such a text. In one that was not made by the rule, what belongs to no word is one of its own. */
const WORD = /(?:\$'(?:[^'\\]|\\.)*'|'[^']*'|[^ '\\]|\\'|['\\])+/gsu;

/** The words of a text, quoted as they stand there. */
export const wordsOf = (text: string): string[] => text.match(WORD) ?? [];

/** The same, one after the other: whoever needs only the first of a long text does not wait for the rest. */
export function* eachWord(text: string): Generator<string> {
  for (const [word] of text.matchAll(WORD)) yield word;
}

/** A word without its quotes; bytes that are no UTF-8 stay written out. */
export function unquoted(word: string): string {
  if (word.startsWith("$'") || !/['\\]/.test(word)) return word;
  return word.replace(/'([^']*)'|\\'/g, (_, inner: string | undefined) => inner ?? "'");
}
