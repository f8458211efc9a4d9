import { hang } from './hang.ts';
import { tableWidth } from './page-width.ts';
import { ascii, printable } from './printable.ts';

/** What stands before the first line, and is left free before the others. */
const BEFORE = 'tacho: '.length;

/** Says something on stderr that keeps nothing from going on, in lines that fit; what it quotes may be anybody's. */
export function warn(text: string): void {
  const lines = text.split('\n').map((line) => hang(printable(line), tableWidth(process.stderr) - BEFORE, 0));
  const message = lines.join('\n').replaceAll('\n', `\n${' '.repeat(BEFORE)}`);
  process.stderr.write(`tacho: ${process.stderr.isTTY ? message : ascii(message)}\n`);
}

/** Number of warnings of one kind that are printed: a thousand lines hide the answer. */
const MOST = 10;

/** Warnings about many recordings: the first ones, and how many more there are. */
export function warnAll(texts: readonly string[], most = MOST): void {
  for (const text of texts.slice(0, most)) warn(text);
  const more = texts.length - most;
  if (more > 0) warn(`and ${more.toLocaleString('en')} more warnings like these`);
}
