import { printable } from '../show/text-table.ts';

/** Says something on stderr that keeps nothing from going on; what it quotes may be anybody's. */
export function warn(text: string): void {
  process.stderr.write(`tacho: ${printable(text)}\n`);
}
