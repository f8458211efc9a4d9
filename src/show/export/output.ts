import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { pause } from '../../base/pause.ts';
import { openNew } from '../../base/plain-file.ts';
import { formatBytes } from '../../base/size.ts';

/** Where an export goes: a file, or standard output. */
export interface Output {
  readonly name: string;
  readonly bytesWritten: number;
  write(bytes: Uint8Array, length: number): void;
  /** All is written: the file gets its name. */
  finish(): void;
  /** Something went wrong: what was written of the file is removed. */
  abandon(): void;
}

/** A file that has another name (`.part`) until it is whole, so that nobody takes half an export for a whole one. */
export function fileOutput(name: string): Output {
  const partialFile = `${name}.part`;
  const fd = attempt(name, 0, () => {
    makeFolder(path.dirname(name));
    return openNew(partialFile, 0o666);
  });
  let written = 0;
  let open = true;
  const abandon = (): void => {
    if (!open) return;
    open = false;
    fs.closeSync(fd);
    fs.rmSync(partialFile, { force: true });
  };
  const careful = <T>(action: () => T): T => {
    try {
      return attempt(name, written, action);
    } catch (error) {
      abandon();
      throw error;
    }
  };
  return {
    name,
    get bytesWritten() {
      return written;
    },
    write(bytes, length) {
      careful(() => {
        for (let at = 0; at < length; ) {
          const n = fs.writeSync(fd, bytes, at, length - at);
          at += n;
          written += n;
        }
      });
    },
    finish() {
      careful(() => {
        fs.closeSync(fd);
        open = false;
        fs.renameSync(partialFile, name);
      });
    },
    abandon,
  };
}

/** Does something with a file; what the system refuses is said in words, with what the user can do. */
export function attempt<T>(name: string, written: number, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const full = code(error) === 'ENOSPC' || code(error) === 'EDQUOT';
    const removed = written > 0 ? `; the ${formatBytes(written)} written so far were removed` : '';
    throw new Fault(`cannot write ${name}: ${reason(error)}${removed}`, {
      hint: full
        ? 'free some space, or choose another folder with -o, or export less (--table, --columns, --interval)'
        : 'choose a folder that you may write to with -o DIR',
      cause: error,
    });
  }
}

/** Standard output (or the descriptor given). */
export function standardOutput(fd = 1): Output {
  let written = 0;
  return {
    name: 'standard output',
    get bytesWritten() {
      return written;
    },
    write(bytes, length) {
      for (let at = 0; at < length; ) {
        try {
          const n = fs.writeSync(fd, bytes, at, length - at);
          at += n;
          written += n;
        } catch (error) {
          // a pipe that does not block and is full: give the reader a moment
          if (code(error) === 'EAGAIN') pause(2);
          // whoever read it (`| head`) has seen enough: the command line ends quietly
          else if (code(error) === 'EPIPE') throw error;
          else throw new Fault(`cannot write to standard output: ${reason(error)}`, { cause: error });
        }
      }
    },
    finish() {},
    abandon() {},
  };
}
