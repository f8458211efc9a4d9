import { code } from '../base/fault.ts';
import { hang } from '../base/hang.ts';
import { tableWidth } from '../base/page-width.ts';
import { paint } from '../show/terminal/paint.ts';
import { ascii, printable } from '../show/terminal/text-table.ts';
import { errorTexts } from './error-text.ts';

/** Exit code of a closed pipe (`tacho list | head -1`): the reader has what it wanted. */
const QUIET = 0;

/** Tells the user on stderr what went wrong and what to do, and returns the exit code. */
export function tell(error: unknown): number {
  if (code(error) === 'EPIPE') return QUIET;
  const { bold, red } = paint(process.stderr);
  const [message, hint, exit] = errorTexts(error);
  // both quote what files and arguments hold
  const clean = (message: string): string => message.split('\n').map(printable).join('\n');
  const width = tableWidth(process.stderr);
  const folded = [
    ...`tacho: ${clean(message)}`.split('\n'),
    ...(hint?.split('\n') ?? []).map((line) => `       ${printable(line)}`),
  ]
    .map((line) => `${hang(line, width, 7)}\n`)
    .join('');
  let text = red(bold('tacho:')) + folded.slice('tacho:'.length);
  if (process.env.TACHO_DEBUG && error instanceof Error) text += `${error.stack}\n`;
  process.stderr.write(process.stderr.isTTY ? text : ascii(text));
  return exit;
}
