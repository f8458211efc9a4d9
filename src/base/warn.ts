import { ascii, printable } from './printable.ts';

/** Says something on stderr that keeps nothing from going on; what it quotes may be anybody's. */
export function warn(text: string): void {
  const lines = text.split('\n').map(printable).join('\n       ');
  process.stderr.write(`tacho: ${process.stderr.isTTY ? lines : ascii(lines)}\n`);
}
