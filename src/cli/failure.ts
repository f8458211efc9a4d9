import { code, Fault, reason } from '../base/fault.ts';
import { hang } from '../base/hang.ts';
import { tableWidth } from '../base/page-width.ts';
import { paint } from '../show/paint.ts';
import { ascii, printable } from '../show/text-table.ts';

/** Exit code of a closed pipe (`tacho list | head -1`): the reader has what it wanted. */
const QUIET = 0;

/** Tells the user on stderr what went wrong and what to do, and returns the exit code. */
export function tell(error: unknown): number {
  if (code(error) === 'EPIPE') return QUIET;
  const { bold, red } = paint(process.stderr);
  const [message, hint, exit] = words(error);
  // both quote what files and arguments hold
  const clean = (said: string): string => said.split('\n').map(printable).join('\n');
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

function words(error: unknown): [message: string, hint: string | undefined, exit: number] {
  if (error instanceof Fault) return [error.message, error.hint, error.exit];
  if ((error as NodeJS.ErrnoException | undefined)?.syscall === 'uv_cwd') {
    return ['the folder you are in is not there any more', 'cd to one that is, then do it again', 1];
  }
  const path = (error as NodeJS.ErrnoException | undefined)?.path;
  // a system error that nobody turned into a sentence still names its file
  if (typeof path === 'string') return [`${path}: ${reason(error)}`, undefined, 1];
  return [
    `internal error: ${reason(error)}`,
    'this is a fault of Tacho; TACHO_DEBUG=1 shows where it happened, please report that',
    1,
  ];
}
