import { hang } from './hang.ts';
import { tableWidth } from './page-width.ts';
import { ascii, printable } from './printable.ts';

/** What stands before the first line, and is left free before the others. */
const BEFORE = 'tacho: '.length;

/** Says something on stderr that keeps nothing from going on, in lines that fit; what it quotes may be anybody's. */
export function warn(text: string): void {
  const lines = text.split('\n').map((line) => hang(printable(line), tableWidth(process.stderr) - BEFORE, 0));
  const said = lines.join('\n').replaceAll('\n', `\n${' '.repeat(BEFORE)}`);
  process.stderr.write(`tacho: ${process.stderr.isTTY ? said : ascii(said)}\n`);
}
