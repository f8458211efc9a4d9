/**
 * An error that is meant for the user: what happened, on what, and what to do. The command line prints it without a
 * stack trace and exits with `exit` (2 = wrong use, 1 = failure, 126/127 = the command could not be run).
 *
 *     throw new Fault('cannot read job.json: not a Tacho recording', { hint: 'tacho list . shows the recordings here' })
 */
export class Fault extends Error {
  readonly exit: number;
  readonly hint: string | undefined;
  /** It ends also what else goes on whatever is wrong, as a job's script does: the user asked for it, or nothing can go on. */
  readonly final: boolean;

  constructor(message: string, options: { exit?: number; hint?: string; cause?: unknown; final?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.name = 'Fault';
    this.exit = options.exit ?? 1;
    this.hint = options.hint;
    this.final = options.final ?? false;
  }
}

/** Wrong use of the command line: exit code 2. */
export function usage(message: string, hint?: string): Fault {
  return new Fault(message, hint === undefined ? { exit: 2 } : { exit: 2, hint });
}

const REASONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  ENOENT: 'no such file or folder',
  ENOTDIR: 'not a folder',
  EISDIR: 'is a folder',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'disk quota exceeded',
  EROFS: 'read-only file system',
  EEXIST: 'exists already',
  EIO: 'input/output error',
  ESTALE: 'stale file handle',
  ENODEV: 'no such device',
  EMFILE: 'too many open files',
};

/** A system error in words, e.g. "permission denied"; anything else by its message. */
export function reason(error: unknown): string {
  if (error instanceof Error) {
    const code = (error as NodeJS.ErrnoException).code;
    return (code !== undefined && REASONS[code]) || error.message;
  }
  return String(error);
}

/** The disk, or what this user may have of it, is full. */
export const isFull = (error: unknown): boolean => code(error) === 'ENOSPC' || code(error) === 'EDQUOT';

/** The disk takes nothing now, and may again: it is full, or was made read-only. */
export const isUnwritable = (error: unknown): boolean => isFull(error) || code(error) === 'EROFS';

/** The errno name of a system error ("ENOENT"), if it is one. */
export function code(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}
