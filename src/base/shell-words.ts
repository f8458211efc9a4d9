import { isUtf8 } from 'node:buffer';
import { quotedBytes } from './byte-text.ts';

/** What no shell gives a meaning to, wherever it stands in a word that is not the first. */
const PLAIN = /^(?:[\w@%+=:,./-]|[^\0-\x7f\s\u0080-\u009f])+$/u;

/**
 * Arguments, each ended by a zero, as one text from which a shell reads the same arguments again. A plain one stands as it
 * is; one that is empty, or has a blank or anything else that a shell gives a meaning to, stands in single quotes, with
 * `'\''` for a single quote; one that is no UTF-8 in `$'…'`, with `\xff` for a byte.
 */
export function shellText(zeroEnded: Buffer): string {
  let text = '';
  for (let at = 0; at < zeroEnded.length; ) {
    const zero = zeroEnded.indexOf(0, at);
    const end = zero < 0 ? zeroEnded.length : zero;
    text += `${at === 0 ? '' : ' '}${shellWord(zeroEnded.subarray(at, end))}`;
    at = end + 1;
  }
  return text;
}

function shellWord(argument: Buffer): string {
  if (!isUtf8(argument)) return quotedBytes(argument);
  const text = argument.toString('utf8');
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A word as it stands in such a text. In one that was not made by the rule, what belongs to no word is one of its own. */
const WORD = /(?:\$'(?:[^'\\]|\\.)*'|'[^']*'|[^ '\\]|\\'|['\\])+/gsu;

/** The words of a text, quoted as they stand there. */
export const wordsOf = (text: string): string[] => text.match(WORD) ?? [];

/** A word without its quotes; bytes that are no UTF-8 stay written out. */
export function unquoted(word: string): string {
  if (word.startsWith("$'") || !/['\\]/.test(word)) return word;
  return word.replace(/'([^']*)'|\\'/g, (_, inner: string | undefined) => inner ?? "'");
}
