import { printable } from '../base/printable.ts';
import { warn as say } from '../base/warn.ts';
import { hang } from '../show/hang.ts';
import { tableWidth } from '../show/page-width.ts';

/** What stands before the first line, and is left free before the others. */
const BEFORE = 'tacho: '.length;

/** The same on a terminal in lines that fit it. */
export function warn(text: string): void {
  const room = tableWidth(process.stderr) - BEFORE;
  say(
    text
      .split('\n')
      .map((line) => hang(printable(line), room, 0))
      .join('\n'),
  );
}
