import { Fault, reason } from '../base/fault.ts';

/** Before the reason why the command of `tacho run` has no recording. */
export const NOT_RECORDED = 'the command runs, but is not recorded';

/** What went wrong and what to do, in a line. */
export function errorLine(error: unknown): string {
  const [message, hint] = errorTexts(error);
  return [message, ...(hint?.split('\n') ?? [])].join('; ');
}

/** What went wrong, what to do, and the exit code that it deserves. */
export function errorTexts(error: unknown): [message: string, hint: string | undefined, exit: number] {
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
